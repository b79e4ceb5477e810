import type { RandomGenerator } from '../../random/generator.js';
import { policiesFor } from './calibration.js';

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

/** Beyond this share of random tables a goal is trivial. */
const trivial = 0.6;

/** For each state the share of random tables of actions that come to it within `steps` steps, in one episode each. */
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

/**
 * The state to be reached: that which a share nearest to the wanted one of random tables visits, on a logarithmic scale.
 * Tables play one episode of `steps` steps.
 * @returns undefined where tables come only to the start, to bad ends, or to where nearly all of them come
 */
export function chooseGoal(
  walk: Walk,
  random: RandomGenerator,
  { wanted, steps }: { readonly wanted: number; readonly steps: number },
): number | undefined {
  const tables = policiesFor(wanted);
  const shares = visitShares(walk, random, { tables, steps });
  // One visit alone may have been luck that is not met again.
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
