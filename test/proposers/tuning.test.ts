import { describe, expect, it } from 'vitest';
import { createGenerator } from '../../src/base/random/generator.js';
import { type ProgramEvaluation, structureToTune, tuneConstants } from '../../src/proposers/tuning.js';

const ranges = [
  { low: -1, high: 5 },
  { low: 0, high: 0.02 },
];
const evaluated = (structure: number, constants: readonly number[], score: number, tuned?: true) => ({
  parameters: [structure, ...constants],
  score,
  ...(tuned && { tuned }),
});

describe.each(['cma-es', 'gp', 'hill-climb'] as const)('tuning by %s', (by) => {
  const goal = [3.3, 0.004];
  const score = (values: readonly number[]) =>
    -values.reduce((sum, v, i) => sum + ((v - goal[i]!) / (ranges[i]!.high - ranges[i]!.low)) ** 2, 0);

  it('finds better constants within their ranges, reproducibly', async () => {
    const [seeds, most] = by === 'gp' ? [[1], 10] : [[1, 2, 3], 30];
    for (const seed of seeds) {
      const history: ProgramEvaluation[] = [
        [0, 0.018],
        [1, 0.012],
      ].map((v) => evaluated(7, v, score(v)));
      const before = history[1]!.score;
      for (let i = 0; i < most; i++) {
        const values = await tuneConstants(by, ranges, history, createGenerator(seed, [i]));
        history.push(evaluated(7, values, score(values), true));
        for (const [j, value] of values.entries()) {
          expect(value).toBeGreaterThanOrEqual(ranges[j]!.low);
          expect(value).toBeLessThanOrEqual(ranges[j]!.high);
          expect(String(value)).toMatch(j === 0 ? /^-?\d(\.\d{1,3})?$/ : /^0(\.\d{1,5})?$/);
        }
      }
      expect(Math.max(...history.map((one) => one.score))).toBeGreaterThan(before / 10);
      const again = await tuneConstants(by, ranges, history.slice(0, 7), createGenerator(seed, [5]));
      expect([7, ...again]).toEqual(history[7]!.parameters);
    }
  });

  it('works with extreme ranges and with values outside them', async () => {
    const odd = [
      { low: -Number.MAX_VALUE, high: Number.MAX_VALUE },
      { low: 5e-324, high: 1e-300 },
      { low: 12345678, high: 98765432 },
    ];
    const history = [evaluated(1, [0, -5, 1e9], 1), evaluated(1, [1e300, 7, 0], 1)];
    for (let seed = 0; seed < 20; seed++) {
      const values = await tuneConstants(by, odd, history, createGenerator(seed));
      for (const [i, { low, high }] of odd.entries()) {
        expect(Number.isFinite(values[i])).toBe(true);
        expect(values[i]! >= low && values[i]! <= high).toBe(true);
      }
      expect(values[2]! % 10_000 === 0 || values[2] === odd[2]!.low || values[2] === odd[2]!.high).toBe(true);
    }
  });
});

describe('the start of tuning by CMA-ES', () => {
  it('is the best evaluation before the current phase of tuning, even one of an earlier phase', async () => {
    const first = async (history: readonly ProgramEvaluation[]) => {
      let sum = 0;
      for (let seed = 0; seed < 200; seed++)
        sum += (await tuneConstants('cma-es', [{ low: 0, high: 10 }], history, createGenerator(seed)))[0]!;
      return sum / 200;
    };
    expect(Math.abs((await first([evaluated(1, [3], 1), evaluated(1, [7], 0)])) - 3)).toBeLessThan(0.4);
    expect(Math.abs((await first([evaluated(1, [3], 0), evaluated(1, [7], 1)])) - 7)).toBeLessThan(0.4);
    // Negative control: a tuned evaluation doesn't move the start.
    expect(Math.abs((await first([evaluated(1, [3], 0), evaluated(1, [7], 1, true)])) - 3)).toBeLessThan(0.4);
    expect(
      Math.abs((await first([evaluated(1, [3], 0), evaluated(1, [7], 1, true), evaluated(1, [5], 0)])) - 7),
    ).toBeLessThan(0.4);
  });
});

describe('structureToTune', () => {
  /** Plays the schedule; the model proposes structures 1, 2, 3, … with the given scores. */
  function played(
    scores: readonly number[],
    schedule: Parameters<typeof structureToTune>[1],
    constants: (structure: number) => readonly number[] = () => [0.5],
  ): string {
    const entries: ProgramEvaluation[] = [];
    const turns: string[] = [];
    const left = [...scores];
    for (let model = 1; left.length > 0; ) {
      const due = structureToTune(entries, schedule);
      if (due === undefined) entries.push(evaluated(model, constants(model++), left.shift()!));
      else entries.push(evaluated(due, [turns.length], -100, true));
      turns.push(due === undefined ? 'm' : String(due));
    }
    return turns.join('');
  }

  it('returns the best program after some evaluations, then lets the model continue', () => {
    const schedule = { after: 3, evaluations: 2, of: 'best' } as const;
    expect(played([1, 5, 2, 0, 0, 0, 9], schedule)).toBe('mmm22mmm22m');
    expect(played([1, 5, 2, 0, 7, 0, 9], schedule)).toBe('mmm22mmm55m');
    // Negative control: other scores.
    expect(played([6, 5, 2, 0, 7, 0, 9], schedule)).toBe('mmm11mmm55m');
    expect(played([5, 5, 2, 0], schedule)).toBe('mmm11m');
  });

  it('divides a phase among the best structures', () => {
    const schedule = { after: 3, evaluations: 5, of: 2 };
    expect(played([1, 5, 2, 0], schedule)).toBe('mmm23232m');
    expect(played([1, 5, 2, 0], { ...schedule, of: 9 })).toBe('mmm23123m');
  });

  it('skips programs without constants, and waits until one has some', () => {
    const schedule = { after: 2, evaluations: 2, of: 'best' } as const;
    expect(played([1, 5, 2, 0], schedule, (structure) => (structure === 2 ? [] : [1]))).toBe('mm11mm');
    expect(played([1, 5, 2, 0], schedule, (structure) => (structure < 3 ? [] : [1]))).toBe('mmm33m');
  });

  it('counts proposals whose evaluation is pending', () => {
    const entries = [evaluated(1, [1], 1), evaluated(2, [1], 2)];
    const schedule = { after: 3, evaluations: 2, of: 2 };
    const due = [0, 1, 2, 3, 5, 6].map((ahead) => structureToTune(entries, schedule, ahead));
    expect(due).toEqual([undefined, 2, 1, undefined, undefined, 2]);
  });

  it('keeps the structures from the start of a phase, even if tuning finds better values', () => {
    const entries = [evaluated(1, [1], 1), evaluated(2, [1], 2), evaluated(2, [3], -5, true)];
    const schedule = { after: 2, evaluations: 4, of: 'best' } as const;
    expect(structureToTune(entries, schedule)).toBe(2);
    expect(structureToTune([...entries, evaluated(1, [4], 9, true)], schedule)).toBe(2);
  });
});
