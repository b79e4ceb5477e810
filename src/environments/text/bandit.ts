import type { RandomGenerator } from '../../random/generator.js';
import type { Observation, Task, TaskStep, TextSpace } from '../environment.js';

/** The arms, by their names in the prompt. */
const arms = ['A', 'B', 'C', 'D', 'E', 'F', 'G', 'H'] as const;

/**
 * A bandit of eight arms (Robbins 1952) in words: one step, in which one arm pays 1 and the others pay 0. It is always
 * the same arm, so that the best policy is known, and pays 1.
 * Observation: a text that names the arms. Action: the name of one.
 */
export class TextBandit implements Task<string> {
  readonly observationSpace: TextSpace = { kind: 'text' };
  readonly actionSpace: TextSpace = { kind: 'text', choices: arms };
  readonly #best: string;

  /** `best`: number of the arm that pays, 0 for the first. */
  constructor({ best }: { readonly best: number }) {
    this.#best = arms[best]!;
  }

  reset(_random: RandomGenerator): Observation {
    return `Eight arms: ${arms.join(', ')}. One pays. Pull one.`;
  }

  step(action: string): TaskStep {
    return { observation: 'The round is over.', reward: action === this.#best ? 1 : 0, terminated: true };
  }
}

export const lastArm = arms.length - 1;
