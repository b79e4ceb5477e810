import { describe, expect, it } from 'vitest';
import { warmupGenerator } from '../../src/base/random/seeds.js';
import { environmentIds, makeEnvironment } from '../../src/environments/catalogue/open.js';
import { statisticsContext } from '../../src/experiment/stages/critic/context.js';
import { defaultPolicyConfig, openPolicyFamily } from '../../src/policies/families.js';
import { behaviorOf, medianEpisodeIndex } from '../../src/rollout/behavior.js';
import { evaluate } from '../../src/rollout/evaluation.js';
import { discrete } from '../support/fixed-environment.js';

const episode = (observations: readonly number[], actions: readonly number[], terminated = true) => ({
  observations: observations.map((value) => [value]),
  actions: actions.map((value) => [value]),
  rewards: actions.map(() => 1),
  terminated,
});
const box = (bound: number, n = 1) =>
  ({ kind: 'box', low: Array<number>(n).fill(-bound), high: Array<number>(n).fill(bound) }) as const;
const vectors = { observationSpace: box(Number.POSITIVE_INFINITY), actionSpace: box(2) };

/** The figures of one episode. */
const figuresOf = (
  ...[shown, spaces]: [Parameters<typeof behaviorOf>[0][number], Parameters<typeof behaviorOf>[1]]
) => Object.fromEntries(behaviorOf([shown], spaces).figures.map(({ name, median }) => [name, median]));

it('behaviorOf reports quartiles over episodes, and how they ended', () => {
  const episodes = [
    episode([1, -1, -2, 3, 4], [2, 2, -1, -2]),
    episode([0.5, 0.5, 0.5], [0, 0], false),
    episode([1, 1, 1], [1, 1], false),
  ];
  const all = (value: number) => ({ low: value, median: value, high: value });
  const found = behaviorOf(episodes, vectors);
  expect(found.return).toMatchObject({ mean: 8 / 3, lowest: 2, median: 2, highest: 4 });
  expect(found.length).toEqual({ low: 2, median: 2, high: 3 });
  const last = [{ low: 0.625, median: 0.75, high: 0.875 }];
  expect(found.endings).toEqual([
    { how: 'cut off', episodes: 2, return: 2, length: all(2), last },
    { how: 'terminated', episodes: 1, return: 4, length: all(4), last: [all(4)] },
  ]);
  const size = found.figures.find(({ name }) => name === 'action[0], mean size');
  expect(size).toMatchObject({ low: 0.5, median: 1, high: 1.375 });
});

it('behaviorOf reports effort, signs and streaks of vectors', () => {
  const shown = { ...episode([1, 1, -2, 3, 4], [2, 1.8, -1, -2]), rewards: [1, 0, -1, 1] };
  const bias = 'bias (-1 always negative, 1 always positive)';
  const change = 'action[0], mean change from step to step';
  expect(figuresOf(shown, vectors)).toEqual({
    'steps with a reward above 0, share': 1 / 2,
    'steps with a reward below 0, share': 1 / 4,
    'action[0], mean size': 1.7,
    [`action[0], ${bias}`]: expect.closeTo(0.8 / 6.8, 12),
    [change]: expect.closeTo(4 / 3, 12),
    'action[0], changes of sign, share of steps': 1 / 3,
    'action[0], longest run of steps with one sign': 2,
    'action[0], share of steps at 90 % of its bound or beyond': 3 / 4,
    'longest run of steps with the observation unchanged': 1,
    'observation[0], root mean square': Math.sqrt(31 / 5),
    'observation[0], 95th percentile of its size': expect.closeTo(3.8, 12),
    [`observation[0], ${bias}`]: 7 / 11,
    'observation[0], changes of sign, share of steps': 1 / 2,
    'observation[0], longest run of steps with one sign': 2,
  });
  expect(figuresOf(episode([0, 0, 0], [0, 1]), vectors)[change]).toBe(1);
  const still = figuresOf(
    { ...episode([], [0]), observations: [[...Array(25).keys()], []] },
    { ...vectors, observationSpace: box(1, 25) },
  );
  expect(still).toMatchObject({
    [change]: 0,
    [`action[0], ${bias}`]: 0,
    'action[0], changes of sign, share of steps': 0,
  });
  expect(Object.keys(still).at(-1)).toMatch(/^observation\[23\]/);
});

it('behaviorOf reports shares, loops and last states for discrete spaces', () => {
  const shown = {
    observations: [0, 1, 0, 1, 5],
    actions: [1, 0, 1, 1],
    rewards: [0, 0, 0, -1],
    terminated: true,
  };
  const spaces = { observationSpace: discrete(6), actionSpace: discrete(2) };
  const last = [{ value: 5, times: 2 }];
  expect(behaviorOf([shown, shown], spaces).endings).toMatchObject([
    { how: 'terminated', episodes: 2, last },
  ]);
  expect(figuresOf(shown, spaces)).toEqual({
    'steps with a reward above 0, share': 0,
    'steps with a reward below 0, share': 1 / 4,
    'action 0, share of steps': 1 / 4,
    'action 1, share of steps': 3 / 4,
    'steps with another action than before, share': 2 / 3,
    'longest run of steps with one action': 2,
    'longest run of steps with the observation unchanged': 0,
    'different states': 3,
    'steps back to a state of before, share': 2 / 5,
  });
});

it('behaviorOf lists at most twelve actions and last observations, and cuts long texts', () => {
  const spaces = { observationSpace: { kind: 'text' }, actionSpace: discrete(20, 1) } as const;
  const ended = (text: string) => ({
    observations: ['', text],
    actions: [1],
    rewards: [0],
    terminated: true,
  });
  const listed = Object.keys(figuresOf(ended('a'), spaces)).filter((name) => name.endsWith('share of steps'));
  expect(listed).toEqual(Array.from({ length: 12 }, (_, i) => `action ${i + 1}, share of steps`));
  const lastOf = (texts: readonly string[]) => behaviorOf(texts.map(ended), spaces).endings[0]!.last;
  const most = [...'oabcdefghijk'].map((letter, i) => ({ value: `"${letter}"`, times: i === 0 ? 2 : 1 }));
  expect(lastOf([...'onmlkjihgfedcbao'])).toEqual(most);
  const [cut, whole] = [81, 80].map((n) => lastOf([` ${'x'.repeat(n)}\n`])[0]);
  expect([cut, whole]).toMatchObject([{ value: `"${'x'.repeat(80)}…"` }, { value: `"${'x'.repeat(80)}"` }]);
  const said = { ...ended('a'), actions: [...'abcdefghijklmnn'] };
  expect(Object.keys(figuresOf(said, { ...spaces, actionSpace: { kind: 'text' } })).slice(2, 15)).toEqual([
    ...[...'nabcdefghijk'].map((letter) => `action "${letter}", share of steps`),
    'steps with another action than before, share',
  ]);
});

it('medianEpisodeIndex picks the lower of two middle returns, and the earliest episode on ties', () => {
  const places = [[5, 1, 9], [5, 1, 9, 7], [3, 3, 3], [8], [1, 9, 5]].map((returns) =>
    medianEpisodeIndex(returns),
  );
  expect(places).toEqual([0, 0, 0, 0, 2]);
});

describe('behaviour statistics', () => {
  it.each(environmentIds())('of %s are finite and ordered', async (id) => {
    const environment = await makeEnvironment(id);
    const family = await openPolicyFamily(defaultPolicyConfig(environment), environment);
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
