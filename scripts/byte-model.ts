/**
 * Writes the directory of a model without weights, for training from random ones (method `scratch`):
 * `tsx scripts/byte-model.ts <directory> [--layers n] [--hidden n] [--heads n] [--intermediate n]`. Each byte is a
 * token, so an untrained model chooses among only 260. This script wrote `models/tiny-bytes`.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { byteCharacters, type TinyShape } from './tiny-model.js';

const byteShape: TinyShape = { hidden: 64, intermediate: 176, layers: 2, heads: 4, context: 4096 };

const controls = ['<|end|>', '<|system|>', '<|user|>', '<|assistant|>'] as const;

const chatTemplate = `{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}{% if message['role'] == 'assistant' %}<|end|>{% endif %}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}`;

const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: false };

function tokenizer(vocabulary: readonly string[]) {
  const flags = { single_word: false, lstrip: false, rstrip: false, normalized: false, special: true };
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: controls.map((content, id) => ({ id, content, ...flags })),
    normalizer: null,
    pre_tokenizer: byteLevel,
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
      vocab: Object.fromEntries(vocabulary.map((token, id) => [token, id])),
      merges: [],
    },
  };
}

export function writeByteModel(directory: string, shape: TinyShape = byteShape): void {
  const vocabulary = [...controls, ...byteCharacters()];
  const files = {
    'config.json': {
      architectures: ['LlamaForCausalLM'],
      model_type: 'llama',
      hidden_size: shape.hidden,
      intermediate_size: shape.intermediate,
      num_hidden_layers: shape.layers,
      num_attention_heads: shape.heads,
      num_key_value_heads: shape.heads,
      vocab_size: vocabulary.length,
      max_position_embeddings: shape.context,
      rms_norm_eps: 1e-5,
      rope_theta: 10_000,
      hidden_act: 'silu',
      initializer_range: 0.05,
      tie_word_embeddings: false,
      bos_token_id: null,
      eos_token_id: 0,
      pad_token_id: 0,
      torch_dtype: 'float32',
    },
    'generation_config.json': { do_sample: true, temperature: 1, eos_token_id: 0, pad_token_id: 0 },
    'tokenizer.json': tokenizer(vocabulary),
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
  if (directory === undefined) throw new Error('usage: tsx scripts/byte-model.ts <directory> [--layers n] …');
  const shape = Object.fromEntries(Object.entries(values).map(([name, size]) => [name, Number(size)]));
  writeByteModel(directory, { ...byteShape, ...shape });
}
