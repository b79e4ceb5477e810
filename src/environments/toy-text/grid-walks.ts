/** Walks over a grid of tiles: FrozenLake and CliffWalking. */
import { z } from 'zod';
import { Grid } from '../grid.js';
import { startDistribution, type TabularOutcome, TabularTask } from './tabular-task.js';

const cliffGrid = new Grid(4, 12);
const [cliffStart, cliffGoal] = [36, 47];

/**
 * A walk along a cliff (Sutton and Barto, example 6.6): each step costs 1; falling off costs 100 and leads back to the
 * start. Observation: row · 12 + column. Action: 0 up, 1 right, 2 down, 3 left. On slippery ground, the
 * chosen direction and the two perpendicular ones each have probability 1/3.
 */
export function cliffWalking(options: { readonly is_slippery: boolean }): TabularTask {
  const cliff = Array.from({ length: cliffGoal - cliffStart - 1 }, (_, i) => cliffStart + 1 + i);
  const outcomeOf = (state: number, direction: number, probability: number): TabularOutcome => {
    const next = cliffGrid.move(state, direction);
    return cliff.includes(next)
      ? { probability, state: cliffStart, reward: -100, terminated: false }
      : { probability, state: next, reward: -1, terminated: next === cliffGoal };
  };
  return new TabularTask({
    stateCount: cliffGrid.size,
    actionCount: 4,
    startProbabilities: startDistribution(cliffStart, cliffGrid.size),
    outcomes: (state, action) =>
      options.is_slippery
        ? [3, 0, 1].map((turn) => outcomeOf(state, action + turn, 1 / 3))
        : [outcomeOf(state, action, 1)],
    draw: (state) => ({
      view: cliffGrid.view,
      shapes: [
        ...cliff.map((place) => cliffGrid.tile(place, 'danger')),
        cliffGrid.tile(cliffGoal, 'goal', 0.08),
        ...cliffGrid.lines,
        cliffGrid.text(cliffStart, 'S', 'guide'),
        cliffGrid.token(state, 'agent'),
      ],
    }),
  });
}

/** The two maps that come with Gymnasium. S: start, F: frozen, H: hole, G: goal. */
export const frozenLakeMaps = {
  '4x4': ['SFFF', 'FHFH', 'FFFH', 'HFFG'],
  '8x8': ['SFFFFFFF', 'FFFFFFFF', 'FFFHFFFF', 'FFFFFHFF', 'FFFHFFFF', 'FHHFFFHF', 'FHFFHFHF', 'FFFHFFFG'],
} as const;

const rate = z.number().min(0).max(1);

const mapSchema = z
  .array(z.string().regex(/^[SFHG]+$/, 'must consist of S (start), F (frozen), H (hole) and G (goal)'))
  .refine((rows) => rows.join('').includes('S'), 'must contain an S')
  .refine((rows) => rows.every(({ length }) => length === rows[0]!.length), 'must have rows of equal length');

const frozenLakeSchema = z.strictObject({
  /** Replaces `map_name`. */
  desc: mapSchema.nullish(),
  map_name: z.enum(['4x4', '8x8']).nullable().default('4x4'),
  is_slippery: z.boolean().default(true),
  /** Probability of moving in the chosen direction on slippery ice; the two perpendicular directions share the rest. */
  success_rate: rate.default(1 / 3),
  /** Rewards for reaching the goal, a hole, and any other tile. */
  reward_schedule: z.tuple([z.number(), z.number(), z.number()]).default([1, 0, 0]),
});

export const frozenLakeOptions = frozenLakeSchema.refine(({ desc, map_name }) => map_name !== null || desc, {
  path: ['map_name'],
  message: 'random maps are not supported, because runs must be reproducible; set desc',
});
type FrozenLakeOptions = z.output<typeof frozenLakeOptions>;

/**
 * A walk across a frozen lake to the goal, past holes that end the episode. Observation: row · columns + column.
 * Action: 0 left, 1 down, 2 right, 3 up.
 */
export function frozenLake(options: FrozenLakeOptions): TabularTask {
  const map = options.desc ?? frozenLakeMaps[options.map_name!];
  const grid = new Grid(map.length, map[0]!.length);
  const [goalReward, holeReward, frozenReward] = options.reward_schedule;
  const tiles = [...map.join('')];
  const startCount = tiles.filter((tile) => tile === 'S').length;
  const failRate = (1 - options.success_rate) / 2;
  const outcomeOf = (state: number, action: number, probability: number): TabularOutcome => {
    // Actions are numbered anticlockwise, starting with left.
    const next = grid.move(state, 3 + 3 * action);
    const tile = tiles[next];
    const reward = tile === 'G' ? goalReward : tile === 'H' ? holeReward : frozenReward;
    return { probability, state: next, reward, terminated: tile === 'G' || tile === 'H' };
  };
  return new TabularTask({
    stateCount: grid.size,
    actionCount: 4,
    startProbabilities: tiles.map((tile) => (tile === 'S' ? 1 / startCount : 0)),
    outcomes: (state, action) =>
      options.is_slippery
        ? [
            outcomeOf(state, action + 3, failRate),
            outcomeOf(state, action, options.success_rate),
            outcomeOf(state, action + 1, failRate),
          ]
        : [outcomeOf(state, action, 1)],
    draw: (state) => ({
      view: grid.view,
      shapes: [
        ...grid.lines,
        ...tiles.flatMap((letter, place) => {
          if (letter === 'S') return [grid.text(place, 'S', 'guide')];
          if (letter === 'H') return [grid.token(place, 'danger', 0.4)];
          return letter === 'G' ? [grid.tile(place, 'goal', 0.08)] : [];
        }),
        grid.token(state, 'agent', 0.22),
      ],
    }),
  });
}
