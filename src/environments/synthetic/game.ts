import type { RandomGenerator } from '../../random/generator.js';
import type { DiscreteSpace, Observation, Task, TaskStep } from '../environment.js';
import { chance, type Draw, integerBetween } from './distributions.js';

interface Rules {
  /** Number of sticks at the start of an episode, or the maximum if it varies from `fewest`. */
  readonly heap: number;
  readonly fewest: number;
  /** How many sticks each action takes. */
  readonly takes: readonly number[];
  /** Whether whoever takes the last stick loses. */
  readonly misere: boolean;
  /** The probability that the opponent plays at random. */
  readonly errors: number;
}

/**
 * A two-player subtraction game: players alternately take one of a few numbers of sticks. Taking the last one
 * wins or, in misère play, loses. Taking more than there are also loses. The opponent plays optimally except
 * for random moves. Observation: sticks left.
 */
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
  // This would be the built-in Nim.
  if (heap === 10 && misere && takes.join() === '1,2,3') return undefined;
  const rules = { heap, fewest, takes, misere, errors };
  const winning = winningMoves(rules);
  // The starting position is lost unless the opponent errs.
  if (winning[heap] === undefined && errors < 0.1) return undefined;
  return { task: new SubtractionGame(rules, winning), maxSteps: heap + 1 };
};

/** 1 and larger numbers up to `actions + 1`, ascending. */
function drawTakes(random: RandomGenerator, actions: number, heap: number): number[] {
  const takes = new Set([1]);
  while (takes.size < actions) takes.add(integerBetween(random, 2, Math.min(heap, actions + 1)));
  return [...takes].sort((a, b) => a - b);
}

/** The winning number to take for each number of sticks; undefined if no move is sure to win. */
function winningMoves({ heap, takes, misere }: Rules): readonly (number | undefined)[] {
  // With no sticks left, the player to move has lost or, in misère play, won.
  const winning: (number | undefined)[] = [misere ? 0 : undefined];
  for (let sticks = 1; sticks <= heap; sticks++) {
    winning.push(takes.find((take) => take <= sticks && winning[sticks - take] === undefined));
  }
  return winning;
}

class SubtractionGame implements Task<number> {
  readonly observationSpace: DiscreteSpace;
  readonly actionSpace: DiscreteSpace;
  readonly #rules: Rules;
  readonly #winning: readonly (number | undefined)[];
  #random!: RandomGenerator;
  #sticks = 0;

  constructor(rules: Rules, winning: readonly (number | undefined)[]) {
    this.observationSpace = { kind: 'discrete', n: rules.heap + 1 };
    this.actionSpace = { kind: 'discrete', n: rules.takes.length };
    this.#rules = rules;
    this.#winning = winning;
  }

  reset(random: RandomGenerator): Observation {
    this.#random = random;
    this.#sticks = random.integers(this.#rules.fewest, this.#rules.heap + 1);
    return this.#sticks;
  }

  step(action: number): TaskStep {
    const { takes, misere } = this.#rules;
    const take = takes[action]!;
    if (take > this.#sticks) return this.#result(-1, true);
    this.#sticks -= take;
    if (this.#sticks === 0) return this.#result(misere ? -1 : 1, true);
    this.#sticks -= this.#answer();
    if (this.#sticks === 0) return this.#result(misere ? 1 : -1, true);
    return this.#result(0, false);
  }

  #answer(): number {
    const { takes, errors } = this.#rules;
    const best = this.#winning[this.#sticks];
    if (best !== undefined && this.#random.random() >= errors) return best;
    return this.#random.choice(takes.filter((take) => take <= this.#sticks));
  }

  #result(reward: number, terminated: boolean): TaskStep {
    return { observation: this.#sticks, reward, terminated };
  }
}
