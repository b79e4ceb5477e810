/** A game in which two players alternately take sticks from a heap. Taking the last wins or, in misère play, loses. */

import type { RandomGenerator } from '../../../../src/base/random/generator.js';
import type { DiscreteSpace, Task, TaskStep } from '../../../../src/environments/environment.js';
import { chance, type Draw, integerBetween } from './distributions.js';

interface Rules {
  /** Number of sticks at the start: at least `fewest` and at most `heap`. */
  readonly heap: number;
  readonly fewest: number;
  /** Numbers of sticks that a move may take, ascending. */
  readonly takes: readonly number[];
  /** True if taking the last stick loses. */
  readonly misere: boolean;
  /** Probability that an opponent who could win moves randomly. */
  readonly errors: number;
}

/** One heap and a few allowed numbers of sticks to take. Observation: sticks left. */
export const drawGame: Draw = (random) => {
  const heap = integerBetween(random, 5, 14) - 1;
  const takes = drawTakes(random, Math.min(heap, integerBetween(random, 2, 4)), heap);
  const misere = chance(random, 0.5);
  const fewest = chance(random, 0.5) ? heap : Math.ceil(heap / 2);
  const errors = chance(random, 0.3) ? 0 : random.uniform(0, 0.6);
  // Reject the built-in Nim.
  if (heap === 10 && misere && takes.join() === '1,2,3') return undefined;
  const task = new HeapGame({ heap, fewest, takes, misere, errors });
  // Reject games that start lost with a full heap, unless the opponent errs often enough.
  return task.winning[heap] === undefined && errors < 0.1 ? undefined : { task, maxSteps: heap + 1 };
};

/** Draws the numbers of sticks to take: `count` ascending numbers from 1 to at most `count + 1`, including 1. */
function drawTakes(random: RandomGenerator, count: number, heap: number): number[] {
  const takes = new Set([1]);
  while (takes.size < count) takes.add(integerBetween(random, 2, Math.min(heap, count + 1)));
  return [...takes].sort((a, b) => a - b);
}

/** The agent moves first; an impossible move loses. The opponent plays optimally, apart from random errors. */
class HeapGame implements Task<number> {
  readonly observationSpace: DiscreteSpace;
  readonly actionSpace: DiscreteSpace;
  /** For each number of sticks left, how many to take to win; undefined if the position is lost. */
  readonly winning: readonly (number | undefined)[];
  readonly #rules: Rules;
  #left: number;
  #random!: RandomGenerator;

  constructor(rules: Rules) {
    this.observationSpace = { kind: 'discrete', n: rules.heap + 1 };
    this.actionSpace = { kind: 'discrete', n: rules.takes.length };
    this.#rules = rules;
    this.#left = rules.heap;
    this.winning = winningMoves(rules);
  }

  reset(random: RandomGenerator): number {
    this.#random = random;
    this.#left = integerBetween(random, this.#rules.fewest, this.#rules.heap);
    return this.#left;
  }

  step(action: number): TaskStep {
    const { misere, takes } = this.#rules;
    const end = (won: boolean) => ({ observation: this.#left, reward: won ? 1 : -1, terminated: true });
    const take = takes[action]!;
    if (take > this.#left) return end(false);
    this.#left -= take;
    if (this.#left === 0) return end(!misere);
    this.#left -= this.#answer();
    return this.#left === 0 ? end(misere) : { observation: this.#left, reward: 0, terminated: false };
  }

  #answer(): number {
    const best = this.winning[this.#left];
    if (best !== undefined && !chance(this.#random, this.#rules.errors)) return best;
    return this.#random.choice(this.#rules.takes.filter((take) => take <= this.#left));
  }
}

function winningMoves({ heap, misere, takes }: Rules): readonly (number | undefined)[] {
  // Whoever is to move when no sticks are left has won in misère play and lost in normal play.
  const wins = [misere];
  const winning: (number | undefined)[] = [undefined];
  for (let left = 1; left <= heap; left++) {
    winning[left] = takes.find((take) => take <= left && !wins[left - take]);
    wins[left] = winning[left] !== undefined;
  }
  return winning;
}
