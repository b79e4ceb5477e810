/** Games in which two players alternately take sticks from heaps. Taking the last wins or, in misère play, loses. */
import type { RandomGenerator } from '../../random/generator.js';
import type { DiscreteSpace, Task, TaskStep } from '../environment.js';
import { chance, type Draw, integerBetween } from './distributions.js';

interface Move {
  readonly heap: number;
  readonly take: number;
}

interface Rules {
  readonly sizes: readonly number[];
  /** Minimum number of sticks on each heap at the start. */
  readonly fewest: readonly number[];
  readonly moves: readonly Move[];
  /** True if taking the last stick loses. */
  readonly misere: boolean;
  /**
   * Probability that an opponent who could win moves randomly. If undefined, it always makes the winning move, without
   * drawing a random number.
   */
  readonly errors: number | undefined;
}

/** One heap and a few allowed numbers of sticks to take. Observation: sticks left. */
export const drawGame: Draw<{
  readonly states?: number | undefined;
  readonly actions?: number | undefined;
}> = (random, options) => {
  const heap = (options.states ?? integerBetween(random, 5, 14)) - 1;
  const actions = Math.min(heap, options.actions ?? integerBetween(random, 2, 4));
  const takes = drawTakes(random, actions, heap);
  const misere = chance(random, 0.5);
  const fewest = chance(random, 0.5) ? heap : Math.ceil(heap / 2);
  const errors = chance(random, 0.3) ? 0 : random.uniform(0, 0.6);
  // Reject the built-in Nim.
  if (heap === 10 && misere && takes.join() === '1,2,3') return undefined;
  const moves = takes.map((take) => ({ heap: 0, take }));
  const task = new HeapGame({ sizes: [heap], fewest: [fewest], moves, misere, errors });
  // Reject games that start lost with a full heap, unless the opponent errs often enough.
  return task.winning[heap] === undefined && errors < 0.1 ? undefined : { task, maxSteps: heap + 1 };
};

/** Draws the numbers of sticks to take: `actions` ascending numbers from 1 to at most `actions + 1`, including 1. */
function drawTakes(random: RandomGenerator, actions: number, heap: number): number[] {
  const takes = new Set([1]);
  while (takes.size < actions) takes.add(integerBetween(random, 2, Math.min(heap, actions + 1)));
  return [...takes].sort((a, b) => a - b);
}

/** Two heaps with at most 64 positions; a move takes up to two or three sticks. Observation: index of the position. */
export const drawHeaps: Draw<object> = (random) => {
  const sizes = [integerBetween(random, 4, 7), integerBetween(random, 2, 7)] as const;
  const most = integerBetween(random, 2, 3);
  const moves = sizes.flatMap((size, heap) =>
    Array.from({ length: Math.min(most, size) }, (_, i) => ({ heap, take: i + 1 })),
  );
  const misere = chance(random, 0.5);
  const errors = random.uniform(0, 0.5);
  const fewest = chance(random, 0.6) ? [1, 0] : sizes;
  const task = new HeapGame({ sizes, fewest, moves, misere, errors });
  return { task, maxSteps: sizes[0] + sizes[1] + 1 };
};

/** The agent moves first; an impossible move loses. The opponent plays optimally, apart from random errors. */
export class HeapGame implements Task<number> {
  readonly observationSpace: DiscreteSpace;
  readonly actionSpace: DiscreteSpace;
  /** A winning move for each position; undefined if there is none. */
  readonly winning: readonly (Move | undefined)[];
  /** The agent's last move and the opponent's reply; undefined if none was made. */
  protected own: Move | undefined;
  protected answer: Move | undefined;
  readonly #rules: Rules;
  #heaps: number[];
  #random!: RandomGenerator;

  constructor(rules: Rules) {
    this.observationSpace = { kind: 'discrete', n: rules.sizes.reduce((n, size) => n * (size + 1), 1) };
    this.actionSpace = { kind: 'discrete', n: rules.moves.length };
    this.#rules = rules;
    this.#heaps = [...rules.sizes];
    this.winning = winningMoves(rules);
  }

  /** Index of the position; the last heap varies fastest. */
  get position(): number {
    return positionOf(this.#heaps, this.#rules);
  }

  reset(random: RandomGenerator): number {
    const { fewest, sizes } = this.#rules;
    this.#random = random;
    this.#heaps = sizes.map((size, heap) => integerBetween(random, fewest[heap]!, size));
    this.own = this.answer = undefined;
    return this.position;
  }

  step(action: number): TaskStep {
    const { misere, moves } = this.#rules;
    const end = (won: boolean) => ({ observation: this.position, reward: won ? 1 : -1, terminated: true });
    const own = moves[action]!;
    this.own = this.answer = undefined;
    if (!isPossible(own, this.#heaps)) return end(false);
    this.own = own;
    this.#take(own);
    if (this.#isEmpty()) return end(!misere);
    this.answer = this.#answer();
    this.#take(this.answer);
    return this.#isEmpty() ? end(misere) : { observation: this.position, reward: 0, terminated: false };
  }

  #answer(): Move {
    const { errors, moves } = this.#rules;
    const best = this.winning[this.position];
    if (best !== undefined && (errors === undefined || !chance(this.#random, errors))) return best;
    return this.#random.choice(moves.filter((move) => isPossible(move, this.#heaps)));
  }

  #take({ heap, take }: Move): void {
    this.#heaps[heap]! -= take;
  }

  #isEmpty(): boolean {
    return this.#heaps.every((sticks) => sticks === 0);
  }
}

const isPossible = ({ heap, take }: Move, heaps: readonly number[]) => take <= heaps[heap]!;

const positionOf = (heaps: readonly number[], { sizes }: Rules) =>
  heaps.reduce((position, sticks, heap) => position * (sizes[heap]! + 1) + sticks, 0);

function winningMoves(rules: Rules): readonly (Move | undefined)[] {
  const { misere, moves, sizes } = rules;
  const winning: (Move | undefined)[] = [];
  // Whoever is to move when no sticks are left has won in misère play and lost in normal play.
  const wins: boolean[] = [];
  const all = sizes.reduce<number[][]>(
    (heads, size) => heads.flatMap((head) => Array.from({ length: size + 1 }, (_, n) => [...head, n])),
    [[]],
  );
  for (const [position, heaps] of all.entries()) {
    const best = moves.find((move) => {
      const left = heaps.map((sticks, heap) => (heap === move.heap ? sticks - move.take : sticks));
      return isPossible(move, heaps) && !wins[positionOf(left, rules)];
    });
    winning.push(best);
    wins.push(position === 0 ? misere : best !== undefined);
  }
  return winning;
}
