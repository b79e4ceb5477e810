/** Writes a Hugging Face model directory with random weights, for measurements: `tsx scripts/random-model.ts <shape> <directory> [dtype]`. */
import { closeSync, cpSync, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { packageRoot } from '../src/base/package.js';
import { parseDecoderConfig } from '../src/models/local/families/hf-config.js';
import { decoderTensors } from '../src/models/local/graph/parameters.js';

/** Shapes of published models, and of two small ones. */
export const shapes = {
  'qwen2.5-0.5b': {
    model_type: 'qwen2',
    hidden_size: 896,
    intermediate_size: 4864,
    num_hidden_layers: 24,
    num_attention_heads: 14,
    num_key_value_heads: 2,
    vocab_size: 151_936,
    max_position_embeddings: 32_768,
    rms_norm_eps: 1e-6,
    rope_theta: 1_000_000,
    tie_word_embeddings: true,
  },
  'smollm2-135m': {
    model_type: 'llama',
    hidden_size: 576,
    intermediate_size: 1536,
    num_hidden_layers: 30,
    num_attention_heads: 9,
    num_key_value_heads: 3,
    vocab_size: 49_152,
    max_position_embeddings: 8192,
    rms_norm_eps: 1e-5,
    rope_theta: 100_000,
    tie_word_embeddings: true,
  },
  /** Has a million parameters; for reinforcement learning. */
  'llama-1m': {
    model_type: 'llama',
    hidden_size: 128,
    intermediate_size: 384,
    num_hidden_layers: 4,
    num_attention_heads: 4,
    num_key_value_heads: 4,
    vocab_size: 512,
    max_position_embeddings: 2048,
    rms_norm_eps: 1e-5,
    rope_theta: 10_000,
    tie_word_embeddings: false,
  },
  'llama-30m': {
    model_type: 'llama',
    hidden_size: 512,
    intermediate_size: 1408,
    num_hidden_layers: 9,
    num_attention_heads: 8,
    num_key_value_heads: 8,
    vocab_size: 512,
    max_position_embeddings: 2048,
    rms_norm_eps: 1e-5,
    rope_theta: 10_000,
    tie_word_embeddings: false,
  },
} as const;
export type ShapeName = keyof typeof shapes;
export type RandomDtype = 'F32' | 'BF16';

/** Uses a reference model's tokenizer; tokens beyond its 512 have no text. */
export function writeRandomModel(shape: ShapeName, directory: string, dtype: RandomDtype): void {
  mkdirSync(directory, { recursive: true });
  const config = { ...shapes[shape], torch_dtype: dtype === 'F32' ? 'float32' : 'bfloat16', eos_token_id: 2 };
  writeFileSync(path.join(directory, 'config.json'), JSON.stringify(config, undefined, 2));
  const reference = path.join(packageRoot(), 'test/fixtures/reference-models/qwen3-fp32');
  for (const file of ['tokenizer.json', 'tokenizer_config.json', 'chat_template.jinja'])
    cpSync(path.join(reference, file), path.join(directory, file));
  const width = dtype === 'F32' ? 4 : 2;
  const header: Record<string, unknown> = {};
  const sizes: number[] = [];
  let end = 0;
  for (const { name, shape: dimensions } of decoderTensors(parseDecoderConfig(config, 'config.json'))) {
    const length = dimensions.reduce((a, b) => a * b, 1) * width;
    header[name] = { dtype, shape: dimensions, data_offsets: [end, end + length] };
    sizes.push(length);
    end += length;
  }
  // Pad with spaces, as the safetensors library does, because the runtime copies unaligned weights.
  const json = JSON.stringify(header);
  const text = Buffer.from(json.padEnd(Math.ceil(json.length / 8) * 8));
  const prefix = Buffer.alloc(8);
  prefix.writeBigUInt64LE(BigInt(text.length));
  const descriptor = openSync(path.join(directory, 'model.safetensors'), 'w');
  writeSync(descriptor, Buffer.concat([prefix, text]));
  const random = xorshift(1);
  const block = Buffer.alloc(1 << 22);
  sizes.forEach((length) => {
    // Fill norms and biases in the same way: values near 0 are good enough for timings.
    for (let written = 0; written < length; written += block.length) {
      fill(block, dtype, random);
      writeSync(descriptor, block, 0, Math.min(block.length, length - written));
    }
  });
  closeSync(descriptor);
}

/** Fills with uniform values in ±0.035, about the spread of trained weights. */
function fill(block: Buffer, dtype: RandomDtype, random: () => number): void {
  if (dtype === 'F32') {
    const values = new Float32Array(block.buffer, block.byteOffset, block.length / 4);
    for (let i = 0; i < values.length; i++) values[i] = (random() / 2 ** 32 - 0.5) * 0.07;
    return;
  }
  const float = new Float32Array(1);
  const bits = new Uint32Array(float.buffer);
  const values = new Uint16Array(block.buffer, block.byteOffset, block.length / 2);
  for (let i = 0; i < values.length; i++) {
    float[0] = (random() / 2 ** 32 - 0.5) * 0.07;
    values[i] = bits[0]! >>> 16;
  }
}

/** Marsaglia's 32-bit xorshift (2003): fast, and good enough for meaningless weights. */
function xorshift(seed: number): () => number {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [shape, directory, dtype = 'BF16'] = process.argv.slice(2);
  if (shape === undefined || directory === undefined || !(shape in shapes)) {
    process.stderr.write(
      `usage: random-model.ts <${Object.keys(shapes).join('|')}> <directory> [F32|BF16]\n`,
    );
    process.exitCode = 2;
  } else {
    writeRandomModel(shape as ShapeName, directory, dtype as RandomDtype);
  }
}
