import { describe, expect, it } from 'vitest';
import { falsify } from '../../scripts/embedded/falsify.js';
import { mixedObservations } from '../../scripts/embedded/mixed.js';
import { arms, declared, type Row, runOverrides, tasks, variants } from '../../scripts/embedded/plan.js';
import { embeddedPicture, embeddedReport } from '../../scripts/embedded/report.js';
import {
  bootstrapWithin,
  differenceOf,
  normalised,
  pairsOf,
  reachedOf,
  signFlip,
} from '../../scripts/embedded/statistics.js';
import { LoadedModels, play } from '../../scripts/tiny-improver/play.js';
import { evaluationsOf } from '../../src/config/critic.js';
import { loadConfig } from '../../src/config/load.js';
import { makeEnvironment } from '../../src/environments/catalogue/open.js';

const row = (task: string, arm: string, seed: number, last: number): Row => ({
  ...{ task, arm, seed, seconds: 1 },
  at: [last / 4, last / 2, last],
});
const constants = { CartPole: { low: 100, high: 500 }, Nim: { low: 0, high: 1 } };
const seeds = Array.from({ length: 20 }, (_, i) => i);
/** The model is better by 100 ± 20 on CartPole, by 0.5 on Nim, and level on variants. */
const rows: readonly Row[] = seeds.flatMap((seed) => [
  row('CartPole', 'model', seed, 400 + (seed % 2 === 0 ? 20 : -20)),
  row('CartPole', 'random', seed, 300),
  row('CartPole', 'gp', seed, 400),
  row('CartPole:rotated', 'model', seed, 380),
  row('Nim', 'model', seed, 0.75),
  row('Nim', 'random', seed, 0.25),
]);
const names = Object.keys(declared);

describe('the statistics of the protocol', () => {
  it('normalise between random search and the best known return, clipped only above', () => {
    expect([100, 500, 600, 0].map((value) => normalised(value, constants.CartPole))).toEqual([
      0, 1, 1, -0.25,
    ]);
  });

  it('average paired differences over tasks', () => {
    const pairs = pairsOf(rows, constants, { arm: 'model', control: 'random', budget: 2 }, names);
    const found = differenceOf(pairs)!;
    expect(found).toMatchObject({ tasks: 2, pairs: 40, wins: 1 });
    expect(found.difference).toBeCloseTo((0.25 + 0.5) / 2, 10);
    expect(found.interval[0]).toBeGreaterThan(0.36);
    expect(found.interval[1]).toBeLessThan(0.39);
    const even = differenceOf(pairsOf(rows, constants, { arm: 'model', control: 'gp', budget: 2 }, names))!;
    expect(even).toMatchObject({ tasks: 1, wins: 0.5, p: 1 });
    expect(even.interval[0]).toBeLessThan(0);
    expect(even.interval[1]).toBeGreaterThan(0);
    expect(differenceOf(new Map())).toBeUndefined();
  });

  it('resample seeds within tasks, so differences between tasks do not widen the interval', () => {
    expect(
      bootstrapWithin([
        [1, 1, 1],
        [5, 5, 5],
      ]),
    ).toEqual([3, 3]);
    const [low, high] = bootstrapWithin([seeds.map((seed) => (seed % 2 === 0 ? 1 : -1))]);
    // The standard error of 20 values of ±1 is 0.224.
    expect(high - low).toBeGreaterThan(0.75);
    expect(high - low).toBeLessThan(1.05);
  });

  it('use an exact sign-flip test over tasks', () => {
    expect(signFlip([1, 1, 1, 1, 1])).toBe(2 / 32);
    expect(signFlip([1, -1])).toBe(1);
    expect(signFlip([0.1, 0.2, 0.3, -0.6])).toBe(1);
    expect(signFlip(Array.from({ length: 13 }, (_, i) => 1 + i / 100))).toBe(2 / 2 ** 13);
    expect(() => signFlip(Array(21).fill(1))).toThrow(RangeError);
  });

  it('include the lowest tenth of the runs', () => {
    const { lowest, means, runs } = reachedOf(rows, constants.CartPole, 'CartPole', 'model')!;
    expect(runs).toBe(20);
    expect(means[2]).toBeCloseTo(0.75, 10);
    expect(lowest[2]).toBeCloseTo(0.7, 10);
  });

  it('are reported as tables', () => {
    const text = embeddedReport(rows, constants);
    expect(text).toContain('| random search, 100 | 2 | 40 | +0.375 [+0.3');
    expect(text).toContain('Intervals above 0: 3 of 6');
    expect(text).toContain('| embedded model, rotated | 1 | 20 | −0.050 [−0.0');
    expect(text).toContain('| CartPole:rotated | 0.70 (0.75) |');
    expect(text).not.toContain('Falsified histories');
    expect(text).toContain('| `model` | embedded model | 2 × 20 |');
  });

  it('are drawn with a positive difference to the right of zero', () => {
    const picture = embeddedPicture(rows, constants);
    const [circle] = picture.match(/<circle r="3.5" cx="[\d.]+"/g)!;
    const zero = /class="zero" x1="([\d.]+)"/.exec(picture)![1];
    expect(Number(/cx="([\d.]+)/.exec(circle)![1])).toBeGreaterThan(Number(zero));
    expect(picture.match(/r="3.5"/g)).toHaveLength(6);
  });
});

describe('the plan', () => {
  it('declares 13 tasks and 18 transformed variants', () => {
    expect(names).toHaveLength(13);
    expect(Object.keys(variants)).toHaveLength(18);
    expect(Object.values(variants).every(({ of }) => names.includes(of!))).toBe(true);
  });

  it.each(Object.keys(tasks))('gives %s the same budget in every arm without a model', (name) => {
    const task = tasks[name]!;
    for (const { model, overrides } of Object.values(arms)) {
      if (model) continue;
      const { config } = loadConfig({
        file: task.config,
        overrides: [...runOverrides(task, 3), ...overrides],
      });
      expect(config).toMatchObject({ seed: 3, warmup: { policies: 4 } });
      expect(evaluationsOf(config)).toBe(96);
    }
  });
});

describe('falsified histories', () => {
  const entries = [3, 1, 2, 5].map((score, iteration) => ({
    ...{ iteration, group: 0, candidate: 0, source: 'proposal' as const, parameters: [iteration] },
    ...{ score, returns: [score], lengths: [1] },
  }));
  const told = (falsehood: Parameters<typeof falsify>[1], shown = entries) =>
    falsify(shown, falsehood, 7).map(({ score }) => score);

  it('replace the scores, but not the parameters', () => {
    expect(told('negated')).toEqual([-3, -1, -2, -5]);
    expect(new Set(told('constant')).size).toBe(1);
    expect(told('permuted').toSorted()).toEqual([1, 2, 3, 5]);
    expect(falsify(entries, 'random', 7).map(({ parameters }) => parameters)).toEqual([[0], [1], [2], [3]]);
  });

  it('do not change when an evaluation is added', () => {
    expect(told('random').slice(0, 3)).toEqual(told('random', entries.slice(0, 3)));
    expect(new Set(told('random')).size).toBe(4);
  });

  it('are shown to the model, while the run keeps the true scores', async () => {
    const { config } = loadConfig({
      file: 'cartpole-numeric',
      overrides: [
        'model.provider=random',
        'iterations=3',
        'warmup=4',
        'evaluation.episodes=2',
        'record=none',
      ],
    });
    const seen: number[] = [];
    const { close, entries: played } = await play(config, new LoadedModels(), 'none', {
      told(held) {
        const shown = falsify(held, 'constant', 7);
        seen.push(...shown.map(({ score }) => score));
        return shown;
      },
    });
    await close();
    expect(new Set(seen)).toEqual(new Set([0]));
    expect(new Set(played.map(({ score }) => score)).size).toBeGreaterThan(1);
  });
});

it('mixedObservations rotates observations, and keeps their length and the rewards', async () => {
  const [plain, mixed] = [
    await makeEnvironment('CartPole-v1'),
    mixedObservations(await makeEnvironment('CartPole-v1')),
  ];
  const [before, after] = [plain.reset(3), mixed.reset(3)] as readonly (readonly number[])[];
  expect(Math.hypot(...after!)).toBeCloseTo(Math.hypot(...before!), 6);
  expect(after).not.toEqual(before);
  for (let i = 0; i < 8; i++) expect(mixed.step(1).reward).toBe(plain.step(1).reward);
});
