import { describe, expect, test } from 'vitest';
import { UserError } from '../../src/base/errors.js';
import { environmentInfo, makeEnvironment } from '../../src/environments/catalogue/open.js';

async function problemsOf(id: string, options: unknown): Promise<UserError['problems']> {
  const error = await makeEnvironment(id, options as Record<string, unknown>).catch(
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(UserError);
  return (error as UserError).problems;
}

describe('options', () => {
  test('of FrozenLake and Taxi have the same names as in Gymnasium', () => {
    expect(environmentInfo('FrozenLake-v1').options).toEqual(
      'desc map_name is_slippery success_rate reward_schedule max_episode_steps'.split(' '),
    );
    expect(environmentInfo('Taxi-v4').options).toEqual(
      'is_rainy fickle_passenger rainy_probability fickle_probability max_episode_steps'.split(' '),
    );
  });

  test('can be written in camelCase', async () => {
    const snake = await makeEnvironment('FrozenLake-v1', {
      map_name: '8x8',
      is_slippery: false,
      max_episode_steps: 9,
    });
    const camel = await makeEnvironment('FrozenLake-v1', {
      mapName: '8x8',
      isSlippery: false,
      maxEpisodeSteps: 9,
    });
    expect(camel.observationSpace).toEqual(snake.observationSpace);
    expect(camel.maxSteps).toBe(9);
    camel.reset(3);
    expect(camel.step(2).observation).toBe(1);
  });

  test('null means the default where Gymnasium accepts None', async () => {
    const lake = await makeEnvironment('FrozenLake-v1', { desc: null, max_episode_steps: null });
    expect(lake.observationSpace).toEqual({ kind: 'discrete', n: 16 });
    expect(lake.maxSteps).toBe(100);
    const custom = await makeEnvironment('FrozenLake-v1', { desc: ['SG'], map_name: null });
    expect(custom.observationSpace).toEqual({ kind: 'discrete', n: 2 });
  });

  test('a custom map overrides map_name', async () => {
    const lake = await makeEnvironment('FrozenLake-v1', { desc: ['SG'], map_name: '8x8' });
    expect(lake.observationSpace).toEqual({ kind: 'discrete', n: 2 });
  });

  test('an error for an unknown name suggests the closest one and lists others', async () => {
    const [problem] = await problemsOf('FrozenLake-v1', { isSlipery: true });
    expect(problem).toMatchObject({ field: 'isSlipery', near: 'is_slippery' });
    expect(problem!.alternatives).toContain('success_rate');
  });

  test('an option of another environment is unknown', async () => {
    const [problem] = await problemsOf('CartPole-v1', { is_slippery: true });
    expect(problem!.message).toBe('unknown option of CartPole-v1');
  });

  test('all problems are reported at once', async () => {
    const problems = await problemsOf('FrozenLake-v1', {
      nonsense: 1,
      map_name: '5x5',
      is_slippery: 'false',
      success_rate: 2,
      reward_schedule: [1, 2],
      max_episode_steps: 0,
    });
    expect(problems.map(({ field }) => field)).toEqual(
      'nonsense map_name is_slippery success_rate reward_schedule max_episode_steps'.split(' '),
    );
    expect(problems[2]).toMatchObject({ value: 'false' });
  });

  test.each([
    ['CartPole-v1', { sutton_barto_reward: 1 }, 'sutton_barto_reward'],
    ['Pendulum-v1', { g: '9.8' }, 'g'],
    ['Pendulum-v1', { g: Number.NaN }, 'g'],
    ['MountainCar-v0', { goal_velocity: Number.POSITIVE_INFINITY }, 'goal_velocity'],
    ['Taxi-v4', { rainy_probability: -0.1 }, 'rainy_probability'],
    ['Blackjack-v1', { natural: null }, 'natural'],
    ['CartPole-v1', { max_episode_steps: 1.5 }, 'max_episode_steps'],
    ['CartPole-v1', { max_episode_steps: -2 }, 'max_episode_steps'],
    ['CartPole-v1', { max_episode_steps: '10' }, 'max_episode_steps'],
    ['CartPole-v1', { max_episode_steps: 5, maxEpisodeSteps: 6 }, 'maxEpisodeSteps'],
    ['FrozenLake-v1', { desc: [] }, 'desc'],
    ['FrozenLake-v1', { desc: 'SFFG' }, 'desc'],
    ['FrozenLake-v1', { desc: ['SF', 'F'] }, 'desc'],
    ['FrozenLake-v1', { desc: ['SX'] }, 'desc.0'],
    ['FrozenLake-v1', { desc: ['FG'] }, 'desc'],
    ['FrozenLake-v1', { map_name: null }, 'map_name'],
  ])('%s %o is rejected', async (id, options, field) => {
    expect((await problemsOf(id, options)).map((problem) => problem.field)).toEqual([field]);
  });
});

describe('invalid actions', () => {
  test.each([
    ['Pendulum-v1', 0.5, /is not an action of Pendulum-v1; expected an array of 1 finite number/],
    ['Pendulum-v1', [Number.NaN], /\[ ?NaN ?\]/],
    ['CartPole-v1', 2, /is not an action of CartPole-v1; expected an integer from 0 to 1/],
  ])('in %s cause an error with an explanation: %o', async (id, action, message) => {
    const environment = await makeEnvironment(id);
    environment.reset(0);
    expect(() => environment.step(action)).toThrow(message);
  });
});
