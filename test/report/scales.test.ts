import { describe, expect, it } from 'vitest';
import { linearScale, robustDomain } from '../../src/report/charts/plot.js';
import { sparkline } from '../../src/report/run-text.js';
import { quantile } from '../../src/statistics/descriptive.js';

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
