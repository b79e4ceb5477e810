import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { ChatMessage } from '../../../src/models/language-model.js';

export const referenceModels = [
  'llama-untied-fp32',
  'llama3-rope-bf16',
  'qwen2-tied-bf16-sharded',
  'qwen3-fp32',
] as const;

export function referenceDirectory(name: string): string {
  return fileURLToPath(new URL(`../../fixtures/reference-models/${name}`, import.meta.url));
}

/** What Hugging Face Transformers computed from the model. */
export interface Reference {
  readonly messages: readonly ChatMessage[];
  readonly prompt_text: string;
  readonly prompt_ids: readonly number[];
  readonly last_logits: readonly number[];
  readonly greedy_ids: readonly number[];
  readonly greedy_text: string;
}

export function readReference(name: string): Reference {
  return JSON.parse(readFileSync(`${referenceDirectory(name)}/reference.json`, 'utf8')) as Reference;
}
