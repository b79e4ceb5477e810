/** The tokenizer in a GGUF file's metadata, as `tokenizer.json` and `tokenizer_config.json`. */
import { UserError } from '../../../base/errors.js';
import type { GgufFile } from '../weights/gguf.js';
import { preTokenizers } from './tokenizer-settings.js';

const tokenKinds = { normal: 1, unknown: 2, control: 3, userDefined: 4 } as const;

/** @throws UserError if the metadata holds no supported tokenizer */
export function ggufTokenizerJson(gguf: GgufFile): Record<string, unknown> {
  const { file } = gguf;
  const all = texts(gguf, 'tokens');
  // Ollama's own files of Gemma 3 have a token for pictures that the embedding has no row of.
  const rows = gguf.tensors.get('token_embd.weight')?.shape[0];
  const tokens = gguf.metadata.get('general.architecture') === 'gemma3' ? all.slice(0, rows) : all;
  const kinds = numbers(gguf, 'token_type', all.length) ?? tokens.map(() => tokenKinds.normal);
  const added = tokens.flatMap((content, id) => {
    const kind = kinds[id];
    return kind === tokenKinds.control || kind === tokenKinds.userDefined
      ? [
          {
            id,
            content,
            special: kind === tokenKinds.control,
            single_word: false,
            lstrip: false,
            rstrip: false,
            normalized: false,
          },
        ]
      : [];
  });
  const model = gguf.metadata.get('tokenizer.ggml.model');
  const vocab = vocabularyOf(tokens, file);
  switch (model) {
    case 'gpt2':
      return { added_tokens: added, ...byteLevel(gguf, vocab) };
    case 'llama':
      return { added_tokens: added, ...sentencePiece(gguf, vocab, tokens, kinds) };
    case 'gemma4':
      return { added_tokens: added, ...gemma4(gguf, vocab, tokens, kinds) };
    default:
      throw new UserError({
        file,
        field: 'tokenizer.ggml.model',
        value: model ?? null,
        message:
          model === undefined ? 'this file has no tokenizer' : 'this kind of tokenizer is not supported',
        alternatives: ['gpt2', 'llama', 'gemma4'],
        remedy: 'take a complete file of the model, or serve it with llama-server or Ollama',
      });
  }
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
  };
}

type Vocabulary = ReadonlyMap<string, number>;

function vocabularyOf(tokens: readonly string[], file: string): Vocabulary {
  const vocabulary = new Map(tokens.map((token, id) => [token, id]));
  if (vocabulary.size === tokens.length) return vocabulary;
  const twice = tokens.find((token, id) => vocabulary.get(token) !== id)!;
  throw new UserError({
    file,
    field: 'tokenizer.ggml.tokens',
    value: twice.slice(0, 80),
    message: 'two tokens have this text, so it is not known which one a text becomes',
    remedy: 'take another file of this model',
  });
}

/** Byte-pair encoding over GPT-2's alphabet of bytes. */
function byteLevel(gguf: GgufFile, vocab: Vocabulary): Record<string, unknown> {
  const name = gguf.metadata.get('tokenizer.ggml.pre') ?? preTokenizerOf(vocab);
  const rule =
    typeof name === 'string' && Object.hasOwn(preTokenizers, name) ? preTokenizers[name] : undefined;
  if (rule === undefined)
    throw new UserError({
      file: gguf.file,
      field: 'tokenizer.ggml.pre',
      value: name ?? null,
      message: 'it is not known how this tokenizer divides text',
      alternatives: Object.keys(preTokenizers),
      remedy: 'take a newer file of this model, or serve it with llama-server or Ollama',
    });
  return {
    normalizer: null,
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: [
        ...rule.splits.map((Regex) => ({
          type: 'Split',
          pattern: { Regex },
          behavior: 'Isolated',
          invert: false,
        })),
        { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: false },
      ],
    },
    post_processor: null,
    decoder: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true },
    model: {
      type: 'BPE',
      vocab: Object.fromEntries(vocab),
      merges: texts(gguf, 'merges').map(splitMerge),
      ignore_merges: rule.ignoreMerges,
      byte_fallback: false,
    },
  };
}

/** The first Llama 3 files don't name their rule, but have its control tokens. */
const preTokenizerOf = (vocab: Vocabulary): string | undefined =>
  vocab.get('<|start_header_id|>') === 128_006 && vocab.get('<|eot_id|>') === 128_009
    ? 'llama-bpe'
    : undefined;

/** The two parts of a merge, split at the first space after the first character. */
function splitMerge(merge: string): readonly [string, string] {
  const at = merge.indexOf(' ', 1);
  return [merge.slice(0, at), merge.slice(at + 1)];
}

/** SentencePiece's BPE merges the pair whose piece has the highest score, so pairs are listed in that order. */
function sentencePiece(
  gguf: GgufFile,
  vocab: Vocabulary,
  tokens: readonly string[],
  kinds: readonly number[],
): Record<string, unknown> {
  const scores = numbers(gguf, 'scores', tokens.length);
  if (scores === undefined)
    throw new UserError({ file: gguf.file, field: 'tokenizer.ggml.scores', message: 'is missing' });
  const prefixed = gguf.metadata.get('tokenizer.ggml.add_space_prefix') !== false;
  const unknown = unknownToken(gguf, tokens, kinds);
  return spaced(prefixed, null, vocab, scoredMerges(vocab, tokens, kinds, scores), unknown);
}

/** Like SentencePiece, with stored merges and lines split first. */
function gemma4(
  gguf: GgufFile,
  vocab: Vocabulary,
  tokens: readonly string[],
  kinds: readonly number[],
): Record<string, unknown> {
  const lines = { type: 'Split', pattern: { Regex: '[^\\n]+|[\\n]+' }, behavior: 'Isolated', invert: false };
  const merges = texts(gguf, 'merges').map(splitMerge);
  return spaced(false, lines, vocab, merges, unknownToken(gguf, tokens, kinds));
}

function unknownToken({ metadata }: GgufFile, tokens: readonly string[], kinds: readonly number[]) {
  const id = metadata.get('tokenizer.ggml.unknown_token_id') ?? kinds.indexOf(tokenKinds.unknown);
  return tokens[Number(id)] ?? null;
}

/** Byte-pair encoding over characters, with ▁ for the space and bytes for characters without a token. */
function spaced(
  prefixed: boolean,
  preTokenizer: object | null,
  vocab: Vocabulary,
  merges: readonly (readonly [string, string])[],
  unknown: string | null,
): Record<string, unknown> {
  const space = { type: 'Replace', pattern: { String: ' ' }, content: '▁' };
  return {
    normalizer: {
      type: 'Sequence',
      normalizers: prefixed ? [{ type: 'Prepend', prepend: '▁' }, space] : [space],
    },
    pre_tokenizer: preTokenizer,
    post_processor: null,
    decoder: {
      type: 'Sequence',
      decoders: [
        { type: 'Replace', pattern: { String: '▁' }, content: ' ' },
        { type: 'ByteFallback' },
        { type: 'Fuse' },
        ...(prefixed ? [{ type: 'Strip', content: ' ', start: 1, stop: 0 }] : []),
      ],
    },
    model: {
      type: 'BPE',
      vocab: Object.fromEntries(vocab),
      merges,
      unk_token: unknown,
      byte_fallback: true,
      fuse_unk: true,
      ignore_merges: false,
    },
  };
}

function scoredMerges(
  vocab: Vocabulary,
  tokens: readonly string[],
  kinds: readonly number[],
  scores: readonly number[],
): readonly (readonly [string, string])[] {
  const mergeable = (id: number) => kinds[id] === tokenKinds.normal || kinds[id] === tokenKinds.userDefined;
  const order = tokens.map((_, id) => id).filter(mergeable);
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

function texts(gguf: GgufFile, name: string): readonly string[] {
  const values = gguf.metadata.get(`tokenizer.ggml.${name}`);
  if (Array.isArray(values) && values.length > 0 && values.every((value) => typeof value === 'string'))
    return values;
  throw missing(gguf, name, 'a list of texts');
}

function numbers(gguf: GgufFile, name: string, count: number): readonly number[] | undefined {
  const values = gguf.metadata.get(`tokenizer.ggml.${name}`);
  if (values === undefined) return undefined;
  const right = Array.isArray(values) && values.length === count && typeof values[0] === 'number';
  if (right) return values as readonly number[];
  throw missing(gguf, name, `a list of ${count} numbers, one for each token`);
}

const missing = ({ file, metadata }: GgufFile, name: string, what: string) =>
  new UserError({
    file,
    field: `tokenizer.ggml.${name}`,
    message: metadata.has(`tokenizer.ggml.${name}`) ? `is not ${what}` : `is missing: ${what} is needed`,
    remedy: 'take a complete file of the model',
  });
