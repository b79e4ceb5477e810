// @vitest-environment jsdom

import { render } from 'preact';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { html } from '../../../src/web/app/base/html.js';
import { ParallelPlot } from '../../../src/web/app/chart/parallel.js';
import { type ParallelKey, type ParallelRun, parallelData } from '../../../src/web/parallel.js';

vi.hoisted(() => {
  vi.stubGlobal('matchMedia', () => new EventTarget());
  vi.stubGlobal(
    'ResizeObserver',
    class {
      observe() {}
      disconnect() {}
    },
  );
});

const run = (group: number, result: number, values: ParallelRun['values']): ParallelRun => ({
  group,
  result,
  values,
  note: `run ${result}`,
  href: `#run-${result}`,
  link: 'Open this run',
});
const keys: readonly ParallelKey[] = [
  { key: 'model.temperature', kind: 'list' },
  { key: 'rate', kind: 'loguniform' },
  { key: 'share', kind: 'uniform' },
];
const runs = [
  run(0, 10, { 'model.temperature': '10', rate: '0.01', share: '0' }),
  run(1, 30, { 'model.temperature': '2', rate: '0.1', share: '5' }),
  run(1, 20, { 'model.temperature': '2', rate: '1', share: '10' }),
];

describe('parallel coordinates as data', () => {
  const { axes, lines } = parallelData(keys, runs, 'return');

  it('sort list values by size, and place ranges on linear and logarithmic axes', () => {
    expect(axes.map(({ title }) => title)).toEqual(['model.temperature', 'rate', 'share', 'return']);
    expect(axes[0]!.ticks.map(([, label]) => label)).toEqual(['2', '10']);
    expect(lines.map(({ note }) => note)).toEqual(['run 10', 'run 20', 'run 30']);
    const at = (axis: number) => lines.map((line) => line.at[axis]);
    expect(at(1)).toEqual([0, 1, 0.5]);
    expect(at(2)).toEqual([0, 1, 0.5]);
    expect(at(3)).toEqual([0, 0.5, 1]);
    expect(axes[1]!.ticks.map(([, label]) => label)).toEqual(['0.01', '0.1', '1']);
  });

  it('spread lines that share a list value, with the better ones above', () => {
    const [, second, third] = lines.map(({ at }) => at[0]!);
    expect(third).toBeGreaterThan(second!);
    expect(third! - second!).toBeLessThan(0.1);
  });

  it('handle words, null and numbers without a logarithm', () => {
    const odd = [run(0, 1, { a: 'null', b: '-1' }), run(1, 1, { a: 'x', b: '2' })];
    const plot = parallelData(
      [
        { key: 'a', kind: 'list' },
        { key: 'b', kind: 'loguniform' },
      ],
      odd,
      'return',
    );
    expect(plot.axes[0]!.ticks.map(([, label]) => label)).toEqual(['(none)', 'x']);
    for (const { at } of plot.lines) for (const place of at) expect(place >= 0 && place <= 1).toBe(true);
  });
});

describe('drawn parallel coordinates', () => {
  const drawn = () => {
    render(null, document.body);
    render(html`<${ParallelPlot} parallel=${parallelData(keys, runs, 'return')} />`, document.body);
    const svg = document.querySelector<SVGElement>('.parallel svg')!;
    return { svg, readout: () => document.querySelector('.readout')!.textContent };
  };
  vi.useFakeTimers();
  afterAll(() => vi.useRealTimers());
  const settled = () => vi.advanceTimersByTimeAsync(120);
  const pointAt = (svg: Element, x: number, y: number, type = 'pointermove') =>
    svg.dispatchEvent(new MouseEvent(type, { clientX: x, clientY: y, bubbles: true }));

  it('have a line per run and a title per axis, and the arrow keys select runs, the best one first', async () => {
    const { readout, svg } = drawn();
    expect(svg.querySelectorAll('path[opacity]')).toHaveLength(3);
    expect(
      [...svg.querySelectorAll('.title')].map((title) => title.querySelector('title')!.textContent),
    ).toEqual([...['model.temperature', 'rate', 'share', 'return']]);
    const press = async (key: string) => {
      svg.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
      await settled();
    };
    await press('ArrowUp');
    expect(readout()).toContain('run 30');
    // Both runs of its setting are highlighted, one of them as the chosen one.
    expect(svg.querySelectorAll('.related')).toHaveLength(1);
    await press('ArrowDown');
    expect(readout()).toContain('run 20');
    expect(document.querySelector('.readout a')!.getAttribute('href')).toBe('#run-20');
    await press('x');
    expect(readout()).toContain('run 20');
    await press('Enter');
    expect(location.hash).toBe('#run-20');
  });

  it('highlight the nearest line, and none if all are far away', async () => {
    const { readout, svg } = drawn();
    await settled();
    const axes = [...svg.querySelectorAll('path[stroke="var(--point)"]')];
    const [x, top, bottom] = axes
      .at(-1)!
      .getAttribute('d')!
      .match(/[\d.]+/g)!
      .map(Number);
    pointAt(svg, x!, bottom!);
    await settled();
    expect(readout()).toContain('run 10');
    pointAt(svg, x!, top! + (bottom! - top!) * 0.25);
    await settled();
    expect(readout()).toMatch(/^Each line is a run/);
  });
});
