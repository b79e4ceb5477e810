import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Folders of test/fixtures/reference-families. */
export const referenceFamilies = [
  'qwen2-yarn',
  'qwen3-yarn',
  'smollm3',
  'gemma3',
  'gemma2',
  'phi3-longrope',
  'phi3-window',
  'granite',
  'granite4',
  'ministral',
  'ministral3',
  'gpt2',
] as const;

/** Those with layers that carry a state: served, not trained. */
export const recurrentFamilies = ['qwen35'] as const;

export const familyDirectory = (name: string): string =>
  fileURLToPath(new URL(`../../fixtures/reference-families/${name}`, import.meta.url));

/** What Transformers and PEFT computed. */
export interface FamilyReference {
  readonly prompts: readonly {
    readonly ids: readonly number[];
    readonly last_logits: readonly number[];
    readonly greedy_ids: readonly number[];
  }[];
  /** Recurrent families have no examples and no loss. */
  readonly training: {
    readonly examples: readonly {
      readonly prompt_ids: readonly number[];
      readonly completion_ids: readonly number[];
    }[];
    readonly rank: number;
    readonly alpha: number;
    readonly modules: readonly string[];
    readonly loss: number;
    readonly adapted_last_logits: readonly number[];
  };
}

export const readFamily = (name: string): FamilyReference =>
  JSON.parse(readFileSync(`${familyDirectory(name)}/reference.json`, 'utf8')) as FamilyReference;
