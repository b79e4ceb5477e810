import { describe, expect, test } from 'vitest';
import { UserError } from '../../src/base/errors.js';
import { environmentIds, environmentInfo, makeEnvironment } from '../../src/environments/catalogue/open.js';
import { replacementFor } from '../../src/environments/catalogue/versions.js';
import { describeEnvironment } from '../contracts/environment-contract.js';
import { mujocoScenarios, scenarios } from './scenarios.js';

for (const id of environmentIds()) {
  describeEnvironment({ name: id, make: (options) => makeEnvironment(id, options) });
}
const variants = new Map(
  [...scenarios, ...mujocoScenarios].map(({ env, kwargs }) => [
    `${env} ${JSON.stringify(kwargs)}`,
    { env, kwargs },
  ]),
);
for (const [name, { env, kwargs }] of variants) {
  if (Object.keys(kwargs).length === 0) continue;
  describeEnvironment({ name, make: (options) => makeEnvironment(env, { ...kwargs, ...options }) });
}

describe('environment ids', () => {
  test('are a fixed list from Gymnasium and ProPS', () => {
    expect(environmentIds()).toEqual([
      ...'CartPole-v0 CartPole-v1 MountainCar-v0 MountainCarContinuous-v0 Pendulum-v1 Acrobot-v1'.split(' '),
      ...'FrozenLake-v1 CliffWalking-v1 Taxi-v4 Blackjack-v1 HalfCheetah-v5 Hopper-v5 Walker2d-v5'.split(' '),
      ...'Swimmer-v5 Reacher-v5 InvertedPendulum-v5 InvertedDoublePendulum-v5 Nim-v0 Pong-v0'.split(' '),
      ...'NavigationTrack-v0 maze-sample-3x3-v0 maze-sample-5x5-v0 maze-sample-10x10-v0'.split(' '),
      ...'maze-random-3x3-v0 maze-random-5x5-v0 maze-random-10x10-v0'.split(' '),
    ]);
  });

  test.each(environmentIds())('%s matches its info', async (id) => {
    const environment = await makeEnvironment(id);
    const info = environmentInfo(id);
    expect(environment.id).toBe(id);
    expect(environment.maxSteps).toBe(info.maxSteps);
    expect(info.options).toContain('max_episode_steps');
  });

  test.each([
    ['CliffWalking-v0', 'CliffWalking-v1'],
    ['Taxi-v3', 'Taxi-v4'],
    ['gym_navigation:NavigationTrack-v0', 'NavigationTrack-v0'],
  ])('%s is an alias of %s', async (alias, id) => {
    expect((await makeEnvironment(alias)).id).toBe(id);
    expect(environmentInfo(id).aliases).toEqual([alias]);
    expect(environmentInfo(alias)).toEqual(environmentInfo(id));
    expect(replacementFor(alias)).toBeUndefined();
  });

  test.each([
    ['HalfCheetah-v4', 'HalfCheetah-v5'],
    ['Reacher-v0', 'Reacher-v5'],
    ['DoubleInvertedPendulum-v0', 'InvertedDoublePendulum-v5'],
    ['DoubleInvertedPendulum', 'InvertedDoublePendulum-v5'],
    ['FrozenLake-v0', 'FrozenLake-v1'],
    ['Taxi-v2', 'Taxi-v4'],
  ])('%s runs as %s, with a note', async (id, played) => {
    expect((await makeEnvironment(id)).id).toBe(played);
    expect(environmentInfo(id).id).toBe(played);
    expect(replacementFor(id)?.note).toContain(`${id} runs as ${played}`);
  });

  test.each(environmentIds())('%s has no replacement', (id) => {
    expect(replacementFor(id)).toBeUndefined();
  });

  test.each([
    ['cartpole-v1', /did you mean `CartPole-v1`\?/],
    ['HalfCheetah-v6', /did you mean `HalfCheetah-v5`\?/],
    ['CartPole', /did you mean `CartPole-v1`\?/],
    ['MountainCarContinous-v0', /did you mean `MountainCarContinuous-v0`\?/],
    ['NoSuchThing-v1', /unknown environment[\s\S]*one of: CartPole-v0/],
    ['gymnasium:Ant-v5', /use openEnvironment and evaluate/],
    ['gym:CartPole-v1', /did you mean `CartPole-v1`\?/],
    ['text:cookin', /did you mean `text:cooking`\?/],
    ['LunarLander-v3', /hint: use gymnasium:LunarLander-v3 if/],
    ['LunarLander', /hint: use gymnasium:LunarLander if/],
    ['ALE/Pong-v5', /did you mean `Pong-v0`\? Otherwise, use gymnasium:ALE\/Pong-v5 if/],
    ['Walker3d-v5', /did you mean `Walker2d-v5`\? Otherwise, use gymnasium:Walker3d-v5 if/],
    ['Atari/Freeway', /use gymnasium:Atari\/Freeway/],
    ['constructor', /unknown environment/],
  ])('%j is rejected', async (id, message) => {
    await expect(makeEnvironment(id)).rejects.toThrow(UserError);
    await expect(makeEnvironment(id)).rejects.toThrow(message);
    expect(() => environmentInfo(id)).toThrow(message);
  });
});

describe('spaces', () => {
  test('of eight environments have the same bounds as in Gymnasium', async () => {
    const cartPole = await makeEnvironment('CartPole-v1');
    const { POSITIVE_INFINITY: infinity } = Number;
    expect(cartPole.observationSpace).toEqual({
      kind: 'box',
      low: [-4.800000190734863, -infinity, -0.41887903213500977, -infinity],
      high: [4.800000190734863, infinity, 0.41887903213500977, infinity],
    });
    expect((await makeEnvironment('MountainCar-v0')).observationSpace).toEqual({
      kind: 'box',
      low: [-1.2000000476837158, -0.07000000029802322],
      high: [0.6000000238418579, 0.07000000029802322],
    });
    expect((await makeEnvironment('Acrobot-v1')).observationSpace).toEqual({
      kind: 'box',
      low: [-1, -1, -1, -1, -12.566370964050293, -28.274333953857422],
      high: [1, 1, 1, 1, 12.566370964050293, 28.274333953857422],
    });
    expect((await makeEnvironment('Pendulum-v1')).actionSpace).toEqual({ kind: 'box', low: [-2], high: [2] });
    const hopper = await makeEnvironment('Hopper-v5', { exclude_current_positions_from_observation: false });
    expect(hopper.observationSpace).toEqual({
      kind: 'box',
      low: Array(12).fill(-infinity),
      high: Array(12).fill(infinity),
      dtype: 'float64',
    });
    const pendulum = await makeEnvironment('InvertedPendulum-v5');
    expect(pendulum.actionSpace).toEqual({ kind: 'box', low: [-3], high: [3] });
    expect((await makeEnvironment('Taxi-v4')).observationSpace).toEqual({ kind: 'discrete', n: 500 });
    expect((await makeEnvironment('Blackjack-v1')).observationSpace).toEqual({
      kind: 'tuple',
      spaces: [32, 11, 2].map((n) => ({ kind: 'discrete', n })),
    });
  });

  test('follow the size of the map in FrozenLake', async () => {
    const lake = await makeEnvironment('FrozenLake-v1', { desc: ['SFF', 'HFG'] });
    expect(lake.observationSpace).toEqual({ kind: 'discrete', n: 6 });
  });
});

describe('the end of an episode', () => {
  test('can be termination and truncation at once', async () => {
    const lake = await makeEnvironment('FrozenLake-v1', {
      desc: ['SFG'],
      is_slippery: false,
      max_episode_steps: 2,
    });
    lake.reset(0);
    lake.step(2);
    expect(lake.step(2)).toEqual({ observation: 2, reward: 1, terminated: true, truncated: true });
  });

  test('is termination in MountainCar only if goal_velocity is reached', async () => {
    const endings = [0, 0.08].map(async (goal_velocity) => {
      const car = await makeEnvironment('MountainCar-v0', { goal_velocity });
      let observation = car.reset(0) as readonly number[];
      for (;;) {
        const step = car.step(observation[1]! > 0 ? 2 : 0);
        observation = step.observation as readonly number[];
        if (step.terminated || step.truncated) return step.terminated;
      }
    });
    expect(await Promise.all(endings)).toEqual([true, false]);
  });
});
