/**
 * Writes the directory of a tiny Llama-shaped model without weights, for a training from random initialisation:
 * `tsx scripts/tiny-model.ts <directory>`. Its tokenizer knows what the prompt set `compact` and answers are made of
 * (keys with their separator, numbers of the grid, ranks) as single tokens, and all other text by bytes.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';

export interface TinyShape {
  readonly hidden: number;
  readonly intermediate: number;
  readonly layers: number;
  readonly heads: number;
  /** Longest context in tokens. */
  readonly context: number;
}

/** 0.8 M parameters beside the embedding. */
export const tinyShape: TinyShape = { hidden: 128, intermediate: 352, layers: 4, heads: 4, context: 2048 };

/** Parameters whose key is a token. */
const keys = 64;
/** Values −6.0 … 6.0 in steps of 0.1 and whole numbers up to 100 are tokens. */
const grid = Array.from({ length: 121 }, (_, i) => ((i - 60) / 10).toFixed(1).replace(/^-0\.0$/, '0.0'));
const wholes = Array.from({ length: 101 }, (_, i) => String(i));

/** Every token beside the bytes, those that begin with a separator first: their merges then win over those within them. */
function words(): string[] {
  const indices = Array.from({ length: keys }, (_, i) => i);
  return [
    ...indices.map((i) => `, params[${i}]:`),
    ...indices.map((i) => ` params[${i}]:`),
    ...grid.map((value) => ` ${value}`),
    ...wholes.map((value) => ` ${value}`),
    ' stale',
    ...indices.map((i) => `params[${i}]:`),
    'tried',
    'recent',
    'best',
    'next',
    ...wholes,
  ];
}

/** How byte-level tokenizers write each byte: printable ones as they are, the others from U+0100 on (GPT-2). */
function byteCharacters(): string[] {
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => {
    const printable =
      (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || (byte >= 174 && byte <= 255);
    return String.fromCodePoint(printable ? byte : next++);
  });
}

const controls = ['<|end|>', '<|user|>', '<|assistant|>'] as const;

function tokenizer(): object {
  const bytes = byteCharacters();
  const spelled = (word: string) => [...Buffer.from(word)].map((byte) => bytes[byte]!);
  const vocabulary = new Map<string, number>();
  const add = (token: string) => vocabulary.has(token) || vocabulary.set(token, vocabulary.size);
  for (const control of controls) add(control);
  for (const byte of bytes) add(byte);
  const merges = new Set<string>();
  for (const word of words()) {
    const [first, ...rest] = spelled(word);
    rest.reduce((prefix, character) => {
      merges.add(`${prefix} ${character}`);
      add(prefix + character);
      return prefix + character;
    }, first!);
  }
  const control = (content: string, id: number) => ({
    id,
    content,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
    special: true,
  });
  return {
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
      ignore_merges: false,
      vocab: Object.fromEntries(vocabulary),
      merges: [...merges],
    },
  };
}

/** The system message always says the same, so the model is not shown it. */
const chatTemplate = `{% for message in messages %}{% if message['role'] == 'user' %}<|user|>{{ message['content'] }}{% elif message['role'] == 'assistant' %}<|assistant|>{{ message['content'] }}<|end|>{% endif %}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}`;

export function writeTinyModel(directory: string, shape: TinyShape = tinyShape): void {
  const tokens = tokenizer() as { readonly model: { readonly vocab: object } };
  const config = {
    architectures: ['LlamaForCausalLM'],
    model_type: 'llama',
    hidden_size: shape.hidden,
    intermediate_size: shape.intermediate,
    num_hidden_layers: shape.layers,
    num_attention_heads: shape.heads,
    num_key_value_heads: shape.heads,
    vocab_size: Object.keys(tokens.model.vocab).length,
    max_position_embeddings: shape.context,
    rms_norm_eps: 1e-5,
    rope_theta: 10_000,
    hidden_act: 'silu',
    initializer_range: 0.05,
    tie_word_embeddings: true,
    bos_token_id: null,
    eos_token_id: 0,
    pad_token_id: 0,
    torch_dtype: 'float32',
  };
  const files = {
    'config.json': config,
    'generation_config.json': { do_sample: true, temperature: 1, eos_token_id: 0, pad_token_id: 0 },
    'tokenizer.json': tokens,
    'tokenizer_config.json': {
      tokenizer_class: 'PreTrainedTokenizerFast',
      model_max_length: shape.context,
      eos_token: controls[0],
      pad_token: controls[0],
      clean_up_tokenization_spaces: false,
      chat_template: chatTemplate,
    },
  };
  mkdirSync(directory, { recursive: true });
  for (const [name, content] of Object.entries(files))
    writeFileSync(path.join(directory, name), `${JSON.stringify(content, null, 1)}\n`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const directory = process.argv[2];
  if (directory === undefined) throw new Error('usage: tsx scripts/tiny-model.ts <directory>');
  writeTinyModel(directory);
}
