import type { RandomGenerator } from '../../random.js';

/** Where an action may lead. */
export interface Move {
  readonly probability: number;
  readonly state: number;
}

/** A finite decision process before anything is rewarded. */
export interface Walk {
  readonly states: number;
  readonly actions: number;
  readonly start: number;
  moves(state: number, action: number): readonly Move[];
  /** Whether an episode ends badly there. */
  ends(state: number): boolean;
}

const tables = 300;

/** For each state the share of random tables of actions that come to it within `steps` steps, in one episode each. */
export function visitShares(walk: Walk, random: RandomGenerator, steps: number): Float64Array {
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

/**
 * The state to be reached: that which a share nearest to the wanted one of random tables visits, on a logarithmic scale.
 * @returns undefined where no table comes anywhere but to the start and to bad ends
 */
export function chooseGoal(walk: Walk, shares: Float64Array, wanted: number): number | undefined {
  let goal: number | undefined;
  let nearest = Number.POSITIVE_INFINITY;
  for (let state = 0; state < walk.states; state++) {
    if (state === walk.start || walk.ends(state) || shares[state] === 0) continue;
    const distance = Math.abs(Math.log(shares[state]! / wanted));
    if (distance < nearest) [goal, nearest] = [state, distance];
  }
  return goal;
}
