import type { RandomGenerator } from '../../random/generator.js';
import type { Observation, Task, TaskStep, TextSpace } from '../environment.js';

/** The arms' names in the prompt. */
const arms = ['A', 'B', 'C', 'D', 'E', 'F', 'G', 'H'] as const;

/**
 * An eight-armed bandit (Robbins 1952) in words: a single step in which one arm pays 1 and the others pay 0.
 * It is always the same arm, so the optimal policy is known and earns 1. Observation: a text that names the
 * arms. Action: the name of an arm.
 */
export class TextBandit implements Task<string> {
  readonly observationSpace: TextSpace = { kind: 'text' };
  readonly actionSpace: TextSpace = { kind: 'text', choices: arms };
  readonly #best: string;

  /** @param best 0-based number of the arm that pays */
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
