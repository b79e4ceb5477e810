import type { RandomGenerator } from '../../src/base/random/generator.js';
import type { Action, Observation } from '../../src/environments/environment.js';

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

/** Apart, since a Python with Gymnasium may lack MuJoCo. */
export const mujocoScenarios: readonly Scenario[] = [
  // As long as 80 seeds agreed to within 1e-9; chaos takes over soon after.
  ...controls('HalfCheetah-v5', { max_episode_steps: 15 }, 6, 1.2),
  ...controls(
    'HalfCheetah-v5',
    {
      frame_skip: 2,
      forward_reward_weight: 2,
      ctrl_cost_weight: 0.5,
      reset_noise_scale: 0.2,
      exclude_current_positions_from_observation: false,
      max_episode_steps: 25,
    },
    6,
    1.2,
  ),
  ...controls('Hopper-v5', {}, 3, 1.5),
  ...controls(
    'Hopper-v5',
    {
      frame_skip: 3,
      ctrl_cost_weight: 0.2,
      healthy_reward: 2,
      terminate_when_unhealthy: false,
      healthy_state_range: [-4, 4],
      healthy_z_range: [1, 1.5],
      healthy_angle_range: [-0.1, 0.3],
      reset_noise_scale: 0.05,
      max_episode_steps: 40,
    },
    3,
    1.5,
  ),
  ...controls('Hopper-v5', { healthy_state_range: [-2, 3] }, 3, 1),
  ...controls('Walker2d-v5', {}, 6, 1.5),
  ...controls(
    'Walker2d-v5',
    {
      frame_skip: 2,
      forward_reward_weight: 3,
      ctrl_cost_weight: 0.1,
      healthy_reward: 0.5,
      healthy_z_range: [1.1, 1.8],
      healthy_angle_range: [-0.2, 0.3],
      reset_noise_scale: 0.02,
      exclude_current_positions_from_observation: false,
    },
    6,
    1,
  ),
  ...controls('Swimmer-v5', {}, 2, 1.5),
  ...controls(
    'Swimmer-v5',
    {
      frame_skip: 1,
      forward_reward_weight: 0.5,
      ctrl_cost_weight: 0.3,
      reset_noise_scale: 0.4,
      exclude_current_positions_from_observation: false,
    },
    2,
    1,
  ),
  ...controls('Reacher-v5', {}, 2, 1.5),
  ...controls('Reacher-v5', { frame_skip: 3, reward_dist_weight: 3, reward_control_weight: 0.7 }, 2, 1),
  ...controls('InvertedPendulum-v5', {}, 1, 4),
  ...controls('InvertedPendulum-v5', { frame_skip: 1, reset_noise_scale: 0.1 }, 1, 1),
  ...controls('InvertedDoublePendulum-v5', {}, 1, 1.5),
  ...controls(
    'InvertedDoublePendulum-v5',
    { frame_skip: 2, healthy_reward: 3, reset_noise_scale: 0.01 },
    1,
    1,
  ),
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

function continuous(env: string, kwargs: Scenario['kwargs'], style: string, act: Act): readonly Scenario[] {
  return inBothPrecisions(env, kwargs, style, (observation, random) => [act(toVector(observation), random)]);
}

/** Random controls of several actuators, within ±span. */
function controls(env: string, kwargs: Scenario['kwargs'], count: number, span: number): readonly Scenario[] {
  return inBothPrecisions(env, kwargs, 'random', (_, random) =>
    Array.from({ length: count }, () => random.uniform(-span, span)),
  );
}

/** Actions as float32 arrays hold them, and as float64 arrays do: NumPy computes differently with each. */
function inBothPrecisions(
  env: string,
  kwargs: Scenario['kwargs'],
  style: string,
  act: (observation: Observation, random: RandomGenerator) => readonly number[],
): readonly Scenario[] {
  return (['float32', 'float64'] as const).map((dtype) => ({
    env,
    kwargs,
    dtype,
    style: `${style}, ${dtype}`,
    act: (observation, random) => {
      const action = act(observation, random);
      return dtype === 'float32' ? action.map(Math.fround) : action;
    },
  }));
}

function toVector(observation: Observation): readonly number[] {
  return typeof observation === 'object' ? observation : [Number(observation)];
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
