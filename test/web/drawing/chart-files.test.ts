// @vitest-environment jsdom

import { describe, expect, it } from 'vitest';
import { sweepPage } from '../../../src/studies/sweep/sweep-page.js';
import { chartFigure } from '../../../src/web/chart.js';
import { chartFiles } from '../../../src/web/drawing/chart-files.js';
import type { Page } from '../../../src/web/page.js';
import { runPage } from '../../../src/web/report/run-report.js';
import { inFile } from '../../../src/web/study.js';
import { gridResult } from '../../studies/sweep/sweeps.js';
import { runFixture } from '../report/run-fixture.js';
import { chartsIn, sentPage } from '../shown.js';

const parsed = (svg: string) => new DOMParser().parseFromString(svg, 'image/svg+xml');

/** The files of a page by name, as a program for pictures reads them. */
function filesOf(page: Page) {
  const files = [...chartFiles(sentPage(page)).values()];
  return new Map(
    files.map(({ name, svg }) => {
      const text = svg();
      expect(text).not.toMatch(/var\(|style|class="[^"]*NaN|undefined|NaN/);
      const file = parsed(text);
      expect(file.querySelector('parsererror')).toBeNull();
      return [name, file] as const;
    }),
  );
}

const textsIn = (file: Document) => [...file.querySelectorAll('text')].map(({ textContent }) => textContent);

describe('the learning curve of a run with failures', () => {
  const page = runPage(runFixture({ iterations: 30, failureRate: 0.8 }), undefined);
  const file = filesOf(page).get('run-1-learning-curve.svg')!;
  const { at, series } = chartsIn(sentPage(page))[0]!;

  it('has its titles and its legend', () => {
    expect(textsIn(file)).toEqual(
      expect.arrayContaining([
        'Learning curve',
        'Iteration',
        'Mean return of 20 episodes',
        'evaluations',
        'best so far',
        'no usable proposal',
      ]),
    );
    expect(file.querySelector('desc')!.textContent).toMatch(/^Learning curve of \d+ evaluations/);
  });

  it('has every value where the ticks say', () => {
    const lines = [...file.querySelectorAll('.line')];
    expect(lines).toHaveLength(series.length);
    const places = lines[0]!
      .getAttribute('d')!
      .match(/[\d.]+ [\d.]+/g)!
      .map((place) => place.split(' ').map(Number));
    const valueAt = (axis: 'x' | 'y', anchor: (text: Element) => boolean) => {
      const ticks = [...file.querySelectorAll('text')].filter(
        (text) => anchor(text) && /^\d+$/.test(text.textContent),
      );
      const [first, last] = [ticks[0]!, ticks.at(-1)!].map(
        (tick) => [Number(tick.getAttribute(axis)), Number(tick.textContent)] as const,
      );
      return (pixels: number) =>
        first![1] + ((last![1] - first![1]) * (pixels - first![0])) / (last![0] - first![0]);
    };
    const isY = (text: Element) => text.getAttribute('text-anchor') === 'end';
    const [x, y] = [valueAt('x', (text) => !isY(text)), valueAt('y', isY)];
    expect(places).toHaveLength(at.length);
    for (const [i, [px, py]] of places.entries()) {
      expect(Math.abs(x(px!) - at[i]!)).toBeLessThan(0.02);
      expect(Math.abs(y(py!) - series[0]!.values[i]!)).toBeLessThan(0.5);
    }
  });
});

it('a run with one iteration and a sweep have files with names of their own', () => {
  const short = filesOf(runPage(runFixture({ iterations: 1 }), undefined));
  expect([...short.keys()]).toEqual(
    expect.arrayContaining(['run-1-learning-curve.svg', 'run-1-parameters.svg']),
  );
  const result = gridResult((rate, size) => rate * size);
  const sweep = filesOf(
    sweepPage(
      { ...result, tasks: [...result.tasks, { ...result.tasks[0]!, environment: 'Pendulum-v1' }] },
      inFile,
    ),
  );
  expect(sweep.size).toBe(2);
  for (const [name, file] of sweep) {
    expect(name).toMatch(/-runs-by-key-and-result-\w+-v\d\.svg$/);
    const [, ...titles] = [...file.querySelectorAll('.title')].map(({ textContent }) => textContent);
    expect(titles.length).toBe(result.keys.length);
    expect(file.querySelectorAll('path[opacity]').length).toBe(
      result.tasks[0]!.settings.reduce((sum, { runs }) => sum + runs, 0),
    );
  }
});

it('hostile names are text, and a chart without values has no file', () => {
  const hostile = '</text><script>alert(1)</script>\u0001&';
  const chart = {
    label: hostile,
    x: { title: hostile },
    y: { title: 'y' },
    at: [1],
    series: [{ label: hostile, draw: 'line', color: '--accent', values: [1] }],
  } as const;
  const pageWith = (...charts: Parameters<typeof chartFigure>[0][]): Page => ({
    ...{ title: 'a', header: '', footer: '' },
    sections: [{ id: 's', title: hostile, content: charts.map((one) => chartFigure(one)) }],
  });
  const [file] = filesOf(pageWith(chart, { ...chart, at: [], series: [] })).values();
  expect(file!.querySelector('script')).toBeNull();
  expect(textsIn(file!)).toContain(hostile.replace('\u0001', '\ufffd'));
  expect(filesOf(pageWith({ ...chart, at: [] })).size).toBe(0);
  // The parser that the tests above rely on rejects what isn't escaped.
  expect(
    parsed(`<svg xmlns="http://www.w3.org/2000/svg"><text>${hostile}</text></svg>`).querySelector(
      'parsererror',
    ),
  ).not.toBeNull();
});
