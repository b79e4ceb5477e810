import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ChatMessage } from '../../../src/models/language-model.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';

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

/** What a tokenizer of SentencePiece's kind does before and after its model: `▁` for spaces. */
export const sentencePieceSteps = {
  normalizer: {
    type: 'Sequence',
    normalizers: [
      { type: 'Prepend', prepend: '▁' },
      { type: 'Replace', pattern: { String: ' ' }, content: '▁' },
    ],
  },
  pre_tokenizer: null,
  post_processor: null,
  decoder: {
    type: 'Sequence',
    decoders: [
      { type: 'Replace', pattern: { String: '▁' }, content: ' ' },
      { type: 'ByteFallback' },
      { type: 'Fuse' },
      { type: 'Strip', content: ' ', start: 1, stop: 0 },
    ],
  },
};

/** The pieces for single bytes: `<0xNN>`. */
export const bytePieces = Array.from({ length: 256 }, (_, byte) => {
  return `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`;
});

/**
 * A copy of a reference model with a tokenizer of SentencePiece's kind: single characters, and `<0xNN>` for each byte,
 * which is the only way to a line break.
 *
 * @returns its folder, to be removed after use
 */
export function byteFallbackModel(): string {
  const directory = temporaryDirectory();
  cpSync(referenceDirectory('llama3-rope-bf16'), directory, { recursive: true });
  const file = path.join(directory, 'tokenizer.json');
  const json = JSON.parse(readFileSync(file, 'utf8')) as { added_tokens: { content: string }[] };
  const characters = Array.from({ length: 94 }, (_, i) => String.fromCharCode(0x21 + i));
  const tokens = [...json.added_tokens.map(({ content }) => content), ...bytePieces, '▁', ...characters];
  const sentencePiece = {
    ...json,
    ...sentencePieceSteps,
    model: {
      type: 'BPE',
      byte_fallback: true,
      fuse_unk: true,
      vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
      merges: [],
    },
  };
  writeFileSync(file, JSON.stringify(sentencePiece));
  return directory;
}
