import { describe, expect, it } from 'vitest';
import { warmupGenerator } from '../../src/base/random/seeds.js';
import { environmentIds, makeEnvironment } from '../../src/environments/catalogue/open.js';
import { statisticsContext } from '../../src/experiment/stages/critic/context.js';
import { defaultPolicy, openPolicyFamily } from '../../src/policies/families.js';
import { behaviorOf, medianEpisode } from '../../src/rollout/behavior.js';
import { evaluate } from '../../src/rollout/evaluation.js';

const episode = (observations: readonly number[], actions: readonly number[], terminated: boolean) => ({
  observations: observations.map((value) => [value]),
  actions: actions.map((value) => [value]),
  rewards: actions.map(() => 1),
  terminated,
});
const box = (bound: number) => ({ kind: 'box', low: [-bound], high: [bound] }) as const;

it('behaviourOf reports effort, streaks and endings for vector observations and actions', () => {
  const {
    endings,
    figures,
    length,
    return: returns,
  } = behaviorOf(
    [
      episode([1, -1, -2, 3, 4], [2, 2, -1, -2], true),
      episode([0.5, 0.5, 0.5], [0, 0], false),
      episode([1, 1, 1], [1, 1], false),
    ],
    { observationSpace: box(Number.POSITIVE_INFINITY), actionSpace: box(2) },
  );
  const of = (name: string) => figures.find((one) => one.name.startsWith(name))!;
  expect(returns).toMatchObject({ mean: 8 / 3, lowest: 2, median: 2, highest: 4 });
  expect(length).toEqual({ low: 2, median: 2, high: 3 });
  expect(endings).toEqual([
    {
      how: 'cut off',
      episodes: 2,
      return: 2,
      length: { low: 2, median: 2, high: 2 },
      last: [{ low: 0.625, median: 0.75, high: 0.875 }],
    },
    {
      how: 'terminated',
      episodes: 1,
      return: 4,
      length: { low: 4, median: 4, high: 4 },
      last: [{ low: 4, median: 4, high: 4 }],
    },
  ]);
  // Of the three episodes: 7/4, 0 and 1.
  expect(of('action[0], mean size')).toMatchObject({ low: 0.5, median: 1, high: 1.375 });
  // 2 of 4 steps, then 3 of 4 with -2; none; none.
  expect(of('action[0], share of steps at 90 %')).toMatchObject({ high: 0.375, median: 0 });
  expect(of('action[0], changes of sign')).toMatchObject({ high: 1 / 6 });
  expect(of('action[0], longest run of steps with one sign').median).toBe(2);
  expect(of('longest run of steps with the observation unchanged')).toMatchObject({ low: 1, median: 2 });
  expect(of('observation[0], bias').low).toBeCloseTo((5 / 11 + 1) / 2, 12);
  expect(of('observation[0], changes of sign').high).toBeCloseTo(0.25, 12);
});

it('behaviourOf reports shares, loops and last states for discrete spaces', () => {
  const discrete = (n: number) => ({ kind: 'discrete', n }) as const;
  const { endings, figures } = behaviorOf(
    [
      { observations: [0, 1, 0, 1, 5], actions: [1, 0, 1, 1], rewards: [0, 0, 0, -1], terminated: true },
      { observations: [0, 4, 5], actions: [1, 1], rewards: [0, 1], terminated: true },
    ],
    { observationSpace: discrete(6), actionSpace: discrete(2) },
  );
  const of = (name: string) => figures.find((one) => one.name.startsWith(name))!;
  expect(endings).toMatchObject([{ how: 'terminated', episodes: 2, last: [{ value: 5, times: 2 }] }]);
  expect(of('action 1').median).toBe((3 / 4 + 1) / 2);
  expect(of('steps with another action').median).toBe(1 / 3);
  expect(of('longest run of steps with one action').median).toBe(2);
  expect(of('steps back to a state').median).toBeCloseTo(0.2, 12);
  expect(of('different states').median).toBe(3);
  expect(of('steps with a reward below 0').median).toBe(1 / 8);
});

it('medianEpisode picks the lower of two middle returns, and the earliest episode on ties', () => {
  expect(medianEpisode([5, 1, 9])).toBe(0);
  expect(medianEpisode([5, 1, 9, 7])).toBe(0);
  expect(medianEpisode([3, 3, 3])).toBe(0);
  expect(medianEpisode([8])).toBe(0);
});

describe('behaviour statistics are finite and ordered', () => {
  it.each(environmentIds())('%s', async (id) => {
    const environment = await makeEnvironment(id);
    const family = await openPolicyFamily(defaultPolicy(environment), environment);
    const parameters = family.initial(warmupGenerator(1));
    const setting = { environment, family, maxSteps: 40, record: 'all' } as const;
    const { episodes } = await evaluate(setting, parameters, [1, 2, 3]);
    const behavior = behaviorOf(episodes, environment);
    expect(behavior.endings.reduce((sum, ending) => sum + ending.episodes, 0)).toBe(3);
    for (const { high, low, median } of behavior.figures) {
      expect(low).toBeLessThanOrEqual(median);
      expect(median).toBeLessThanOrEqual(high);
    }
    const { endings, figures } = statisticsContext(behavior);
    expect(figures.length).toBeGreaterThan(1);
    expect(JSON.stringify([endings, figures])).not.toMatch(/NaN|Infinity|undefined|null/);
  });
});
