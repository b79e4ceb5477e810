// @vitest-environment jsdom

import { describe, expect, it } from 'vitest';
import { sweepPage } from '../../../src/studies/sweep/sweep-page.js';
import { type Chart, chartFigure } from '../../../src/web/chart.js';
import { chartFiles } from '../../../src/web/drawing/chart-files.js';
import type { Page } from '../../../src/web/page.js';
import { runPage } from '../../../src/web/report/run-report.js';
import { fileContext } from '../../../src/web/study.js';
import { gridResult } from '../../studies/sweep/sweeps.js';
import { runFixture } from '../report/run-fixture.js';
import { chartsIn, sentPage } from '../shown.js';

const parsed = (svg: string) => new DOMParser().parseFromString(svg, 'image/svg+xml');

/** The files of a page by name, parsed as XML. */
function filesOf(page: Page) {
  const files = [...chartFiles(sentPage(page)).values()].map(({ name, svg }) => [name, svg()] as const);
  for (const [, text] of files) expect(text).not.toMatch(/var\(|style|undefined|NaN/);
  const all = new Map(files.map(([name, text]) => [name, parsed(text)]));
  for (const file of all.values()) expect(file.querySelector('parsererror')).toBeNull();
  return all;
}

const textsIn = (file: Document, selector = 'text') =>
  [...file.querySelectorAll(selector)].map(({ textContent }) => textContent);

describe('the learning curve of a run with failures', () => {
  const page = runPage(runFixture({ iterations: 30, failureRate: 0.8 }), undefined);
  const file = filesOf(page).get('run-1-learning-curve.svg')!;
  const { at, series } = chartsIn(sentPage(page))[0]!;

  it('has its titles, its legend and a description', () => {
    const titles = ['Learning curve', 'Iteration', 'Mean return of 20 episodes'];
    const legend = ['evaluations', 'best so far', 'no usable proposal'];
    expect(textsIn(file)).toEqual(expect.arrayContaining([...titles, ...legend]));
    expect(textsIn(file, 'desc')[0]).toMatch(/^Learning curve of \d+ evaluations/);
  });

  it('draws every evaluation at its position on the scale of the ticks', () => {
    const lines = [...file.querySelectorAll('.line')];
    expect(lines).toHaveLength(series.length);
    const places = lines[0]!.getAttribute('d')!.match(/[\d.]+ [\d.]+/g)!;
    expect(places).toHaveLength(at.length);
    const scaleOf = (axis: 'x' | 'y', selector: string) => {
      const ticks = [...file.querySelectorAll(selector)].filter((text) => /^\d+$/.test(text.textContent));
      const [first, last] = [ticks[0]!, ticks.at(-1)!].map(
        (tick) => [Number(tick.getAttribute(axis)), Number(tick.textContent)] as const,
      );
      const each = (last![1] - first![1]) / (last![0] - first![0]);
      return (pixels: number) => first![1] + each * (pixels - first![0]);
    };
    const [x, y] = [scaleOf('x', 'text:not([text-anchor])'), scaleOf('y', 'text[text-anchor="end"]')];
    for (const [i, place] of places.entries()) {
      const [px, py] = place.split(' ').map(Number);
      expect(Math.abs(x(px!) - at[i]!)).toBeLessThan(0.02);
      expect(Math.abs(y(py!) - series[0]!.values[i]!)).toBeLessThan(0.5);
    }
  });
});

it('the charts of a short run, and of two tasks of a sweep, have distinct file names', () => {
  const short = filesOf(runPage(runFixture({ iterations: 1 }), undefined));
  expect([...short.keys()].slice(0, 2)).toEqual(['run-1-learning-curve.svg', 'run-1-parameters.svg']);
  const result = gridResult((rate, size) => rate * size);
  const [task] = result.tasks;
  const tasks = [task!, { ...task!, environment: 'Pendulum-v1' }];
  const sweep = filesOf(sweepPage({ ...result, tasks }, fileContext));
  expect([...sweep.keys()].map((name) => /result-(.*)\.svg$/.exec(name)![1])).toEqual([
    ...['cartpole-v1', 'pendulum-v1'],
  ]);
  const runs = task!.settings.reduce((sum, one) => sum + one.runs, 0);
  for (const file of sweep.values()) {
    expect(textsIn(file, '.title')).toHaveLength(result.keys.length + 1);
    expect(file.querySelectorAll('path[opacity]')).toHaveLength(runs);
  }
});

it('charts with the same long title have distinct file names', () => {
  const line = { label: 'a', draw: 'line', color: '--accent', values: [1] } as const;
  const chart: Chart = { label: 'a', x: { title: 'x' }, y: { title: 'y' }, at: [1], series: [line] };
  const section = { id: 's', title: 'a'.repeat(200), content: [chartFigure(chart)] };
  const sections = [section, { ...section, content: [chartFigure({ ...chart })] }];
  expect(filesOf({ title: 'a', header: '', footer: '', sections }).size).toBe(2);
});

it('hostile names are text, and a chart without values has no file', () => {
  const hostile = '</text><script>alert(1)</script>\u0001&';
  const line = { label: hostile, draw: 'line', color: '--accent', values: [1] } as const;
  const chart: Chart = { label: hostile, x: { title: hostile }, y: { title: 'y' }, at: [1], series: [line] };
  const content = [chart, { ...chart, at: [] }].map((one) => chartFigure(one));
  const sections = [{ id: 's', title: hostile, content }];
  const [file, ...others] = filesOf({ title: 'a', header: '', footer: '', sections }).values();
  expect(others).toEqual([]);
  expect(file!.querySelector('script')).toBeNull();
  expect(textsIn(file!)).toContain(hostile.replace('\u0001', '\ufffd'));
  // A single value is a point.
  expect(file!.querySelector('.line')!.getAttribute('d')).toMatch(/^M[\d.]+ [\d.]+h0$/);
  // The parser rejects what isn't escaped.
  const raw = parsed(`<svg xmlns="http://www.w3.org/2000/svg"><text>${hostile}</text></svg>`);
  expect(raw.querySelector('parsererror')).not.toBeNull();
});
