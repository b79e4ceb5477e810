/** The examples that a dataset is made of. */
import { createHash } from 'node:crypto';
import type { ChatMessage } from '../../src/models/language-model.js';

/** These learn from proposals. */
export const proposalRecipes = [
  'improvement',
  'best-of-group',
  'weighted',
  'preference',
  'hindsight',
] as const;
export type ProposalRecipe = (typeof proposalRecipes)[number];

/** The last one learns from games. */
export const recipes = [...proposalRecipes, 'demonstrations'] as const;
export type Recipe = ProposalRecipe | 'demonstrations';

/** A place in a replay buffer, and the mean return there; of a demonstration: turn and game, and the game's return. */
interface Evaluated {
  readonly iteration: number;
  readonly candidate: number;
  readonly score: number;
}

/** The origin of an example; the evaluation is that of the completion (of a pair: the chosen one). */
export interface Lineage extends Evaluated {
  /** The run, as its source is named. */
  readonly run: string;
  readonly environment: string;
  /** The language model or control that proposed. */
  readonly model: string;
  readonly recipe: Recipe;
  /** The copy of the run, from 1, whose parameters a symmetry transformed; absent for the run as it was logged. */
  readonly copy?: number;
  /** SHA-256 of the prompt's messages. */
  readonly prompt: string;
  /** The iteration that the prompt is for, from 1; of a demonstration: the turn. */
  readonly promptIteration: number;
  /** Evaluations that the prompt was made from; of a demonstration: turns that it shows. */
  readonly history: number;
  /** The best score among them; absent where there are none. */
  readonly incumbent?: number;
  /** Tokens of the prompt as the model that was served it counted; absent where none did. */
  readonly promptTokens?: number;
  /** The other evaluation of a pair. */
  readonly rejected?: Evaluated;
}

interface Prompted {
  readonly prompt: readonly ChatMessage[];
  /** Factor of its loss, above 0. */
  readonly weight: number;
  readonly lineage: Lineage;
}

/** An answer to learn. */
export interface Imitation extends Prompted {
  readonly kind: 'imitation';
  readonly completion: string;
}

/** Two answers to one prompt, the first of which is better. */
export interface Preference extends Prompted {
  readonly kind: 'preference';
  readonly chosen: string;
  readonly rejected: string;
}

export type Example = Imitation | Preference;

/** All texts to be learnt from: one, or the two of a pair. */
export function completionsOf(
  example: Pick<Imitation, 'kind' | 'completion'> | Pick<Preference, 'kind' | 'chosen' | 'rejected'>,
): readonly string[] {
  return example.kind === 'imitation' ? [example.completion] : [example.chosen, example.rejected];
}

/** SHA-256 of messages: equal for equal roles and contents only. */
export function promptHash(messages: readonly ChatMessage[]): string {
  return sha256(JSON.stringify(messages.map(({ role, content }) => [role, content])));
}

export function sha256(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}

/** Each example once: the first of those with the same prompt and the same completions. */
export function withoutDuplicates(examples: readonly Example[]): readonly Example[] {
  const first = new Map<string, Example>();
  for (const example of examples) {
    const key = JSON.stringify([example.lineage.prompt, ...completionsOf(example)]);
    if (!first.has(key)) first.set(key, example);
  }
  return [...first.values()];
}
