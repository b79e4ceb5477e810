/** Training examples, with the run and evaluation that each comes from. */
import { createHash } from 'node:crypto';
import type { ChatMessage } from '../../src/models/language-model.js';

export const recipes = ['improvement', 'weighted', 'preference', 'repair', 'demonstrations'] as const;
export type Recipe = (typeof recipes)[number];
export type RunRecipe = Exclude<Recipe, 'demonstrations'>;

/** Identifies an evaluation and gives its score; for a demonstration, the turn, the game and the game's return. */
interface EvaluationRef {
  readonly iteration: number;
  readonly candidate: number;
  readonly score: number;
}

/** Origin of an example. Inherited fields describe the evaluation of the completion or the chosen reply. */
export interface Lineage extends EvaluationRef {
  readonly run: string;
  readonly environment: string;
  /** The run's language model or baseline; for a demonstration, the player. */
  readonly model: string;
  readonly recipe: Recipe;
  /** SHA-256 of the prompt's messages. */
  readonly prompt: string;
  /** One-based iteration of the prompt; for a demonstration, the turn. */
  readonly promptIteration: number;
  /** Number of evaluations that the prompt lists; for a demonstration, the number of previous turns. */
  readonly history: number;
  /** The best score that the prompt names; missing if there is none. */
  readonly incumbent?: number;
  /** Prompt tokens as counted by the model that received the prompt; missing if it didn't count them. */
  readonly promptTokens?: number;
  /** Error of the program that the completion repairs. */
  readonly repaired?: string;
  /** Evaluation of a pair's rejected reply. */
  readonly rejected?: EvaluationRef;
}

interface PromptedExample {
  readonly prompt: readonly ChatMessage[];
  /** Positive weight of the example in the loss. */
  readonly weight: number;
  readonly lineage: Lineage;
}

export interface Imitation extends PromptedExample {
  readonly kind: 'imitation';
  readonly completion: string;
}

/** Two replies to one prompt, one better than the other. */
export interface Preference extends PromptedExample {
  readonly kind: 'preference';
  readonly chosen: string;
  readonly rejected: string;
}

export type Example = Imitation | Preference;

/** The replies of an example: one, or two for a pair. */
export const completionsOf = (example: Example): readonly string[] =>
  example.kind === 'imitation' ? [example.completion] : [example.chosen, example.rejected];

export function promptHash(messages: readonly ChatMessage[]): string {
  return sha256(JSON.stringify(messages.map(({ role, content }) => [role, content])));
}

export function sha256(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}

/** Keeps only the first of several examples with the same prompt and completions. */
export function withoutDuplicates(examples: readonly Example[]): readonly Example[] {
  const firstByKey = new Map<string, Example>();
  for (const example of examples) {
    const key = JSON.stringify([example.lineage.prompt, ...completionsOf(example)]);
    if (!firstByKey.has(key)) firstByKey.set(key, example);
  }
  return [...firstByKey.values()];
}

/** Formats in which `finetune dataset` can write rows. */
export const rowFormats = ['jsonl', 'trl-sft', 'trl-dpo', 'openai-sft', 'openai-dpo'] as const;
export type RowFormat = (typeof rowFormats)[number];

/** Numbers of training examples in docs/tutorials/fine-tune.md and docs/tutorials/real-model.md. */
export const tutorialSizes = { least: 578, most: 1648 };
