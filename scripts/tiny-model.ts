/**
 * Writes the directory of a tiny Llama-shaped model with initial weights, for training all of them:
 * `tsx scripts/tiny-model.ts <directory> [--layers n] [--hidden n] [--heads n] [--intermediate n] [--seed n]`. Its
 * tokenizer has single tokens for the parts of answers and of the prompt set `compact` (keys with their separator,
 * numbers of the grid, ranks), and splits all other text into bytes.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { randomModel } from '../finetune/engine/first-values.js';
import { tensorOf, writeSafetensors } from '../finetune/engine/safetensors-writer.js';
import { parseDecoderConfig } from '../src/models/local/families/hf-config.js';
import { createGenerator } from '../src/random/generator.js';
import { embedWords, type Word } from './word-embeddings.js';

export interface TinyShape {
  readonly hidden: number;
  readonly intermediate: number;
  readonly layers: number;
  readonly heads: number;
  /** Longest context in tokens. */
  readonly context: number;
}

/** 0.8 M parameters without the embedding. */
export const tinyShape: TinyShape = { hidden: 128, intermediate: 352, layers: 4, heads: 4, context: 2048 };

/** Standard deviation of initial weights. */
const deviation = 0.05;

/** Parameters whose key is a token. */
const keys = 64;
/** Values −6.0 … 6.0 in steps of 0.1 and whole numbers up to 100 are tokens. */
const grid = Array.from({ length: 121 }, (_, i) => ((i - 60) / 10).toFixed(1).replace(/^-0\.0$/, '0.0'));
const wholes = Array.from({ length: 101 }, (_, i) => String(i));

/** All tokens other than bytes. A row of a prompt begins with ` params[0]:`, an answer with `params[0]:`. */
const words: readonly Word[] = [
  ...Array.from({ length: keys }, (_, index): Word[] => [
    { kind: 'key', text: `, params[${index}]:`, index, spelling: 'next' },
    { kind: 'key', text: ` params[${index}]:`, index, spelling: 'after a rank' },
  ]).flat(),
  { kind: 'key', text: 'params[0]:', index: 0, spelling: 'first' },
  ...grid.map((text): Word => ({ kind: 'number', text: ` ${text}`, value: Number(text), spelling: 'value' })),
  ...wholes.map(
    (text): Word => ({ kind: 'number', text: ` ${text}`, value: Number(text), spelling: 'count' }),
  ),
  ...wholes.map((text): Word => ({ kind: 'number', text, value: Number(text), spelling: 'rank' })),
  ...['tried', ' stale', 'recent', 'best', 'next'].map((text): Word => ({ kind: 'name', text })),
];

/** How byte-level tokenizers write each byte: printable bytes as they are, the others from U+0100 on (GPT-2). */
export function byteCharacters(): string[] {
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => {
    const printable =
      (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || (byte >= 174 && byte <= 255);
    return String.fromCodePoint(printable ? byte : next++);
  });
}

const controls = ['<|end|>', '<|user|>', '<|assistant|>'] as const;

/** `ignore_merges`: a word in the vocabulary becomes one token, without tokens for intermediate merges. */
function tokenizer() {
  const bytes = byteCharacters();
  const spelled = ({ text }: Word) => [...Buffer.from(text)].map((byte) => bytes[byte]!).join('');
  // Digits keep their ids, because they are bytes.
  const tokens = [...new Set([...controls, ...bytes, ...words.map(spelled)])];
  const ids = new Map(tokens.map((token, id) => [token, id]));
  const control = (content: string, id: number) => ({
    id,
    content,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
    special: true,
  });
  const json = {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: controls.map(control),
    normalizer: null,
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: [
        {
          type: 'Split',
          pattern: { Regex: ',? ?params\\[[0-9]+\\]:| ?-?[0-9]+\\.[0-9]| ?[0-9]+| ?[A-Za-z]+|\\s|[^\\s]' },
          behavior: 'Isolated',
          invert: false,
        },
        { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: false },
      ],
    },
    post_processor: null,
    decoder: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: false },
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: true,
      vocab: Object.fromEntries(ids),
      merges: [],
    },
  };
  return { json, size: tokens.length, idOf: (word: Word) => ids.get(spelled(word))! };
}

/** The system message is always the same, so the model doesn't see it. */
const chatTemplate = `{% for message in messages %}{% if message['role'] == 'user' %}<|user|>{{ message['content'] }}{% elif message['role'] == 'assistant' %}<|assistant|>{{ message['content'] }}<|end|>{% endif %}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}`;

/** @throws UserError if the heads don't divide the width into even parts */
export function writeTinyModel(directory: string, shape: TinyShape = tinyShape, seed = 0): void {
  const { json, size, idOf } = tokenizer();
  const config = {
    architectures: ['LlamaForCausalLM'],
    model_type: 'llama',
    hidden_size: shape.hidden,
    intermediate_size: shape.intermediate,
    num_hidden_layers: shape.layers,
    num_attention_heads: shape.heads,
    num_key_value_heads: shape.heads,
    vocab_size: size,
    max_position_embeddings: shape.context,
    rms_norm_eps: 1e-5,
    rope_theta: 10_000,
    hidden_act: 'silu',
    initializer_range: deviation,
    tie_word_embeddings: true,
    bos_token_id: null,
    eos_token_id: 0,
    pad_token_id: 0,
    torch_dtype: 'float32',
  };
  const files = {
    'config.json': config,
    'generation_config.json': { do_sample: true, temperature: 1, eos_token_id: 0, pad_token_id: 0 },
    'tokenizer.json': json,
    'tokenizer_config.json': {
      tokenizer_class: 'PreTrainedTokenizerFast',
      model_max_length: shape.context,
      eos_token: controls[0],
      pad_token: controls[0],
      clean_up_tokenization_spaces: false,
      chat_template: chatTemplate,
    },
  };
  const decoder = parseDecoderConfig(config, path.join(directory, 'config.json'));
  const parameters = randomModel(decoder, deviation, seed);
  const embedding = parameters.find(({ name }) => name === 'model.embed_tokens.weight')!;
  const placed = words.map((word) => ({ word, row: idOf(word) }));
  embedWords(embedding.values, shape.hidden, deviation, placed, createGenerator(seed, [1]));
  mkdirSync(directory, { recursive: true });
  for (const [name, content] of Object.entries(files))
    writeFileSync(path.join(directory, name), `${JSON.stringify(content, null, 1)}\n`);
  const tensors = parameters.map((parameter) => tensorOf(parameter, parameter.values));
  writeSafetensors(path.join(directory, 'model.safetensors'), tensors, { format: 'pt' });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const option = { type: 'string' } as const;
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { layers: option, hidden: option, heads: option, intermediate: option, seed: option },
  });
  const directory = positionals[0];
  if (directory === undefined) throw new Error('usage: tsx scripts/tiny-model.ts <directory> [--layers n] …');
  const { seed = '0', ...sizes } = values;
  const shape = Object.fromEntries(Object.entries(sizes).map(([name, size]) => [name, Number(size)]));
  writeTinyModel(directory, { ...tinyShape, ...shape }, Number(seed));
}
