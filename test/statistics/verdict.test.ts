import { describe, expect, it } from 'vitest';
import { withVerdicts } from '../../src/statistics/tests.js';

const clear = { interval: [1, 2], p: 0.04 } as const;

const told = (...together: Parameters<typeof withVerdicts>[0]) =>
  withVerdicts(together).map(({ adjusted, verdict }) => [adjusted, verdict]);

describe('verdicts', () => {
  it('require an interval that excludes 0, and p below 0.05', () => {
    expect(told(clear)).toEqual([[0.04, 'higher']]);
    expect(told({ interval: [-2, -1], p: 0.04 })).toEqual([[0.04, 'lower']]);
    // From ten pairs on the interval is a bootstrap's, and may say another thing than the test.
    expect(told({ interval: [-0.1, 2], p: 0.04 })).toEqual([[0.04, 'no-evidence']]);
    expect(told({ interval: [0.1, 2], p: 0.05 })).toEqual([[0.05, 'no-evidence']]);
  });

  it('are corrected for all differences tested together, and for no others', () => {
    const untested = { interval: null, p: null };
    expect(told(clear, { interval: [-1, 1], p: 0.5 })).toEqual([
      [0.08, 'no-evidence'],
      [0.5, 'no-evidence'],
    ]);
    expect(told(untested, clear, untested)).toEqual([
      [null, 'too-few'],
      [0.04, 'higher'],
      [null, 'too-few'],
    ]);
    expect(told({ ...clear, p: 0.001 }, clear)).toEqual([
      [0.002, 'higher'],
      [0.04, 'higher'],
    ]);
  });

  it('are `too-few` without a p-value, even if the interval excludes 0', () => {
    expect(told({ interval: [5, 6], p: null })).toEqual([[null, 'too-few']]);
  });
});
