/** Facts for an environment's description template, computed from its options and their defaults. */
import { toSnakeCase } from '../options.js';
import { randomMaze, sampleMaze } from '../props/maze.js';
import { frozenLakeMaps } from '../toy-text/grid-walks.js';

export type Facts = { readonly [name: string]: Fact };
type Fact = string | number | boolean | readonly Fact[] | Facts;

export type Options = Readonly<Record<string, unknown>>;

/** Returns the option's value, or `fallback` if it is absent or null. */
export const option = <T>(options: Options, name: string, fallback: T): T => (options[name] ?? fallback) as T;

/** Formats a number with at most four significant digits: 0.3333, 15, -0.05. */
export const formatShort = (value: number): string => formatSignificant(value, 4);

export function formatSignificant(value: number, digits: number): string {
  return String(Number(value.toPrecision(digits)) + 0);
}

function mazeFacts(options: Options, id: string): Facts {
  const { lines, width, height, start, goal } = id.startsWith('maze-random')
    ? randomMaze(id, {
        maze_seed: option(options, 'maze_seed', 0),
        loop_share: option(options, 'loop_share', 0),
      })
    : sampleMaze(id, { layout: option<readonly string[] | null>(options, 'layout', null) });
  return {
    lines: lines.map((text) => ({ text })),
    columns: width,
    rows: height,
    lastColumn: width - 1,
    lastRow: height - 1,
    start: { ...start },
    goal: { ...goal },
    stepCost: formatShort(0.1 / (width * height)),
  };
}

/** Facts about the MuJoCo environments, with the defaults and time steps of Gymnasium's models. */
const mujocoFacts: Readonly<Record<string, (options: Options) => Facts>> = {
  HalfCheetah: (options) => ({
    ...stepFacts(options, 0.01, 5),
    ...travelFacts(options, 0.1),
    ...noiseFacts(options, 0.1),
    ...jointFacts(options, ['x', 'z', 'pitch', ...legJoints('back', 'Shin'), ...legJoints('front', 'Shin')]),
  }),
  Hopper: (options) => ({
    ...stepFacts(options, 0.002, 4),
    ...travelFacts(options, 1e-3),
    ...healthFacts(options, [0.7, Number.POSITIVE_INFINITY], [-0.2, 0.2]),
    stateRange: rangeText('value', rangeOption(options, 'healthy_state_range', [-100, 100])),
    ...noiseFacts(options, 5e-3),
    ...jointFacts(options, ['x', 'z', 'pitch', 'thigh', 'leg', 'foot']),
  }),
  Walker2d: (options) => ({
    ...stepFacts(options, 0.002, 4),
    ...travelFacts(options, 1e-3),
    ...healthFacts(options, [0.8, 2], [-1, 1]),
    ...noiseFacts(options, 5e-3),
    ...jointFacts(options, ['x', 'z', 'pitch', ...legJoints('right', 'Leg'), ...legJoints('left', 'Leg')]),
  }),
  Swimmer: (options) => ({
    ...stepFacts(options, 0.01, 4),
    ...travelFacts(options, 1e-4),
    ...noiseFacts(options, 0.1),
    ...jointFacts(options, ['x', 'y', 'heading', 'frontJoint', 'backJoint'], 2),
  }),
  Reacher: (options) => ({
    ...stepFacts(options, 0.01, 2),
    distanceWeight: factorText(option(options, 'reward_dist_weight', 1)),
    controlWeight: factorText(option(options, 'reward_control_weight', 1)),
  }),
  InvertedPendulum: (options) => ({ ...stepFacts(options, 0.02, 2), ...noiseFacts(options, 0.01) }),
  InvertedDoublePendulum: (options) => {
    const reward = option(options, 'healthy_reward', 10);
    // Upright, at rest and centred, the tip is at 1.2, which costs (1.2 - 2)² = 0.64.
    const rewards = { healthyReward: formatShort(reward), mostReward: formatShort(reward - 0.64) };
    return { ...stepFacts(options, 0.01, 5), ...noiseFacts(options, 0.1), ...rewards };
  },
};

function stepFacts(options: Options, timeStep: number, frameSkip: number): Facts {
  return { stepSeconds: formatShort(timeStep * option(options, 'frame_skip', frameSkip)) };
}

function travelFacts(options: Options, controlWeight: number): Facts {
  return {
    forwardWeight: factorText(option(options, 'forward_reward_weight', 1)),
    controlWeight: factorText(option(options, 'ctrl_cost_weight', controlWeight)),
  };
}

function noiseFacts(options: Options, scale: number): Facts {
  return { noise: formatShort(option(options, 'reset_noise_scale', scale)) };
}

function healthFacts(options: Options, heights: Range, angles: Range): Facts {
  return {
    healthyReward: formatShort(option(options, 'healthy_reward', 1)),
    terminates: option(options, 'terminate_when_unhealthy', true),
    heightRange: rangeText('z', rangeOption(options, 'healthy_z_range', heights)),
    angleRange: rangeText('pitch', rangeOption(options, 'healthy_angle_range', angles)),
  };
}

/** Returns the indices of each joint's position (negative if hidden) and velocity in the observation. */
function jointFacts(options: Options, joints: readonly string[], hiddenByDefault = 1): Facts {
  const placesShown = !option(options, 'exclude_current_positions_from_observation', true);
  const hiddenCount = placesShown ? 0 : hiddenByDefault;
  const indicesFrom = (first: number) => Object.fromEntries(joints.map((joint, i) => [joint, first + i]));
  return { placesShown, at: indicesFrom(-hiddenCount), velocityAt: indicesFrom(joints.length - hiddenCount) };
}

function legJoints(side: string, lower: string): readonly string[] {
  return [`${side}Thigh`, `${side}${lower}`, `${side}Foot`];
}

type Range = readonly [number, number];

/** Reads a range option; null at either end means no bound. */
function rangeOption(options: Options, name: string, fallback: Range): Range {
  const [low, high] = option<readonly [number | null, number | null]>(options, name, fallback);
  return [low ?? Number.NEGATIVE_INFINITY, high ?? Number.POSITIVE_INFINITY];
}

/** Examples: `0.8 < z < 2`, `z > 0.7`. */
function rangeText(name: string, [low, high]: Range): string {
  if (low === Number.NEGATIVE_INFINITY && high === Number.POSITIVE_INFINITY) return `any ${name}`;
  if (high === Number.POSITIVE_INFINITY) return `${name} > ${formatShort(low)}`;
  if (low === Number.NEGATIVE_INFINITY) return `${name} < ${formatShort(high)}`;
  return `${formatShort(low)} < ${name} < ${formatShort(high)}`;
}

/** Formats a weight as a factor, followed by a multiplication sign; empty for 1. */
const factorText = (weight: number): string => (weight === 1 ? '' : `${formatShort(weight)} * `);

/** Returns the facts for an id such as `FrozenLake-v1` and valid options in snake_case or camelCase; may be empty. */
export function environmentFacts(id: string, options: Options): Facts {
  return entryFor(builtInFacts, id)?.(toSnakeCase(options), id) ?? {};
}

/** Finds the entry for the id without its version, or for the part before its first hyphen. */
export const entryFor = <T>(table: Readonly<Record<string, T>>, id: string): T | undefined =>
  table[environmentName(id)] ?? table[environmentFamily(id)];

/** Returns the id without its version: `CartPole` for `CartPole-v1`. */
export const environmentName = (id: string): string => id.replace(/-v\d+$/, '');

/** Returns the part before the first hyphen: `maze` for `maze-sample-3x3-v0`. */
export const environmentFamily = (id: string): string => id.split('-', 1)[0]!;

const builtInFacts: Readonly<Record<string, (options: Options, id: string) => Facts>> = {
  CartPole: (options) => ({ suttonBarto: option(options, 'sutton_barto_reward', false) }),
  MountainCar: carFacts,
  MountainCarContinuous: carFacts,
  Pendulum: (options) => {
    const g = option(options, 'g', 10);
    // Gravity accelerates a horizontal pendulum by 3g / 2l, the torque u by 3u / ml². With l = m = 1 and |u| ≤ 2, the
    // motor can't hold it if 1.5 g exceeds 6.
    return { g, gravity: formatShort(1.5 * g), weakMotor: Math.abs(1.5 * g) > 6 };
  },
  FrozenLake: lakeFacts,
  CliffWalking: (options) => ({ slippery: option(options, 'is_slippery', false) }),
  Taxi: (options) => {
    const straightProbability = option(options, 'rainy_probability', 0.8);
    return {
      rainy: option(options, 'is_rainy', false),
      straight: probabilityText(straightProbability),
      side: probabilityText((1 - straightProbability) / 2),
      fickle: option(options, 'fickle_passenger', false),
      fickleChance: probabilityText(option(options, 'fickle_probability', 0.3)),
    };
  },
  Blackjack: (options) => {
    const bookRules = option(options, 'sab', true);
    return { bookRules, naturalPays: !bookRules && option(options, 'natural', false) };
  },
  ...mujocoFacts,
  maze: mazeFacts,
};

function carFacts(options: Options): Facts {
  const goalVelocity = option(options, 'goal_velocity', 0);
  return { goalVelocity: formatShort(goalVelocity), anyGoalVelocity: goalVelocity === 0 };
}

function lakeFacts(options: Options): Facts {
  const namedMap = frozenLakeMaps[option<keyof typeof frozenLakeMaps>(options, 'map_name', '4x4')] ?? [];
  const map = option<readonly string[]>(options, 'desc', namedMap);
  const tiles = map.join('');
  const columns = map[0]?.length ?? 0;
  const statesOf = (letter: string) =>
    Array.from(tiles, (tile, state) => (tile === letter ? state : -1)).filter((state) => state >= 0);
  const successRate = option(options, 'success_rate', 1 / 3);
  const [goal = 1, hole = 0, frozen = 0] = option<readonly number[]>(options, 'reward_schedule', []);
  return {
    rows: map.map((row, number) => {
      const first = number * columns;
      return { number, tiles: [...row].join(' '), first, last: first + columns - 1 };
    }),
    rowCount: map.length,
    columns,
    starts: statesOf('S').join(', '),
    severalStarts: statesOf('S').length > 1,
    goals: statesOf('G').join(', '),
    holes: statesOf('H').join(', '),
    slippery: option(options, 'is_slippery', true),
    success: probabilityText(successRate),
    side: probabilityText((1 - successRate) / 2),
    rewards: { goal: formatShort(goal), hole: formatShort(hole), frozen: formatShort(frozen) },
  };
}

/** Formats a probability; thirds become fractions, because they have no exact decimal form. */
function probabilityText(value: number): string {
  const thirds = Math.round(3 * value);
  return thirds % 3 !== 0 && Math.abs(3 * value - thirds) < 1e-9 ? `${thirds}/3` : formatShort(value);
}
