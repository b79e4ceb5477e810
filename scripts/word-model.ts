/**
 * Writes the directory of a model without weights whose tokens are the words of the text worlds, for training from
 * random weights (method `scratch`): `tsx scripts/word-model.ts <directory> [--layers n] [--hidden n] [--heads n]
 * [--intermediate n]`. The words are those in the observations and commands of the training fold's games; all other
 * text is split into bytes. This script wrote `models/tiny-words`.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { type TextWorld, textWorlds } from '../src/environments/text/worlds/worlds.js';
import { createGenerator } from '../src/random/generator.js';
import { byteCharacters, type TinyShape } from './tiny-model.js';

const wordShape: TinyShape = { hidden: 64, intermediate: 160, layers: 3, heads: 4, context: 4096 };

const controls = ['<|end|>', '<|system|>', '<|user|>', '<|assistant|>'] as const;

const chatTemplate = `{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}{% if message['role'] == 'assistant' %}<|end|>{% endif %}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}`;

/** A word, with the space before it, is one token; so is any other character. */
const split = ' ?[A-Za-z]+|[0-9]|\\s|[^\\sA-Za-z0-9]';

/** Number of games that together use all words of a world. */
const games = 400;

/** All words of a world's observations and admissible commands along the winning paths, as split by `split`. */
function wordsOf({ game, options }: TextWorld): readonly string[] {
  const fold = 'fold' in options.shape ? { fold: 'train' } : {};
  const texts = Array.from({ length: games }, (_, seed) => {
    const played = game(fold, createGenerator(seed));
    const said = [played.start()];
    for (const command of played.gold ?? []) {
      said.push(...(played.admissible ?? []), command);
      said.push(played.step(command).text);
    }
    return said;
  });
  return texts.flat().flatMap((text) => text.match(new RegExp(split, 'g')) ?? []);
}

function tokenizer() {
  const bytes = byteCharacters();
  const spelled = (text: string) => [...Buffer.from(text)].map((byte) => bytes[byte]!).join('');
  const words = [...new Set(textWorlds.flatMap(wordsOf))].toSorted().map(spelled);
  const tokens = [...new Set([...controls, ...bytes, ...words])];
  const flags = { single_word: false, lstrip: false, rstrip: false, normalized: false, special: true };
  const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: false };
  return {
    size: tokens.length,
    json: {
      version: '1.0',
      truncation: null,
      padding: null,
      added_tokens: controls.map((content, id) => ({ id, content, ...flags })),
      normalizer: null,
      pre_tokenizer: {
        type: 'Sequence',
        pretokenizers: [
          { type: 'Split', pattern: { Regex: split }, behavior: 'Isolated', invert: false },
          byteLevel,
        ],
      },
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
        // A word in the vocabulary becomes one token, so no merges are needed.
        ignore_merges: true,
        vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
        merges: [],
      },
    },
  };
}

export function writeWordModel(directory: string, shape: TinyShape = wordShape): void {
  const { json, size } = tokenizer();
  const files = {
    'config.json': {
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
      initializer_range: 0.05,
      tie_word_embeddings: true,
      bos_token_id: null,
      eos_token_id: 0,
      pad_token_id: 0,
      torch_dtype: 'float32',
    },
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
  mkdirSync(directory, { recursive: true });
  for (const [name, content] of Object.entries(files))
    writeFileSync(path.join(directory, name), `${JSON.stringify(content, null, 1)}\n`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const option = { type: 'string' } as const;
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { layers: option, hidden: option, heads: option, intermediate: option, context: option },
  });
  const directory = positionals[0];
  if (directory === undefined) throw new Error('usage: tsx scripts/word-model.ts <directory> [--layers n] …');
  const shape = Object.fromEntries(Object.entries(values).map(([name, size]) => [name, Number(size)]));
  writeWordModel(directory, { ...wordShape, ...shape });
}
