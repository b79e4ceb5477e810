import { describe, expect, it } from 'vitest';
import type { Axis, Chart, Series } from '../../../src/web/chart.js';
import { ticksOf, xRange, yRange } from '../../../src/web/drawing/scales.js';

const line = (values: readonly (number | null)[], more: Partial<Series> = {}): Series => ({
  label: 'line',
  draw: 'line',
  color: '--accent',
  values,
  ...more,
});

const chartOf = (series: readonly Series[], more: Partial<Chart> = {}): Chart => ({
  label: 'A chart.',
  x: { title: 'x', kind: 'whole' },
  y: { title: 'y' },
  at: series[0]?.values.map((_, i) => i) ?? [],
  series,
  ...more,
});

const all = [-Infinity, Infinity] as [number, number];
const rangeOf = (chart: Chart, hidden: readonly string[] = [], view = all) =>
  yRange({ chart, hidden: new Set(hidden) }, view);
const textsOf = (axis: Axis, low: number, high: number) =>
  ticksOf(axis, [low, high], 400, 90).map(([, text]) => text);

describe('the y axis', () => {
  it('leaves room around the values, and covers intervals and marks completely', () => {
    const [low, high] = rangeOf(chartOf([line([1, 2, 3])]));
    expect([low < 1, low > 0.5, high > 3, high < 3.5]).toEqual([true, true, true, true]);
    const marks = [
      { label: 'm', draw: 'diamond', color: '--good', marks: [{ y: 9, interval: [8, 20] }] },
    ] as const;
    const whole = chartOf([line([1, 2], { low: [-50, 0], high: [4, 5] })], {
      marks,
      bands: { label: 'bands' },
    });
    expect(rangeOf(whole)[0]).toBeLessThan(-50);
    expect(rangeOf(whole)[1]).toBeGreaterThan(20);
    expect(rangeOf(whole, ['bands'])[0]).toBeGreaterThan(-2);
    expect(rangeOf(whole, ['m'])[1]).toBeLessThan(10);
  });

  it('fits the values in view', () => {
    expect(rangeOf(chartOf([line([1000, 1, 2])]), [], [1, 2])[1]).toBeLessThan(3);
  });

  it('has a finite range for a constant, for no values and for the largest numbers', () => {
    const [low, high] = rangeOf(chartOf([line([7, 7])]));
    expect([low < 7, high > 7]).toEqual([true, true]);
    expect(rangeOf(chartOf([line([0, 0])]))).toEqual([0, 1]);
    expect(rangeOf(chartOf([line([null, null])]))).toEqual([0, 1]);
    for (const end of rangeOf(chartOf([line([-Number.MAX_VALUE, Number.MAX_VALUE])])))
      expect(Number.isFinite(end)).toBe(true);
  });

  it('excludes outliers only on the side that a series names', () => {
    const values = [...Array.from({ length: 40 }, (_, i) => i % 10), -1000, 1000];
    expect(rangeOf(chartOf([line(values, { outliers: 'low' })]))[0]).toBeGreaterThan(-100);
    expect(rangeOf(chartOf([line(values, { outliers: 'low' })]))[1]).toBeGreaterThan(1000);
    expect(rangeOf(chartOf([line(values, { outliers: 'high' })]))[1]).toBeLessThan(100);
    expect(rangeOf(chartOf([line(values)]))[0]).toBeLessThan(-1000);
  });

  it('covers stacked bars', () => {
    const bars = [line([3, 4], { draw: 'bars' }), line([5, null], { draw: 'bars' })];
    const [low, high] = rangeOf(chartOf(bars));
    expect([low, high > 8, high < 9]).toEqual([0, true, true]);
  });
});

it('the x axis extends to the last mark unless it is zoomed in', () => {
  const marks = [{ label: 'lost', draw: 'cross', color: '--bad', marks: [{ x: 5 }, {}] }] as const;
  expect(xRange(chartOf([line([1, 2])], { marks }))).toEqual([0, 5]);
  expect(xRange(chartOf([line([1, 2])], { marks }), [0.2, 0.6])).toEqual([0.2, 0.6]);
});

describe('ticks', () => {
  it('of iterations are whole numbers, however few there are', () => {
    const [low, high] = xRange(chartOf([line([1])]));
    expect(textsOf({ title: 'x', kind: 'whole' }, low, high)).toEqual(['0']);
    expect(textsOf({ title: 'x', kind: 'whole' }, 0, 0.95)).toEqual(['0']);
    expect(textsOf({ title: 'x', kind: 'whole' }, 0, 3)).toEqual(['0', '1', '2', '3']);
    expect(textsOf({ title: 'x', kind: 'whole' }, 0, 40)).toEqual(['0', '10', '20', '30', '40']);
  });

  it('are distinct for close numbers, and short for very large and very small ones', () => {
    const close = textsOf({ title: 'y' }, 1.000001, 1.000004);
    expect(new Set(close).size).toBe(close.length);
    expect(textsOf({ title: 'y' }, 0, 1e300)).toEqual(['0', '5e299', '1e300']);
    expect(textsOf({ title: 'y' }, 0, 2e-7)[1]).toBe('5e−8');
  });
});
