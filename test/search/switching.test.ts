import { describe, expect, it } from 'vitest';
import { createSwitch, type SwitchedRun, type SwitchRule } from '../../src/search/switching.js';

/** Scores of the candidates of each iteration, the warm-up first; undefined where none was evaluated. */
type Scores = readonly (readonly (number | undefined)[])[];

const runOf = (scores: Scores, candidates: number): SwitchedRun => ({
  candidates,
  seed: (iteration, candidate) => 1000 * iteration + candidate,
  entries: scores.flatMap((group, iteration) =>
    group.flatMap((score, candidate) =>
      score === undefined ? [] : [{ iteration, candidate, score, parameters: [] }],
    ),
  ),
});

const flat = (iterations: number, candidates = 1): Scores =>
  Array.from({ length: iterations + 1 }, () => Array<number>(candidates).fill(0));

const rules: readonly SwitchRule[] = [
  { kind: 'shares', weights: [3, 2, 1] },
  { kind: 'turns' },
  { kind: 'plateau', patience: 2 },
  { kind: 'bandit', discount: 0.9 },
];

describe.each(rules)('$kind', (rule) => {
  const scores: Scores = Array.from({ length: 31 }, (_, i) =>
    Array.from({ length: 4 }, (_, c) => ((i + 1) * (c + 3) * 7919) % 101),
  );

  it('makes the same choices wherever it starts and in whatever order it is asked', () => {
    const run = runOf(scores, 4);
    const whole = createSwitch(rule, 3);
    const chosen = Array.from({ length: 30 }, (_, i) => whole(i + 1, run));
    for (const iteration of [1, 7, 8, 30]) {
      expect(createSwitch(rule, 3)(iteration, run)).toEqual(chosen[iteration - 1]);
      expect(whole(iteration, run)).toEqual(chosen[iteration - 1]);
    }
    // What comes after an iteration does not change it.
    expect(createSwitch(rule, 3)(8, runOf(scores.slice(0, 8), 4))).toEqual(chosen[7]);
    expect(chosen.flat().every((member) => member >= 0 && member < 3)).toBe(true);
  });
});

it('the rule shares draws members by weight', () => {
  const choose = createSwitch({ kind: 'shares', weights: [10, 8, 4, 4] }, 4);
  const chosen = Array.from({ length: 100 }, (_, i) => choose(i + 1, runOf(flat(100, 26), 26))).flat();
  const counts = [0, 1, 2, 3].map((member) => chosen.filter((one) => one === member).length);
  for (const [i, expected] of [1000, 800, 400, 400].entries())
    expect(Math.abs(counts[i]! - expected)).toBeLessThan(3.5 * Math.sqrt(expected));
});

it('the rule turns changes the member with each iteration, for all its candidates', () => {
  const choose = createSwitch({ kind: 'turns' }, 3);
  expect([1, 2, 3, 4].map((iteration) => choose(iteration, runOf(flat(4, 2), 2)))).toEqual([
    [0, 0],
    [1, 1],
    [2, 2],
    [0, 0],
  ]);
});

it('the rule plateau switches once nothing better is found, counting rejected proposals', () => {
  const scores: Scores = [[1], [2], [2], [3], [undefined], [undefined], [9], [1], [1]];
  const choose = createSwitch({ kind: 'plateau', patience: 2 }, 2);
  expect([1, 2, 3, 4, 5, 6, 7, 8, 9].map((iteration) => choose(iteration, runOf(scores, 1))[0])).toEqual([
    0, 0, 0, 0, 0, 1, 1, 1, 0,
  ]);
});

it('the rule bandit prefers the member that finds improvements, and adapts when that changes', () => {
  const choose = createSwitch({ kind: 'bandit', discount: 0.9 }, 3);
  const entries: SwitchedRun['entries'][number][] = [
    { iteration: 0, candidate: 0, score: 0, parameters: [] },
  ];
  let best = 0;
  const chosen: number[] = [];
  for (let iteration = 1; iteration <= 200; iteration++) {
    const member = choose(iteration, { ...runOf([], 1), entries })[0]!;
    chosen.push(member);
    const good = iteration <= 100 ? 1 : 2;
    if (member === good) best++;
    entries.push({ iteration, candidate: 0, score: member === good ? best : 0, parameters: [] });
  }
  const share = (from: number, member: number) =>
    chosen.slice(from, from + 60).filter((one) => one === member).length / 60;
  expect(share(40, 1)).toBeGreaterThan(0.7);
  expect(share(140, 2)).toBeGreaterThan(0.7);
});
