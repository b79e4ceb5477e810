/** Converts a model's tokenizer to GGUF metadata. */
import path from 'node:path';
import { z } from 'zod';
import { UserError } from '../../../src/base/errors.js';
import { checkedValue, readJson } from '../../../src/base/files/files.js';
import {
  readTokenizerConfig,
  type TokenizerConfig,
  templateSource,
  tokenText,
} from '../../../src/models/local/tokens/chat-template.js';
import { readTokenizerJson } from '../../../src/models/local/tokens/tokenizer.js';
import {
  adaptSettings,
  preTokenizerName,
  preTokenizers,
} from '../../../src/models/local/tokens/tokenizer-settings.js';
import type { DecoderConfig } from '../../../src/models/local/weights/decoder-config.js';
import { readGenerationDefaults } from '../../../src/models/local/weights/generation-config.js';
import { type GgufFile, isGguf, openGguf } from '../../../src/models/local/weights/gguf.js';
import { type GgufMetadata, ggufValue } from './format.js';
import { sentencePieceScores } from './sentence-piece.js';

const tokenKinds = { normal: 1, unknown: 2, control: 3, userDefined: 4, unused: 5, byte: 6 } as const;

const modelSchema = z.looseObject({
  vocab: z.record(z.string(), z.int()),
  merges: z.array(z.union([z.string(), z.tuple([z.string(), z.string()])])),
  unk_token: z.string().nullish(),
  byte_fallback: z.boolean().default(false),
  ignore_merges: z.boolean().default(false),
});

/** @throws UserError if llama.cpp doesn't support the tokenizer */
export function vocabularyMetadata(directory: string, config: DecoderConfig): GgufMetadata {
  const tokenizer = readTokenizer(directory);
  const tokens = listTokens(tokenizer, config.vocabulary);
  const template = templateSource(directory, readTokenizerConfig(directory)).source;
  return [
    ...(tokenizer.model.byte_fallback
      ? sentencePieceMetadata(directory, tokenizer, tokens)
      : byteLevelMetadata(tokenizer, tokens)),
    ...specialTokenMetadata(directory, tokenizer, config),
    ['tokenizer.chat_template', ggufValue.string(template)],
  ];
}

/** Text of the token that llama.cpp and the model's tokenizer prepend to every text; undefined if they prepend none. */
export function addedBos(directory: string, config: DecoderConfig): string | undefined {
  if (isGguf(directory)) return storedBos(openGguf(directory));
  const tokenizer = readTokenizer(directory);
  const { bos, addBos } = readSpecialTokens(directory, tokenizer, config);
  return addBos ? [...tokenIds(tokenizer)].find(([, id]) => id === bos)?.[0] : undefined;
}

/** If the file has no `add_bos_token`, llama.cpp adds the token for SentencePiece models. */
function storedBos({ metadata }: GgufFile): string | undefined {
  const value = (name: string) => metadata.get(`tokenizer.ggml.${name}`);
  const addsBos = value('add_bos_token') ?? value('model') === 'llama';
  const [tokens, bos] = [value('tokens'), value('bos_token_id')];
  return addsBos && Array.isArray(tokens) && typeof bos === 'number' ? String(tokens[bos]) : undefined;
}

type Tokenizer = ReturnType<typeof readTokenizer>;

function readTokenizer(directory: string) {
  const file = path.join(directory, 'tokenizer.json');
  const rawJson = readTokenizerJson(directory);
  const json = adaptSettings(rawJson, file);
  return {
    file,
    model: checkedValue(modelSchema, json.model, file),
    added: json.added_tokens,
    normalizers: json.normalizer.normalizers,
    steps: json.pre_tokenizer.pretokenizers,
    frame: frameOf(rawJson.post_processor),
  };
}

interface VocabularyToken {
  readonly text: string;
  readonly kind: number;
}

/** One token per row of the embedding; rows without a token are named `[PAD<id>]`. */
function listTokens({ added, file, model }: Tokenizer, rows: number): VocabularyToken[] {
  const tokens: (VocabularyToken | undefined)[] = Array.from({ length: rows });
  const isByte = (token: string) => model.byte_fallback && /^<0x[0-9A-F]{2}>$/.test(token);
  for (const [token, id] of Object.entries(model.vocab)) {
    tokens[id] = { text: token, kind: isByte(token) ? tokenKinds.byte : tokenKinds.normal };
  }
  for (const { id, content, special } of added) {
    const kind = special ? tokenKinds.control : tokenKinds.userDefined;
    tokens[id] = { text: content, kind: content === model.unk_token ? tokenKinds.unknown : kind };
  }
  if (tokens.length > rows)
    throw new UserError({
      file,
      value: tokens.length,
      message: `the tokenizer has more tokens than the model's embedding has rows (${rows})`,
      hint: 'check that tokenizer.json and config.json belong together',
    });
  return tokens.map((token, id) => token ?? { text: `[PAD${id}]`, kind: tokenKinds.unused });
}

function byteLevelMetadata({ file, model, normalizers, steps }: Tokenizer, tokens: VocabularyToken[]) {
  const unsupported = (field: string, value: unknown, alternatives: readonly string[]) =>
    new UserError({
      file,
      field,
      value,
      message: 'llama.cpp has no known equivalent of these rules',
      alternatives,
      hint: "convert the model directory with llama.cpp's convert_hf_to_gguf.py; merge an adapter first (`policyloop finetune export --to merged`)",
    });
  const otherNormalizer = normalizers.find(({ type }) => type !== 'NFC');
  if (otherNormalizer !== undefined) throw unsupported('normalizer', otherNormalizer.type, ['NFC', 'none']);
  const preTokenizer = preTokenizerName(steps, model.ignore_merges);
  if (preTokenizer === undefined) throw unsupported('pre_tokenizer', steps, Object.keys(preTokenizers));
  return [
    ['tokenizer.ggml.model', ggufValue.string('gpt2')],
    ['tokenizer.ggml.pre', ggufValue.string(preTokenizer)],
    ...tokenLists(tokens),
    [
      'tokenizer.ggml.merges',
      ggufValue.strings(model.merges.map((merge) => (typeof merge === 'string' ? merge : merge.join(' ')))),
    ],
  ] satisfies GgufMetadata;
}

function sentencePieceMetadata(directory: string, tokenizer: Tokenizer, tokens: VocabularyToken[]) {
  const scores = sentencePieceScores(directory);
  return [
    ['tokenizer.ggml.model', ggufValue.string('llama')],
    ['tokenizer.ggml.pre', ggufValue.string('default')],
    ...tokenLists(tokens),
    // The score of a token that no merge produces is never used; llama.cpp's converter writes the same score.
    ['tokenizer.ggml.scores', ggufValue.float32s(tokens.map((token) => scores.get(token.text) ?? -1000))],
    ['tokenizer.ggml.add_space_prefix', ggufValue.bool(addsSpace(tokenizer))],
  ] satisfies GgufMetadata;
}

const tokenLists = (tokens: readonly VocabularyToken[]) =>
  [
    ['tokenizer.ggml.tokens', ggufValue.strings(tokens.map((token) => token.text))],
    ['tokenizer.ggml.token_type', ggufValue.int32s(tokens.map(({ kind }) => kind))],
  ] satisfies GgufMetadata;

/** True if every text gets a leading space. With `prepend_scheme: first`, text after a control token doesn't. */
const addsSpace = ({ normalizers, steps }: Tokenizer): boolean =>
  normalizers.some(({ type }) => type === 'Prepend') ||
  steps.some(({ prepend_scheme: scheme, type }) => type === 'Metaspace' && scheme === 'always');

function specialTokenMetadata(directory: string, tokenizer: Tokenizer, config: DecoderConfig): GgufMetadata {
  const { addBos, addEos, ...idsByName } = readSpecialTokens(directory, tokenizer, config);
  return [
    ...Object.entries(idsByName).flatMap(([name, id]) =>
      id === undefined ? [] : [[`tokenizer.ggml.${name}_token_id`, ggufValue.uint32(id)] as const],
    ),
    // Always write these keys, because llama.cpp adds a token by default for some tokenizers.
    ['tokenizer.ggml.add_bos_token', ggufValue.bool(addBos)],
    ['tokenizer.ggml.add_eos_token', ggufValue.bool(addEos)],
  ];
}

function readSpecialTokens(directory: string, tokenizer: Tokenizer, config: DecoderConfig) {
  const tokenizerConfig = readTokenizerConfig(directory);
  const { bos_token, eos_token, unk_token, pad_token } = tokenizerConfig;
  const ids = tokenIds(tokenizer);
  const modelConfig = z
    .looseObject({ bos_token_id: z.int().nullish(), pad_token_id: z.int().nullish() })
    .safeParse(readJson(path.join(directory, 'config.json'))).data;
  const idOf = (token: TokenizerConfig['bos_token'], fallback?: number | null) =>
    ids.get(tokenText(token) ?? '') ?? fallback ?? undefined;
  const bos = idOf(bos_token, modelConfig?.bos_token_id);
  const eos = idOf(eos_token, [...readGenerationDefaults(directory).eosTokens, ...config.eosTokens][0]);
  const { frame } = tokenizer;
  const bosSetting = z.looseObject({ add_bos_token: z.boolean().nullish() }).safeParse(tokenizerConfig).data;
  return {
    bos,
    eos,
    unknown: idOf(unk_token ?? tokenizer.model.unk_token),
    padding: idOf(pad_token, modelConfig?.pad_token_id),
    addBos:
      bos !== undefined &&
      (frame === undefined ? bosSetting?.add_bos_token === true : ids.get(frame.first) === bos),
    addEos: eos !== undefined && frame !== undefined && ids.get(frame.last) === eos,
  };
}

function tokenIds({ added, model }: Tokenizer): ReadonlyMap<string, number> {
  return new Map([...Object.entries(model.vocab), ...added.map(({ content, id }) => [content, id] as const)]);
}

const stepSchema = z.looseObject({
  type: z.string(),
  single: z.array(z.looseObject({ SpecialToken: z.looseObject({ id: z.string() }).optional() })).default([]),
});

/** Control tokens that the post-processor's template puts around every text; undefined if it has no template. */
function frameOf(processor: unknown): { first: string; last: string } | undefined {
  const sequence = z.looseObject({ processors: z.array(stepSchema) }).safeParse(processor).data;
  const steps = sequence?.processors ?? [stepSchema.safeParse(processor).data];
  const template = steps.find((step) => step?.type === 'TemplateProcessing');
  const tokenAt = (index: number) => template?.single.at(index)?.SpecialToken?.id ?? '';
  return template && { first: tokenAt(0), last: tokenAt(-1) };
}
