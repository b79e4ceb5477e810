import { describe, expect, it } from 'vitest';
import { sparkline } from '../../src/report/run-text.js';

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
