/**
 * The settings of `tokenizer.json` that work here exactly as in Hugging Face's tokenizers. All others are
 * rejected by name, because the JavaScript library ignores some of them and would split text into the wrong tokens.
 */
import { z } from 'zod';
import { UserError } from '../../../base/errors.js';
import { isMapping } from '../../../base/settings/schema.js';
import { maxTokenId } from '../weights/generation-config.js';

export const escapePattern = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');

const tokenId = z.int().min(0).max(maxTokenId);

export const tokenizerSchema = z.looseObject({
  model: z.looseObject({ type: z.string().nullish() }),
  added_tokens: z.array(
    z.looseObject({
      id: tokenId,
      content: z.string(),
      special: z.boolean().default(false),
      lstrip: z.boolean().default(false),
      rstrip: z.boolean().default(false),
    }),
  ),
  decoder: z.unknown(),
  normalizer: z.unknown(),
  pre_tokenizer: z.unknown(),
});
export type TokenizerJson = z.output<typeof tokenizerSchema>;

type Step = Readonly<Record<string, unknown>>;
/** Allowed values of a setting, including undefined if it may be missing, or a test for them. */
type AllowedValues = readonly unknown[] | ((value: unknown) => boolean);
type StepKinds = Readonly<Record<string, Readonly<Record<string, AllowedValues>>>>;

const anyValue: AllowedValues = () => true;
const anyBoolean: AllowedValues = (value) => typeof value === 'boolean';
const unset: AllowedValues = [undefined, null, ''];
const off: AllowedValues = [undefined, false];
const literal = (value: unknown) => isMapping(value) && typeof value.String === 'string';

const normalizerKinds: StepKinds = {
  NFC: {},
  NFD: {},
  NFKC: {},
  NFKD: {},
  Prepend: { prepend: (value) => typeof value === 'string' },
  // In JavaScript, `$` has a special meaning in a replacement.
  Replace: { pattern: literal, content: (value) => typeof value === 'string' && !value.includes('$') },
};

const preTokenizerKinds: StepKinds = {
  ByteLevel: { add_prefix_space: off, use_regex: [undefined, true, false], trim_offsets: anyValue },
  Digits: { individual_digits: anyBoolean },
  Metaspace: {
    replacement: ['▁'],
    prepend_scheme: ['always', 'first', 'never'],
    split: [false],
    add_prefix_space: anyValue,
    str_rep: [undefined, '▁'],
  },
  Split: {
    pattern: (value) => literal(value) || (isMapping(value) && isPortablePattern(value.Regex)),
    behavior: ['Isolated'],
    invert: off,
  },
};

const modelKind: StepKinds[string] = {
  vocab: anyValue,
  merges: anyValue,
  unk_token: anyValue,
  dropout: [undefined, null, 0],
  continuing_subword_prefix: unset,
  end_of_word_suffix: unset,
  fuse_unk: anyValue,
  byte_fallback: anyValue,
  ignore_merges: anyValue,
};

const addedTokenKind: StepKinds[string] = {
  id: anyValue,
  content: (value) => value !== '',
  special: anyValue,
  normalized: anyValue,
  lstrip: anyValue,
  rstrip: anyValue,
  single_word: off,
};

/** Rewrites settings so that the library follows them exactly. @throws UserError naming an unsupported setting */
export function adaptSettings(json: TokenizerJson, file: string) {
  const normalizer = stepsOf(json.normalizer, 'normalizer', 'normalizers', normalizerKinds, file);
  const steps = stepsOf(dropIdleSplit(json), 'pre_tokenizer', 'pretokenizers', preTokenizerKinds, file);
  rejectUnsupported({ ...json.model, type: undefined }, modelKind, 'model', file);
  for (const [i, token] of json.added_tokens.entries())
    rejectUnsupported(token, addedTokenKind, `added_tokens.${i}`, file);
  return {
    ...json,
    // The library must not strip white space around added tokens; `createStripper` in tokenizer.ts does that.
    added_tokens: json.added_tokens.map((token) => ({ ...token, lstrip: false, rstrip: false })),
    normalizer: { type: 'Sequence', normalizers: normalizer },
    pre_tokenizer: { type: 'Sequence', pretokenizers: steps.flatMap(toRegexSteps) },
    post_processor: null,
    decoder: null,
    model: { ...json.model, type: 'BPE' },
  };
}

/** Returns the steps of a normalizer, pre-tokenizer or decoder, in order. */
export function stepsOf(
  part: unknown,
  field: string,
  list: string,
  kinds: StepKinds,
  file: string,
): readonly Step[] {
  if (part === null || part === undefined) return [];
  if (!isMapping(part) || typeof part.type !== 'string')
    throw new UserError({ file, field, message: 'must be an object with a type' });
  const inner = part[list];
  if (part.type === 'Sequence' && Array.isArray(inner))
    return inner.flatMap((step, i) => stepsOf(step, `${field}.${list}.${i}`, list, kinds, file));
  const kind = Object.hasOwn(kinds, part.type) ? kinds[part.type] : undefined;
  if (kind === undefined) throw settingError(`${field}.type`, part.type, Object.keys(kinds), file);
  rejectUnsupported(part, { ...kind, type: anyValue }, field, file);
  return [part];
}

function rejectUnsupported(settings: Step, kind: StepKinds[string], field: string, file: string): void {
  for (const name of new Set([...Object.keys(kind!), ...Object.keys(settings)])) {
    const value = settings[name];
    const allowed: AllowedValues = kind![name] ?? [undefined];
    if (typeof allowed === 'function' ? allowed(value) : allowed.includes(value)) continue;
    const alternatives =
      typeof allowed === 'function' ? [] : allowed.filter((one) => one != null && one !== '');
    throw settingError(`${field}.${name}`, value, alternatives.map(String), file);
  }
}

export const settingError = (field: string, value: unknown, alternatives: readonly string[], file: string) =>
  new UserError({
    file,
    field,
    value: value ?? null,
    message: 'this tokenizer setting is not supported',
    alternatives,
    hint: 'serve this model with another program and use the provider `openai` or `ollama`',
  });

/** Drops Gemma's split at spaces, which does nothing, because the normalizer has already replaced the spaces. */
function dropIdleSplit({ normalizer, pre_tokenizer: step }: TokenizerJson): unknown {
  const isIdle = [normalizer, step].every(
    (part) => isMapping(part) && isMapping(part.pattern) && part.pattern.String === ' ',
  );
  return isIdle &&
    isMapping(normalizer) &&
    normalizer.type === 'Replace' &&
    isMapping(step) &&
    step.type === 'Split'
    ? null
    : step;
}

export const splitStep = (Regex: string): Step => ({
  type: 'Split',
  pattern: { Regex },
  behavior: 'Isolated',
  invert: false,
});

/** Rewrites a step as regular expressions, because the library's own digits and white space differ from Unicode's. */
function toRegexSteps(step: Step): readonly Step[] {
  if (step.type === 'Digits') return [splitStep(step.individual_digits === true ? '\\p{N}' : '\\p{N}+')];
  if (step.type === 'ByteLevel' && step.use_regex !== false)
    return [splitStep(preTokenizers['gpt-2']!.splits[0]!), { ...step, use_regex: false }];
  const { pattern } = step;
  if (!isMapping(pattern)) return [step];
  return [
    splitStep(
      typeof pattern.Regex === 'string' ? withFoldings(pattern.Regex) : escapePattern(String(pattern.String)),
    ),
  ];
}

/** Case-insensitive groups as published, and with the long s (ſ), which the library doesn't match on its own. */
const foldings = [
  ["(?i:'s|'t|'re|'ve|'m|'ll|'d)", "(?i:'[sſ]|'t|'re|'ve|'m|'ll|'d)"],
  ['(?i:[sdmt]|ll|ve|re)', '(?i:[sſdmt]|ll|ve|re)'],
] as const;
const withFoldings = (pattern: string) =>
  foldings.reduce((text, [group, whole]) => text.replaceAll(group, whole), pattern);

/** True if a pattern means the same in Oniguruma and in JavaScript after the library has rewritten it. */
function isPortablePattern(pattern: unknown): boolean {
  if (typeof pattern !== 'string') return false;
  const skeleton = foldings
    .reduce((text, [group]) => text.replaceAll(group, ''), pattern)
    .replaceAll(/\\(?:[pP]\{[^{}]*\}|[sSdDwrnt]|[^A-Za-z0-9])/g, 'E')
    .replaceAll(/\[\^?(?:(?!&&)[^[\]\\])+\]/g, 'C');
  return !/[\\[\].^$]|\(\?(?![:=!])|[*+?}]\+/.test(skeleton);
}

const contractions = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const symbols = String.raw` ?[^\s\p{L}\p{N}]+[\r\n]*`;
const spaces = String.raw`\s*[\r\n]+|\s+(?!\S)|\s+`;
const gpt2 = String.raw`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`;
const wordPattern = (digits: string) =>
  String.raw`${contractions}|[^\r\n\p{L}\p{N}]?\p{L}+|${digits}|${symbols}|${spaces}`;
const upper = String.raw`[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`;
const lower = String.raw`[\p{Ll}\p{Lm}\p{Lo}\p{M}]`;
const casedWordPattern = (ending: string, digits: string) =>
  String.raw`[^\r\n\p{L}\p{N}]?${upper}*${lower}+${ending}|[^\r\n\p{L}\p{N}]?${upper}+${lower}*${ending}|${digits}| ?[^\s\p{L}\p{N}]+[\r\n/]*|${spaces}`;
const qwen35 = String.raw`${contractions}|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|${spaces}`;

const oneDigit = String.raw`\p{N}`;
const threeDigits = String.raw`\p{N}{1,3}`;

export interface PreTokenizer {
  /** Patterns, applied in order; each splits the pieces left by the previous one. */
  readonly splits: readonly string[];
  /** True if a piece that is itself a token stays whole, regardless of the merges. */
  readonly ignoreMerges: boolean;
}

const rule = (...splits: readonly string[]): PreTokenizer => ({ splits, ignoreMerges: false });
const llama3: PreTokenizer = { splits: [wordPattern(threeDigits)], ignoreMerges: true };

/** Rules by which byte-level tokenizers split text, by llama.cpp's names (`tokenizer.ggml.pre`, llama-vocab.cpp). */
export const preTokenizers: Readonly<Record<string, PreTokenizer>> = {
  'gpt-2': rule(gpt2),
  'phi-2': rule(gpt2),
  smollm: rule(oneDigit, gpt2),
  refact: rule(oneDigit, gpt2),
  starcoder: rule(oneDigit, gpt2),
  'command-r': rule(oneDigit, gpt2),
  'llama-bpe': llama3,
  'smaug-bpe': rule(wordPattern(threeDigits)),
  dbrx: rule(wordPattern(threeDigits)),
  qwen2: rule(wordPattern(oneDigit)),
  'deepseek-r1-qwen': rule(wordPattern(oneDigit)),
  qwen35: rule(qwen35),
  tekken: { splits: [casedWordPattern('', oneDigit)], ignoreMerges: true },
  'gpt-4o': rule(casedWordPattern(`${contractions}?`, threeDigits)),
};

/** Returns the first name of the rule by which these steps split text; undefined if it has none. */
export function preTokenizerName(steps: readonly Step[], ignoreMerges: boolean): string | undefined {
  const patterns = steps.flatMap(({ pattern, type }) => {
    const regex = isMapping(pattern) ? pattern.Regex : undefined;
    return type === 'ByteLevel' ? [] : [String(regex)];
  });
  return Object.keys(preTokenizers).find((name) => {
    const { splits, ignoreMerges: ignores } = preTokenizers[name]!;
    return ignores === ignoreMerges && splits.map(withFoldings).join('\n') === patterns.join('\n');
  });
}
