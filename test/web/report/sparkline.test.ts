import { describe, expect, it } from 'vitest';
import { sparkline } from '../../../src/web/report/run-text.js';

describe('sparkline', () => {
  it('spans the lowest to the highest value', () => {
    expect(sparkline([0, 1, 2, 3, 4, 5, 6, 7])).toBe('▁▂▃▄▅▆▇█');
    expect(sparkline([-5, 5])).toBe('▁█');
  });

  it('averages values that do not fit the width', () => {
    expect(sparkline([0, 2, 4, 6, 10, 14], 3)).toBe('▁▃█');
    expect(
      sparkline(
        Array.from({ length: 1000 }, (_, i) => i),
        10,
      ),
    ).toHaveLength(10);
  });

  it('handles no values and a single level', () => {
    expect(sparkline([])).toBe('');
    expect(sparkline([3, 3])).toBe('▅▅');
  });
});
