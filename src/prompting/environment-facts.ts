/**
 * What the description of an environment has to know of its options, as plain data for its template: every fact is
 * there whatever the options are, so that a template can be checked when it is loaded.
 */

import { type Facts, type Options, option, short } from './fact-values.js';
import { mazeFacts } from './maze-facts.js';
import { mujocoFacts } from './mujoco-facts.js';

/**
 * @param id of the environment, e.g. `FrozenLake-v1`
 * @param options as the environment takes them (already checked by it), in snake_case or camelCase
 */
export function environmentFacts(id: string, options: Options): Facts {
  const facts = factsOf[environmentName(id)] ?? factsOf[environmentFamily(id)];
  return facts?.(snakeCased(options), id) ?? {};
}

/** The id without its version: `CartPole` for `CartPole-v1`. */
export function environmentName(id: string): string {
  return id.replace(/-v\d+$/, '');
}

/** What comes before the first hyphen: `maze` for `maze-sample-3x3-v0`. */
export function environmentFamily(id: string): string {
  return id.replace(/-.*$/, '');
}

const factsOf: Readonly<Record<string, (options: Options, id: string) => Facts>> = {
  CartPole: (options) => ({ suttonBarto: option(options, 'sutton_barto_reward', false) }),
  MountainCar: carFacts,
  MountainCarContinuous: carFacts,
  Pendulum: (options) => {
    const g = option(options, 'g', 10);
    // 3 g / 2l against 3 u / ml² with l = m = 1 and |u| ≤ 2: beyond 6 the motor can't hold the pendulum sideways.
    return { g, gravity: short(1.5 * g), weakMotor: Math.abs(1.5 * g) > 6 };
  },
  FrozenLake: lakeFacts,
  CliffWalking: (options) => ({ slippery: option(options, 'is_slippery', false) }),
  Taxi: (options) => {
    const straight = option(options, 'rainy_probability', 0.8);
    return {
      rainy: option(options, 'is_rainy', false),
      straight: probability(straight),
      side: probability((1 - straight) / 2),
      fickle: option(options, 'fickle_passenger', false),
      fickleChance: probability(option(options, 'fickle_probability', 0.3)),
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
  return { goalVelocity: short(goalVelocity), anyGoalVelocity: goalVelocity === 0 };
}

/** Gymnasium's named maps. */
const lakes: Readonly<Record<string, readonly string[]>> = {
  '4x4': ['SFFF', 'FHFH', 'FFFH', 'HFFG'],
  '8x8': ['SFFFFFFF', 'FFFFFFFF', 'FFFHFFFF', 'FFFFFHFF', 'FFFHFFFF', 'FHHFFFHF', 'FHFFHFHF', 'FFFHFFFG'],
};

function lakeFacts(options: Options): Facts {
  const map = option<readonly string[]>(options, 'desc', lakes[option(options, 'map_name', '4x4')] ?? []);
  const tiles = map.join('');
  const columns = map[0]?.length ?? 0;
  const statesOf = (letter: string) =>
    Array.from(tiles, (tile, state) => (tile === letter ? state : -1)).filter((state) => state >= 0);
  const successRate = option(options, 'success_rate', 1 / 3);
  const [goal = 1, hole = 0, frozen = 0] = option<readonly number[]>(options, 'reward_schedule', []);
  return {
    rows: map.map((row, i) => ({
      number: i,
      tiles: [...row].join(' '),
      first: i * columns,
      last: (i + 1) * columns - 1,
    })),
    rowCount: map.length,
    columns,
    starts: statesOf('S').join(', '),
    severalStarts: statesOf('S').length > 1,
    goals: statesOf('G').join(', '),
    holes: statesOf('H').join(', '),
    slippery: option(options, 'is_slippery', true),
    success: probability(successRate),
    side: probability((1 - successRate) / 2),
    rewards: { goal: short(goal), hole: short(hole), frozen: short(frozen) },
  };
}

export function snakeCased(options: Options): Options {
  return Object.fromEntries(
    Object.entries(options).map(([name, value]) => [
      name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      value,
    ]),
  );
}

/** Thirds as fractions, since no decimal number is one. */
function probability(value: number): string {
  const thirds = Math.round(3 * value);
  return thirds % 3 !== 0 && Math.abs(3 * value - thirds) < 1e-9 ? `${thirds}/3` : short(value);
}
