import type { RandomGenerator } from '../../random/generator.js';
import type { DiscreteSpace, Observation, Task, TaskStep } from '../environment.js';
import { chance, type Draw, integerBetween } from './distributions.js';

interface Rules {
  /** Sticks at the start of an episode: this, or from `fewest` on. */
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
 * A subtraction game for two, who take sticks in turn, each time one of a few numbers; the last stick wins, or loses.
 * Taking more than there are loses, too. The opponent plays well but for some random moves. Observation: sticks left.
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
  // This is the built-in Nim.
  if (heap === 10 && misere && takes.join() === '1,2,3') return undefined;
  const rules = { heap, fewest, takes, misere, errors };
  const winning = winningMoves(rules);
  // The start is lost, but for luck.
  if (winning[heap] === undefined && errors < 0.1) return undefined;
  return { task: new SubtractionGame(rules, winning), maxSteps: heap + 1 };
};

/** 1 and larger numbers up to `actions + 1`, ascending. */
function drawTakes(random: RandomGenerator, actions: number, heap: number): number[] {
  const takes = new Set([1]);
  while (takes.size < actions) takes.add(integerBetween(random, 2, Math.min(heap, actions + 1)));
  return [...takes].sort((a, b) => a - b);
}

/** For each number of sticks what to take in order to win; undefined where nothing wins for sure. */
function winningMoves({ heap, takes, misere }: Rules): readonly (number | undefined)[] {
  // With no stick left, who moves has lost, or, in misère play, won.
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
