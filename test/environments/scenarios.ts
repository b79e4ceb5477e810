import type { Action, Observation } from '../../src/environments/environment.js';
import type { RandomGenerator } from '../../src/random.js';

/** An environment with options, and a way of acting that gets about in it. */
export interface Scenario {
  readonly env: string;
  readonly kwargs: Readonly<Record<string, unknown>>;
  /** What array Python takes the action as; null for a discrete action. */
  readonly dtype: 'float32' | 'float64' | null;
  readonly style: string;
  act(observation: Observation, random: RandomGenerator): Action;
  /** Steps of an episode that can be compared; chaos makes later ones differ. */
  readonly comparable?: number;
}

type Act = (vector: readonly number[], random: RandomGenerator) => number;

const lake = ['SFFHFSFG', 'FHFFFFFH', 'FFSFHFFF'];
const stands = [0, 4, 20, 23];

const uniform = (n: number) => (_: unknown, random: RandomGenerator) => random.integers(0, n);
const often = (act: Act, n: number) => (vector: readonly number[], random: RandomGenerator) =>
  random.random() < 0.9 ? act(vector, random) : random.integers(0, n);

export const scenarios: readonly Scenario[] = [
  discrete('CartPole-v1', {}, 'random', uniform(2)),
  discrete('CartPole-v1', {}, 'balancing', often(balance, 2)),
  discrete('CartPole-v0', { sutton_barto_reward: true }, 'balancing', balance),
  discrete('MountainCar-v0', {}, 'random', uniform(3)),
  discrete('MountainCar-v0', { goal_velocity: 0.03 }, 'pushing', ([, v]) => (v! > 0 ? 2 : 0)),
  ...continuous('MountainCarContinuous-v0', {}, 'random', (_, random) => random.uniform(-1.6, 1.6)),
  ...continuous('MountainCarContinuous-v0', { goal_velocity: 0.05 }, 'pushing', ([, v], random) =>
    v! > 0 ? random.uniform(0, 1.5) : -random.uniform(0, 1.5),
  ),
  ...continuous('Pendulum-v1', {}, 'random', (_, random) => random.uniform(-2, 2)),
  ...continuous('Pendulum-v1', { g: 9.81 }, 'beyond bounds', (_, random) => random.uniform(-5, 5)),
  { ...discrete('Acrobot-v1', {}, 'random', uniform(3)), comparable: 100 },
  { ...discrete('Acrobot-v1', {}, 'pumping', (o) => (o[4]! < 0 ? 2 : 0)), comparable: 100 },
  discrete('FrozenLake-v1', {}, 'random', uniform(4)),
  discrete('FrozenLake-v1', { map_name: '8x8', is_slippery: false }, 'random', uniform(4)),
  discrete('FrozenLake-v1', { map_name: '8x8', success_rate: 0.8 }, 'random', uniform(4)),
  discrete('FrozenLake-v1', { desc: lake, reward_schedule: [5, -3, -0.25] }, 'random', uniform(4)),
  discrete('FrozenLake-v1', { desc: lake, max_episode_steps: 7 }, 'random', uniform(4)),
  discrete('CliffWalking-v1', {}, 'random', uniform(4)),
  discrete(
    'CliffWalking-v1',
    { is_slippery: true },
    'eastward',
    often(() => 1, 4),
  ),
  discrete('CliffWalking-v1', { is_slippery: true, max_episode_steps: 50 }, 'random', uniform(4)),
  discrete('Taxi-v4', {}, 'random', uniform(6)),
  discrete('Taxi-v4', {}, 'driving', often(drive, 6)),
  discrete('Taxi-v4', { is_rainy: true }, 'driving', often(drive, 6)),
  discrete('Taxi-v4', { fickle_passenger: true }, 'driving', often(drive, 6)),
  discrete(
    'Taxi-v4',
    { is_rainy: true, fickle_passenger: true, rainy_probability: 0.55, fickle_probability: 0.9 },
    'driving',
    often(drive, 6),
  ),
  discrete('Blackjack-v1', {}, 'random', uniform(2)),
  discrete('Blackjack-v1', {}, 'careful', ([sum]) => (sum! < 17 ? 1 : 0)),
  discrete('Blackjack-v1', { natural: true, sab: false }, 'careful', ([sum]) => (sum! < 17 ? 1 : 0)),
  discrete('Blackjack-v1', { natural: true }, 'sticking', () => 0),
];

function discrete(env: string, kwargs: Scenario['kwargs'], style: string, act: Act): Scenario {
  return {
    env,
    kwargs,
    dtype: null,
    style,
    act: (observation, random) => act(toVector(observation), random),
  };
}

/** Actions as float32 arrays hold them, and as float64 arrays do: NumPy computes differently with each. */
function continuous(env: string, kwargs: Scenario['kwargs'], style: string, act: Act): readonly Scenario[] {
  return (['float32', 'float64'] as const).map((dtype) => ({
    env,
    kwargs,
    dtype,
    style: `${style}, ${dtype}`,
    act: (observation, random) => {
      const action = act(toVector(observation), random);
      return [dtype === 'float32' ? Math.fround(action) : action];
    },
  }));
}

function toVector(observation: Observation): readonly number[] {
  return typeof observation === 'number' ? [observation] : observation;
}

function balance([x, xDot, angle, angleDot]: readonly number[]): number {
  return angle! + 0.5 * angleDot! + 0.05 * x! + 0.1 * xDot! > 0 ? 1 : 0;
}

/** Drives towards the passenger, then towards the destination; walls are got round by the random moves. */
function drive([state]: readonly number[], random: RandomGenerator): number {
  const place = Math.floor(state! / 20);
  const passenger = Math.floor(state! / 4) % 5;
  const goal = stands[passenger === 4 ? state! % 4 : passenger]!;
  const [down, right] = [Math.floor(goal / 5) - Math.floor(place / 5), (goal % 5) - (place % 5)];
  if (down === 0 && right === 0) return passenger === 4 ? 5 : 4;
  if (Math.floor(place / 5) !== 2 && random.random() < 0.3) return random.integers(0, 4);
  return right === 0 || (down !== 0 && random.random() < 0.5) ? (down > 0 ? 0 : 1) : right > 0 ? 2 : 3;
}
