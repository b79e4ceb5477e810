import type { GgufFile } from './gguf.js';

/** Spellings of tokens that end an answer; the file names one of them. */
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

/** GGUF's kind of a token that is plain text. */
const normal = 1;

/** Ids that end an answer: those that the file names, and those of known spellings. */
export function ggufEndTokens({ metadata }: GgufFile): readonly number[] {
  const named = ['eos', 'eot', 'eom'].map((name) => metadata.get(`tokenizer.ggml.${name}_token_id`));
  const tokens = metadata.get('tokenizer.ggml.tokens');
  const kinds = metadata.get('tokenizer.ggml.token_type');
  const spelled = (Array.isArray(tokens) ? tokens : []).flatMap((token, id) =>
    endSpellings.has(String(token)) && (!Array.isArray(kinds) || kinds[id] !== normal) ? [id] : [],
  );
  return [...new Set([...named.filter((id) => typeof id === 'number'), ...spelled])];
}
