import type { RandomGenerator } from '../../random/generator.js';
import type { Frame } from '../frame.js';
import { gridLines, gridView, moveOnGrid, tile, token } from '../grid.js';
import { TabularTask } from '../toy-text/tabular-task.js';
import { drawShare } from './calibration.js';
import { chance, type Draw, integerBetween, logUniform, permutation } from './distributions.js';
import { chooseGoal, type Move, type Walk } from './random-tables.js';

type Tile = 'floor' | 'wall' | 'hole' | 'cliff';

interface Map {
  readonly rows: number;
  readonly columns: number;
  readonly start: number;
  readonly tiles: readonly Tile[];
}

/** Row and column steps of the four directions, clockwise. */
const directions = [
  [-1, 0],
  [0, 1],
  [1, 0],
  [0, -1],
] as const;

/**
 * A walk over a random map to a goal, chosen so that the target share of random tables reaches it. Holes end
 * an episode, cliffs lead back to the start at a cost, walls block the way. The mapping of actions to
 * directions is also drawn. Observation: row · columns + column.
 */
export const drawGrid: Draw<{ readonly rows?: number | undefined; readonly columns?: number | undefined }> = (
  random,
  options,
) => {
  const rows = options.rows ?? integerBetween(random, 3, 6);
  const columns = options.columns ?? integerBetween(random, 3, Math.min(8, Math.floor(48 / rows)));
  const pays = chance(random, 0.5);
  const map = drawMap(random, rows, columns, pays ? 'hole' : 'cliff');
  const slip = chance(random, 0.5) ? 0 : logUniform(random, 0.05, 2 / 3);
  const walk = walkOver(map, slip, permutation(random, 4));
  const states = rows * columns;
  const maxSteps = Math.min(150, Math.max(20, Math.round(states * random.uniform(1.5, 5))));
  const goal = chooseGoal(walk, random, { wanted: drawShare(random), steps: maxSteps });
  if (goal === undefined) return undefined;
  const fall = pays ? (chance(random, 0.3) ? -random.uniform(0, 1) : 0) : -logUniform(random, 5, 100);
  const [stepReward, goalReward] = pays ? [0, 1] : [-1, chance(random, 0.5) ? -1 : 0];
  const task = new TabularTask({
    states,
    actions: directions.length,
    initial: Array.from({ length: states }, (_, state) => (state === map.start ? 1 : 0)),
    outcomes: (state, action) =>
      walk.moves(state, action).map(({ probability, state: next }) => {
        const outcome = { probability, state: next, terminated: next === goal || walk.ends(next) };
        if (next === goal) return { ...outcome, reward: goalReward };
        if (map.tiles[next] === 'hole') return { ...outcome, reward: fall };
        if (map.tiles[next] === 'cliff') return { ...outcome, state: map.start, reward: fall };
        return { ...outcome, reward: stepReward };
      }),
    draw: (state) => drawMapWith(map, goal, state),
  });
  return { task, maxSteps };
};

function drawMap(random: RandomGenerator, rows: number, columns: number, danger: Tile): Map {
  const states = rows * columns;
  const start = random.integers(0, states);
  const dangerShare = logUniform(random, 0.05, 0.3);
  const wallShare = chance(random, 0.5) ? 0 : logUniform(random, 0.05, 0.3);
  const tiles = Array.from({ length: states }, (_, state): Tile => {
    const draw = random.random();
    if (state === start) return 'floor';
    return draw < dangerShare ? danger : draw < dangerShare + wallShare ? 'wall' : 'floor';
  });
  return { rows, columns, start, tiles };
}

/** The two perpendicular directions share the slip probability. Every action on a cliff leads to the start. */
function walkOver(map: Map, slip: number, order: readonly number[]): Walk {
  const { rows, columns, start, tiles } = map;
  const next = (state: number, direction: number): number => {
    if (tiles[state] === 'cliff') return start;
    const target = moveOnGrid(state, directions[direction % 4]!, rows, columns);
    return tiles[target] === 'wall' ? state : target;
  };
  return {
    states: rows * columns,
    actions: directions.length,
    start,
    moves(state, action): readonly Move[] {
      const direction = order[action]!;
      if (slip === 0) return [{ probability: 1, state: next(state, direction) }];
      return [
        { probability: 1 - slip, state: next(state, direction) },
        { probability: slip / 2, state: next(state, direction + 1) },
        { probability: slip / 2, state: next(state, direction + 3) },
      ];
    },
    ends: (state) => tiles[state] === 'hole',
  };
}

function drawMapWith({ rows, columns, tiles }: Map, goal: number, state: number): Frame {
  const [row, column] = [Math.floor(state / columns), state % columns];
  return {
    view: gridView(rows, columns),
    shapes: [
      ...gridLines(rows, columns),
      ...tiles.flatMap((kind, place) => {
        const [y, x] = [Math.floor(place / columns), place % columns];
        if (place === goal) return [tile(y, x, 'goal', 0.08)];
        if (kind === 'floor') return [];
        return [tile(y, x, kind === 'wall' ? 'ground' : 'danger')];
      }),
      token(row, column, 'agent', 0.22),
    ],
  };
}
