import type { RandomGenerator } from '../../random/generator.js';
import { policiesFor } from './calibration.js';

/** A possible result of an action. */
export interface Move {
  readonly probability: number;
  readonly state: number;
}

/** A finite decision process without rewards. */
export interface Walk {
  readonly states: number;
  readonly actions: number;
  readonly start: number;
  moves(state: number, action: number): readonly Move[];
  /** Whether an episode ends badly in this state. */
  ends(state: number): boolean;
}

/** A goal reached by more than this share of random tables is trivial. */
const trivial = 0.6;

/** For each state, the share of random tables that visit it within one episode of `steps` steps. */
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
 * Chooses as goal the state whose share of visits by random tables is closest to `wanted`, on a logarithmic
 * scale. Each table plays one episode of `steps` steps.
 * @returns undefined if tables visit only the start, bad ends, and states that nearly all of them visit
 */
export function chooseGoal(
  walk: Walk,
  random: RandomGenerator,
  { wanted, steps }: { readonly wanted: number; readonly steps: number },
): number | undefined {
  const tables = policiesFor(wanted);
  const shares = visitShares(walk, random, { tables, steps });
  // A single visit may be luck.
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
