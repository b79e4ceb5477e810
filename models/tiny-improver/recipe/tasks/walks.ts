/** Random finite decision processes: on a ring of states, or over a map. */

import type { RandomGenerator } from '../../../../src/base/random/generator.js';
import { Grid } from '../../../../src/environments/grid.js';
import { startDistribution, TabularTask } from '../../../../src/environments/toy-text/tabular-task.js';
import { drawShare, policiesFor } from './controlled-task.js';
import { chance, type Draw, integerBetween, logUniform, permutation } from './distributions.js';

/** No pictures. */
const nothing = () => ({ view: { min: [0, 0], max: [1, 1] }, shapes: [] }) as const;

interface Move {
  readonly probability: number;
  readonly state: number;
}

/** A finite decision process without rewards. */
interface Walk {
  readonly states: number;
  readonly actions: number;
  readonly start: number;
  moves(state: number, action: number): readonly Move[];
  /** True if the episode fails and ends in this state. */
  ends(state: number): boolean;
}

/** A goal is trivial if more than this share of random policies reaches it. */
const trivial = 0.6;

/** For each state, the share of random policies (tables) that visit it within one episode of `steps` steps. */
function visitShares(
  walk: Walk,
  random: RandomGenerator,
  { tables, steps }: { readonly tables: number; readonly steps: number },
): Float64Array {
  const moves = Array.from({ length: walk.states * walk.actions }, (_, i) =>
    walk.moves(Math.floor(i / walk.actions), i % walk.actions),
  );
  const shares = new Float64Array(walk.states);
  const table = new Int32Array(walk.states);
  const seenIn = new Int32Array(walk.states).fill(-1);
  for (let n = 0; n < tables; n++) {
    for (let state = 0; state < walk.states; state++) table[state] = random.integers(0, walk.actions);
    let state = walk.start;
    for (let step = 0; step < steps && !walk.ends(state); step++) {
      state = drawMove(moves[state * walk.actions + table[state]!]!, random);
      if (seenIn[state] === n) continue;
      seenIn[state] = n;
      shares[state]! += 1 / tables;
    }
  }
  return shares;
}

function drawMove(moves: readonly Move[], random: RandomGenerator): number {
  if (moves.length === 1) return moves[0]!.state;
  let left = random.random();
  for (const { probability, state } of moves) {
    left -= probability;
    if (left < 0) return state;
  }
  return moves[0]!.state;
}

/** Chooses as goal the state whose visit share is nearest to `wanted` on a log scale; undefined if none qualifies. */
function chooseGoal(
  walk: Walk,
  random: RandomGenerator,
  { wanted, steps }: { readonly wanted: number; readonly steps: number },
): number | undefined {
  const tables = policiesFor(wanted);
  const shares = visitShares(walk, random, { tables, steps });
  // A state that only one policy visits may have been reached by luck.
  const hopeless = 1.5 / tables;
  let goal: number | undefined;
  let nearest = Number.POSITIVE_INFINITY;
  for (let state = 0; state < walk.states; state++) {
    if (state === walk.start || walk.ends(state) || shares[state]! < hopeless || shares[state]! > trivial)
      continue;
    const distance = Math.abs(Math.log(shares[state]! / wanted));
    if (distance < nearest) [goal, nearest] = [state, distance];
  }
  return goal;
}

/** A random finite decision process, with dense rewards or a goal that the target share of random policies reaches. */
export const drawDecisionProcess: Draw = (random) => {
  const stateCount = Math.floor(chance(random, 0.1) ? logUniform(random, 24, 49) : logUniform(random, 4, 25));
  const actions = integerBetween(random, 2, 4);
  const maxSteps = 10 * integerBetween(random, 2, 10);
  const kind = random.choice(['dense', 'goal', 'cliff'] as const);
  const walk = drawWalk(random, stateCount, actions, kind === 'cliff');
  const dense = kind === 'dense' ? drawRewards(random, stateCount * actions) : undefined;
  const goal = dense ? undefined : chooseGoal(walk, random, { wanted: drawShare(random), steps: maxSteps });
  if (dense === undefined && goal === undefined) return undefined;
  const pays = dense !== undefined || !chance(random, 0.5);
  const fall = dense ? 0 : pays ? -random.uniform(0, 1) : -logUniform(random, 10, 100);
  const rewardOf = (state: number) => {
    if (state === goal) return pays ? 1 : 0;
    return walk.ends(state) ? fall : pays ? 0 : -1;
  };
  const task = new TabularTask({
    stateCount,
    actionCount: actions,
    startProbabilities: startDistribution(walk.start, stateCount),
    outcomes: (state, action) =>
      walk.moves(state, action).map((move) => ({
        ...move,
        reward: dense ? dense[state * actions + action]! : rewardOf(move.state),
        terminated: move.state === goal || walk.ends(move.state),
      })),
    draw: nothing,
  });
  return { task, maxSteps };
};

function drawRewards(random: RandomGenerator, count: number): Float64Array {
  const scale = logUniform(random, 0.1, 10);
  return Float64Array.from({ length: count }, () => scale * random.normal());
}

/** Each action leads to one to three states, usually close on a ring, so that some states are far from the start. */
function drawWalk(random: RandomGenerator, states: number, actions: number, bad: boolean): Walk {
  const order = permutation(random, states);
  const place = new Int32Array(states);
  for (let i = 0; i < states; i++) place[order[i]!] = i;
  const farShare = chance(random, 0.5) ? 0 : logUniform(random, 0.02, 1);
  const slip = chance(random, 0.5) ? 0 : logUniform(random, 0.05, 0.6);
  const radius = integerBetween(random, 1, Math.min(3, states - 1));
  const target = (state: number): number => {
    if (chance(random, farShare)) return random.integers(0, states);
    const step = integerBetween(random, -radius, radius);
    return order[(place[state]! + step + states) % states]!;
  };
  const table: readonly Move[][] = Array.from({ length: states * actions }, (_, i) => {
    const state = Math.floor(i / actions);
    const main = { probability: 1 - slip, state: target(state) };
    if (slip === 0) return [main];
    const others = integerBetween(random, 1, 2);
    return [
      main,
      ...Array.from({ length: others }, () => ({ probability: slip / others, state: target(state) })),
    ];
  });
  const start = order[0]!;
  const badShare = bad ? logUniform(random, 0.05, 0.35) : 0;
  const ends = Array.from({ length: states }, (_, state) => state !== start && chance(random, badShare));
  return {
    states,
    actions,
    start,
    moves: (state, action) => table[state * actions + action]!,
    ends: (state) => ends[state]!,
  };
}

type Tile = 'floor' | 'wall' | 'hole' | 'cliff';

interface GridMap {
  readonly grid: Grid;
  readonly start: number;
  readonly tiles: readonly Tile[];
}

/** A walk over a random map to a goal. Holes end the episode; cliffs lead back at a cost. Observation: tile. */
export const drawGrid: Draw = (random) => {
  const rows = integerBetween(random, 3, 6);
  const columns = integerBetween(random, 3, Math.min(8, Math.floor(48 / rows)));
  const pays = chance(random, 0.5);
  const grid = new Grid(rows, columns);
  const map = drawMap(random, grid, pays ? 'hole' : 'cliff');
  const slip = chance(random, 0.5) ? 0 : logUniform(random, 0.05, 2 / 3);
  const walk = walkOver(map, slip, permutation(random, 4));
  const stateCount = grid.size;
  const maxSteps = Math.min(150, Math.max(20, Math.round(stateCount * random.uniform(1.5, 5))));
  const goal = chooseGoal(walk, random, { wanted: drawShare(random), steps: maxSteps });
  if (goal === undefined) return undefined;
  const fall = pays ? (chance(random, 0.3) ? -random.uniform(0, 1) : 0) : -logUniform(random, 5, 100);
  const [stepReward, goalReward] = pays ? [0, 1] : [-1, chance(random, 0.5) ? -1 : 0];
  const task = new TabularTask({
    stateCount,
    actionCount: 4,
    startProbabilities: startDistribution(map.start, stateCount),
    outcomes: (state, action) =>
      walk.moves(state, action).map(({ probability, state: next }) => {
        const outcome = { probability, state: next, terminated: next === goal || walk.ends(next) };
        if (next === goal) return { ...outcome, reward: goalReward };
        if (map.tiles[next] === 'hole') return { ...outcome, reward: fall };
        if (map.tiles[next] === 'cliff') return { ...outcome, state: map.start, reward: fall };
        return { ...outcome, reward: stepReward };
      }),
    draw: nothing,
  });
  return { task, maxSteps };
};

function drawMap(random: RandomGenerator, grid: Grid, danger: Tile): GridMap {
  const start = random.integers(0, grid.size);
  const dangerShare = logUniform(random, 0.05, 0.3);
  const wallShare = chance(random, 0.5) ? 0 : logUniform(random, 0.05, 0.3);
  const tiles = Array.from({ length: grid.size }, (_, state): Tile => {
    const draw = random.random();
    if (state === start) return 'floor';
    return draw < dangerShare ? danger : draw < dangerShare + wallShare ? 'wall' : 'floor';
  });
  return { grid, start, tiles };
}

/** A walk over a map. The two perpendicular directions share the slip probability; cliffs lead back to the start. */
function walkOver(map: GridMap, slip: number, order: readonly number[]): Walk {
  const { grid, start, tiles } = map;
  const next = (state: number, direction: number): number => {
    if (tiles[state] === 'cliff') return start;
    const target = grid.move(state, direction);
    return tiles[target] === 'wall' ? state : target;
  };
  return {
    states: grid.size,
    actions: 4,
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
