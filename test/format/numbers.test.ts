import { describe, expect, it } from 'vitest';
import {
  formatCompact,
  formatCost,
  formatCount,
  formatDuration,
  formatNumber,
  formatReturn,
  formatTime,
  plural,
} from '../../src/format/numbers.js';
import { linearScale, robustDomain } from '../../src/report/charts/scale.js';
import { sparkline } from '../../src/report/charts/sparkline.js';
import { quantile } from '../../src/statistics/descriptive.js';

describe('quantities', () => {
  it.each([
    [0, '0'],
    [-0, '0'],
    [1.5, '1.5'],
    [-12.3456, '−12.35'],
    [1234567, '1\u202f234\u202f567'],
    [0.00012345, '0.000123'],
    [1e-9, '1.000e−9'],
    [Number.NaN, '–'],
    [Number.NEGATIVE_INFINITY, '−∞'],
  ])('number %d', (value, expected) => expect(formatNumber(value)).toBe(expected));

  it.each([
    [500, '500.0'],
    [-0.00001, '0.000'],
    [-200, '−200.0'],
    [9.5, '9.500'],
    [12345.6, '12\u202f346'],
    [undefined, '–'],
  ])('return %d', (value, expected) => expect(formatReturn(value)).toBe(expected));

  it.each([
    [0, '0 s'],
    [0.4, '< 1 ms'],
    [850, '850 ms'],
    [4200, '4.2 s'],
    [200_000, '3 min 20 s'],
    [25 * 60_000, '25 min'],
    [59.9 * 60_000, '1 h'],
    [125 * 60_000, '2 h 5 min'],
  ])('duration %d', (value, expected) => expect(formatDuration(value)).toBe(expected));

  it('counts, costs and times', () => {
    expect([812, 43_120, 1_234_000, 999_600].map(formatCompact)).toEqual(['812', '43.1k', '1.23M', '1M']);
    expect([0, 0.00234, 1.5, 12].map(formatCost)).toEqual(['0', '0.00234', '1.50', '12.00']);
    expect([plural(1, 'call'), plural(12_000, 'call')]).toEqual(['1 call', '12\u202f000 calls']);
    expect(formatCount(1234)).toBe('1234');
    expect(formatTime('2025-11-21T07:04:59.123Z')).toBe('2025-11-21 07:04 UTC');
    expect(formatTime('<b>')).toBe('<b>');
  });
});

describe('scales', () => {
  it('have round ticks within their domain', () => {
    const scale = linearScale([3, 487], [100, 0], { ticks: 5, nice: true });
    expect([scale.low, scale.high, ...scale.ticks]).toEqual([0, 500, 0, 100, 200, 300, 400, 500]);
    expect([scale.at(0), scale.at(250), scale.at(500), scale.at(900)]).toEqual([100, 50, 0, 0]);
    expect(linearScale([-0.3, 0.1], [0, 1], { ticks: 4 }).ticks).toEqual([-0.3, -0.2, -0.1, 0, 0.1]);
  });

  it('widen a single value', () => {
    const scale = linearScale([7, 7], [0, 10], { ticks: 4 });
    expect(scale.at(7)).toBe(5);
    expect(scale.ticks.length).toBeGreaterThan(1);
  });

  it('find quantiles and fence extremes off', () => {
    expect([0, 0.25, 0.5, 1].map((q) => quantile([1, 2, 3, 4], q))).toEqual([1, 1.75, 2.5, 4]);
    expect(robustDomain([1, 2, 3, 4, 5, -1000])).toEqual([-6.25, 5]);
    expect(robustDomain([4, 4, 4, 9])).toEqual([4, 9]);
  });
});

describe('sparkline', () => {
  it('draws lowest to highest', () => {
    expect(sparkline([0, 1, 2, 3, 4, 5, 6, 7])).toBe('▁▂▃▄▅▆▇█');
    expect(sparkline([-5, 5])).toBe('▁█');
  });

  it('averages what does not fit', () => {
    expect(sparkline([0, 2, 4, 6, 10, 14], 3)).toBe('▁▃█');
    expect(
      sparkline(
        Array.from({ length: 1000 }, (_, i) => i),
        10,
      ),
    ).toHaveLength(10);
  });

  it('copes with nothing, one level, gaps and extremes', () => {
    expect(sparkline([])).toBe('');
    expect(sparkline([3, 3])).toBe('▅▅');
    expect(sparkline([0, Number.NaN, 1])).toBe('▁ █');
    expect(sparkline([-Number.MAX_VALUE, Number.MAX_VALUE])).toBe('▁█');
  });
});
