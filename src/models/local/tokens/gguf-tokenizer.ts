/** Converts the tokenizer in a GGUF file's metadata to `tokenizer.json` and `tokenizer_config.json`. */
import { UserError } from '../../../base/errors.js';
import type { GgufFile } from '../weights/gguf.js';
import { preTokenizers, settingError, splitStep } from './tokenizer-settings.js';

const tokenKinds = { normal: 1, unknown: 2, control: 3, userDefined: 4 } as const;

type Merges = readonly (readonly [string, string])[];

/** @throws UserError if the metadata doesn't contain a supported tokenizer */
export function ggufTokenizerJson(gguf: GgufFile): Record<string, unknown> {
  const { file, metadata } = gguf;
  const allTokens = readTexts(gguf, 'tokens');
  // In Ollama's own Gemma 3 files, the embedding has no row for the image token.
  const rows = gguf.tensors.get('token_embd.weight')?.shape[0];
  const tokens = metadata.get('general.architecture') === 'gemma3' ? allTokens.slice(0, rows) : allTokens;
  const kinds = readNumbers(gguf, 'token_type', allTokens.length) ?? tokens.map(() => tokenKinds.normal);
  const flags = { single_word: false, lstrip: false, rstrip: false, normalized: false };
  const isAdded = (kind?: number) => kind === tokenKinds.control || kind === tokenKinds.userDefined;
  const addedTokens = tokens
    .map((content, id) => ({ id, content, special: kinds[id] === tokenKinds.control, ...flags }))
    .filter(({ id }) => isAdded(kinds[id]));
  const vocab = new Map(tokens.map((token, id) => [token, id]));
  if (vocab.size < tokens.length)
    throw new UserError({
      file,
      field: 'tokenizer.ggml.tokens',
      value: tokens.find((token, id) => vocab.get(token) !== id)!.slice(0, 80),
      message: 'two tokens have this text, so its encoding is ambiguous',
      hint: 'use a different GGUF file of this model',
    });
  const model = metadata.get('tokenizer.ggml.model');
  const sharedSettings = { added_tokens: addedTokens, post_processor: null };
  if (model === 'gpt2') return { ...sharedSettings, ...byteLevelModel(gguf, vocab) };
  const unkToken =
    tokens[Number(metadata.get('tokenizer.ggml.unknown_token_id') ?? kinds.indexOf(tokenKinds.unknown))];
  if (model === 'gemma4')
    return {
      ...sharedSettings,
      ...characterBpe(false, splitStep('[^\\n]+|[\\n]+'), vocab, storedMerges(gguf), unkToken),
    };
  if (model === 'llama') {
    const scores = readNumbers(gguf, 'scores', tokens.length);
    if (scores === undefined) throw missingError(gguf, 'scores', 'a list of numbers, one per token');
    const addsPrefix = metadata.get('tokenizer.ggml.add_space_prefix') !== false;
    return {
      ...sharedSettings,
      ...characterBpe(addsPrefix, null, vocab, scoredMerges(vocab, tokens, kinds, scores), unkToken),
    };
  }
  throw settingError('tokenizer.ggml.model', model, ['gpt2', 'llama', 'gemma4'], file);
}

export function ggufTokenizerConfig({ metadata }: GgufFile): Record<string, unknown> {
  const tokens = metadata.get('tokenizer.ggml.tokens');
  const text = (name: string) => {
    const id = metadata.get(`tokenizer.ggml.${name}_token_id`);
    return Array.isArray(tokens) && typeof id === 'number' ? tokens[id] : undefined;
  };
  return {
    bos_token: text('bos'),
    eos_token: text('eos'),
    unk_token: text('unknown'),
    pad_token: text('padding'),
    chat_template: metadata.get('tokenizer.chat_template'),
    add_bos_token:
      metadata.get('tokenizer.ggml.add_bos_token') ?? metadata.get('tokenizer.ggml.model') === 'llama',
  };
}

type Vocabulary = ReadonlyMap<string, number>;

/** Returns the settings for byte-pair encoding over GPT-2's byte alphabet. */
function byteLevelModel(gguf: GgufFile, vocab: Vocabulary): Record<string, unknown> {
  const key = gguf.metadata.get('tokenizer.ggml.pre') ?? preTokenizerOf(vocab);
  const rule = typeof key === 'string' && Object.hasOwn(preTokenizers, key) ? preTokenizers[key] : undefined;
  if (rule === undefined)
    throw settingError('tokenizer.ggml.pre', key, Object.keys(preTokenizers), gguf.file);
  const bytes = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: false };
  return {
    normalizer: null,
    pre_tokenizer: { type: 'Sequence', pretokenizers: [...rule.splits.map(splitStep), bytes] },
    decoder: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true },
    model: {
      type: 'BPE',
      vocab: Object.fromEntries(vocab),
      merges: storedMerges(gguf),
      ignore_merges: rule.ignoreMerges,
      byte_fallback: false,
    },
  };
}

/** The first Llama 3 files don't name their splitting rule, but are recognisable by their control tokens. */
const preTokenizerOf = (ids: Vocabulary): string | undefined =>
  ids.get('<|start_header_id|>') === 128_006 && ids.get('<|eot_id|>') === 128_009 ? 'llama-bpe' : undefined;

/** Returns both parts of each merge, split at the first space that isn't the first character. */
const storedMerges = (gguf: GgufFile): Merges =>
  readTexts(gguf, 'merges').map((merge) => {
    const at = merge.indexOf(' ', 1);
    return [merge.slice(0, at), merge.slice(at + 1)];
  });

/** Returns the settings for byte-pair encoding over characters: ▁ for spaces, bytes for characters without a token. */
function characterBpe(
  addsPrefix: boolean,
  preTokenizer: object | null,
  vocab: Vocabulary,
  merges: Merges,
  unknownToken: string | undefined,
): Record<string, unknown> {
  const space = { type: 'Replace', pattern: { String: ' ' }, content: '▁' };
  const decoders = [
    { type: 'Replace', pattern: { String: '▁' }, content: ' ' },
    { type: 'ByteFallback' },
    { type: 'Fuse' },
    ...(addsPrefix ? [{ type: 'Strip', content: ' ', start: 1, stop: 0 }] : []),
  ];
  return {
    normalizer: {
      type: 'Sequence',
      normalizers: addsPrefix ? [{ type: 'Prepend', prepend: '▁' }, space] : [space],
    },
    pre_tokenizer: preTokenizer,
    decoder: { type: 'Sequence', decoders },
    model: {
      type: 'BPE',
      vocab: Object.fromEntries(vocab),
      merges,
      unk_token: unknownToken ?? null,
      byte_fallback: true,
      fuse_unk: true,
      ignore_merges: false,
    },
  };
}

/** Derives merges from scores: SentencePiece always merges the pair whose piece has the highest score. */
function scoredMerges(
  vocab: Vocabulary,
  tokens: readonly string[],
  kinds: readonly number[],
  scores: readonly number[],
): Merges {
  const isMergeable = (id: number) => kinds[id] === tokenKinds.normal || kinds[id] === tokenKinds.userDefined;
  const order = tokens.map((_, id) => id).filter(isMergeable);
  order.sort((a, b) => scores[b]! - scores[a]! || a - b);
  return order.flatMap((id) => {
    const characters = [...tokens[id]!];
    const pairs: (readonly [string, string])[] = [];
    for (let cut = 1; cut < characters.length; cut++) {
      const pair = [characters.slice(0, cut).join(''), characters.slice(cut).join('')] as const;
      if (pair.every((part) => vocab.has(part))) pairs.push(pair);
    }
    return pairs.sort((a, b) => vocab.get(a[0])! - vocab.get(b[0])! || vocab.get(a[1])! - vocab.get(b[1])!);
  });
}

function readTexts(gguf: GgufFile, name: string): readonly string[] {
  const values = gguf.metadata.get(`tokenizer.ggml.${name}`);
  if (Array.isArray(values) && values.length > 0 && values.every((value) => typeof value === 'string'))
    return values;
  throw missingError(gguf, name, 'a non-empty list of strings');
}

function readNumbers(gguf: GgufFile, name: string, count: number): readonly number[] | undefined {
  const values = gguf.metadata.get(`tokenizer.ggml.${name}`);
  if (values === undefined) return undefined;
  const isValid = Array.isArray(values) && values.length === count && typeof values[0] === 'number';
  if (isValid) return values as readonly number[];
  throw missingError(gguf, name, `a list of ${count} numbers, one per token`);
}

const missingError = ({ file }: GgufFile, name: string, expected: string) =>
  new UserError({
    file,
    field: `tokenizer.ggml.${name}`,
    message: `must be ${expected}`,
    hint: 'use a complete GGUF file of this model, including the tokenizer',
  });
