/** Writes directories of small Llama-shaped models whose tokens are bytes and whole words. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

export type ModelShape = {
  readonly hidden: number;
  readonly intermediate: number;
  readonly layers: number;
  readonly heads: number;
  /** Longest context in tokens. */
  readonly context: number;
};

interface SmallModel {
  readonly shape: ModelShape;
  /** Standard deviation of initial weights. */
  readonly deviation: number;
  /** True if the output layer shares the matrix of the token embedding. */
  readonly tied: boolean;
  /** Special tokens; the first one ends a text. */
  readonly controls: readonly string[];
  /** The words that are tokens, apart from bytes. */
  readonly words: readonly string[];
  /** Regular expression whose matches are looked up as words; without it, all text is split into bytes. */
  readonly split?: string;
  readonly chatTemplate: string;
}

/** Characters for bytes in byte-level tokenizers (GPT-2): printable bytes stay, the others start at U+0100. */
function byteCharacters(): string[] {
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => {
    const printable =
      (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || (byte >= 174 && byte <= 255);
    return String.fromCodePoint(printable ? byte : next++);
  });
}

const bytes = byteCharacters();
const spelled = (text: string) => [...Buffer.from(text)].map((byte) => bytes[byte]!).join('');

/** The ids of all tokens: control tokens, then bytes, then words. Bytes that are also words keep their ids. */
function vocabulary({ controls, words }: SmallModel): ReadonlyMap<string, number> {
  const tokens = [...new Set([...controls, ...bytes, ...words.map(spelled)])];
  return new Map(tokens.map((token, id) => [token, id]));
}

/**
 * Writes everything but weights.
 * @returns the contents of config.json, and the token id of a word
 */
export function writeModelDirectory(directory: string, model: SmallModel) {
  const { controls, deviation, shape, tied } = model;
  const ids = vocabulary(model);
  const config = {
    architectures: ['LlamaForCausalLM'],
    model_type: 'llama',
    hidden_size: shape.hidden,
    intermediate_size: shape.intermediate,
    num_hidden_layers: shape.layers,
    num_attention_heads: shape.heads,
    num_key_value_heads: shape.heads,
    vocab_size: ids.size,
    max_position_embeddings: shape.context,
    rms_norm_eps: 1e-5,
    rope_theta: 10_000,
    hidden_act: 'silu',
    initializer_range: deviation,
    tie_word_embeddings: tied,
    bos_token_id: null,
    eos_token_id: 0,
    pad_token_id: 0,
    torch_dtype: 'float32',
  };
  const files = {
    'config.json': config,
    'generation_config.json': { do_sample: true, temperature: 1, eos_token_id: 0, pad_token_id: 0 },
    'tokenizer.json': tokenizer(model, ids),
    'tokenizer_config.json': {
      tokenizer_class: 'PreTrainedTokenizerFast',
      model_max_length: shape.context,
      eos_token: controls[0],
      pad_token: controls[0],
      clean_up_tokenization_spaces: false,
      chat_template: model.chatTemplate,
    },
  };
  mkdirSync(directory, { recursive: true });
  for (const [name, content] of Object.entries(files))
    writeFileSync(path.join(directory, name), `${JSON.stringify(content, null, 1)}\n`);
  return { config, idOf: (word: string) => ids.get(spelled(word))! };
}

/** `ignore_merges`: a word in the vocabulary becomes one token, without tokens for intermediate merges. */
function tokenizer({ controls, split }: SmallModel, ids: ReadonlyMap<string, number>) {
  const flags = { single_word: false, lstrip: false, rstrip: false, normalized: false, special: true };
  const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: false };
  const words = { type: 'Split', pattern: { Regex: split }, behavior: 'Isolated', invert: false };
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: controls.map((content, id) => ({ id, content, ...flags })),
    normalizer: null,
    pre_tokenizer: split === undefined ? byteLevel : { type: 'Sequence', pretokenizers: [words, byteLevel] },
    post_processor: null,
    decoder: byteLevel,
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ...(split !== undefined && { ignore_merges: true }),
      vocab: Object.fromEntries(ids),
      merges: [],
    },
  };
}

/**
 * If the module at `url` is the script that was started, calls `write` with the directory and the named numbers on the
 * command line, e.g. --layers 3. `usual` contains the defaults.
 */
export function runAsScript<Numbers extends Readonly<Record<string, number>>>(
  url: string,
  usual: Numbers,
  write: (directory: string, numbers: Numbers) => void,
): void {
  if (url !== pathToFileURL(process.argv[1] ?? '').href) return;
  const names = Object.keys(usual);
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: Object.fromEntries(names.map((name) => [name, { type: 'string' } as const])),
  });
  const directory = positionals[0];
  if (directory === undefined) {
    const options = names.map((name) => `[--${name} n]`).join(' ');
    throw new Error(`usage: tsx ${process.argv[1]} <directory> ${options}`);
  }
  const given = Object.entries(values).map(([name, value]) => [name, Number(value)]);
  write(directory, { ...usual, ...Object.fromEntries(given) });
}
