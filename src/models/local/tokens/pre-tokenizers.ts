/**
 * The rules that divide text before pairs of a byte-level tokenizer are merged, by llama.cpp's names for them
 * (`tokenizer.ggml.pre`; patterns from src/llama-vocab.cpp).
 */
const contractions = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const symbols = String.raw` ?[^\s\p{L}\p{N}]+[\r\n]*`;
const spaces = String.raw`\s*[\r\n]+|\s+(?!\S)|\s+`;
const gpt2 = String.raw`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`;
const words = (digits: string) =>
  String.raw`${contractions}|[^\r\n\p{L}\p{N}]?\p{L}+|${digits}|${symbols}|${spaces}`;
const upper = String.raw`[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`;
const lower = String.raw`[\p{Ll}\p{Lm}\p{Lo}\p{M}]`;
const cased = (ending: string, digits: string) =>
  String.raw`[^\r\n\p{L}\p{N}]?${upper}*${lower}+${ending}|[^\r\n\p{L}\p{N}]?${upper}+${lower}*${ending}|${digits}| ?[^\s\p{L}\p{N}]+[\r\n/]*|${spaces}`;
const qwen35 = String.raw`${contractions}|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|${spaces}`;

const oneDigit = String.raw`\p{N}`;
const threeDigits = String.raw`\p{N}{1,3}`;

export interface PreTokenizer {
  /** Patterns, each applied to the pieces that the one before it left. */
  readonly splits: readonly string[];
  /** Whether a piece that is a token stays whole, whatever the merges say. */
  readonly ignoreMerges: boolean;
}

const rule = (...splits: readonly string[]): PreTokenizer => ({ splits, ignoreMerges: false });
const llama3: PreTokenizer = { splits: [words(threeDigits)], ignoreMerges: true };

/** By llama.cpp's name. */
export const preTokenizers: Readonly<Record<string, PreTokenizer>> = {
  'gpt-2': rule(gpt2),
  olmo: rule(gpt2),
  'phi-2': rule(gpt2),
  smollm: rule(oneDigit, gpt2),
  refact: rule(oneDigit, gpt2),
  starcoder: rule(oneDigit, gpt2),
  'command-r': rule(oneDigit, gpt2),
  'llama-bpe': llama3,
  lfm2: llama3,
  dbrx: rule(words(threeDigits)),
  'smaug-bpe': rule(words(threeDigits)),
  qwen2: rule(words(oneDigit)),
  'deepseek-r1-qwen': rule(words(oneDigit)),
  qwen35: rule(qwen35),
  tekken: { splits: [cased('', oneDigit)], ignoreMerges: true },
  'gpt-4o': rule(cased(`${contractions}?`, threeDigits)),
};
