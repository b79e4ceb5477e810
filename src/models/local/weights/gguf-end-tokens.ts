import type { GgufFile } from './gguf.js';

/** Spellings of tokens that end an answer; the file names only one of them. */
const endSpellings = new Set([
  '<|eot_id|>',
  '<|eom_id|>',
  '<|im_end|>',
  '<|end|>',
  '<|return|>',
  '<|call|>',
  '<end_of_turn>',
  '<turn|>',
  '<|endoftext|>',
  '<|end_of_text|>',
  '<eos>',
  '</s>',
]);

/** GGUF's token type for plain text. */
const normal = 1;

/** Ids of tokens that end an answer: those named in the file, and those with known spellings. */
export function ggufEndTokens({ metadata }: GgufFile): readonly number[] {
  const named = ['eos', 'eot', 'eom'].map((name) => metadata.get(`tokenizer.ggml.${name}_token_id`));
  const tokens = metadata.get('tokenizer.ggml.tokens');
  const kinds = metadata.get('tokenizer.ggml.token_type');
  const spelled = (Array.isArray(tokens) ? tokens : []).flatMap((token, id) =>
    endSpellings.has(String(token)) && (!Array.isArray(kinds) || kinds[id] !== normal) ? [id] : [],
  );
  return [...new Set([...named.filter((id) => typeof id === 'number'), ...spelled])];
}
