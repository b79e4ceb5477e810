/** Models of random blocks, as GGUF files and as directories of the same weights in float32. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { tensorOf, writeSafetensors } from '../../../../finetune/engine/safetensors-writer.js';
import { ggufValue } from '../../../../finetune/export/gguf/format.js';
import { createGenerator } from '../../../../src/base/random/generator.js';
import { readDecoderConfig } from '../../../../src/models/local/families/hf-config.js';
import { blockType } from '../../../../src/models/local/weights/gguf-blocks.js';
import { openWeights } from '../../../../src/models/local/weights/gguf-tensors.js';
import { readRows } from '../../../../src/models/local/weights/rows.js';
import type { TestTensor } from './gguf-writer.js';

const random = createGenerator(5);
const randomBytes = (count: number) =>
  Uint8Array.from({ length: count }, () => Math.floor(random.uniform(0, 256)));

/** Places of the float16 scales in a block. */
const scalePlaces: Readonly<Record<string, readonly number[]>> = {
  Q4_1: [0, 2],
  Q5_1: [0, 2],
  Q2_K: [80, 82],
  Q3_K: [108],
  Q4_K: [0, 2],
  Q5_K: [0, 2],
  Q6_K: [208],
};

/** A matrix of random blocks whose values are about as large as a trained model's. */
export function randomTensor(name: string, shape: readonly number[], dtype: string): TestTensor {
  const { elements, bytes: size } = blockType(dtype)!;
  const blocks = shape.reduce((a, b) => a * b, 1) / elements;
  if (dtype === 'F32') {
    const values = Float32Array.from({ length: blocks }, () => 1 + random.normal(0, 0.1));
    return { name, shape, dtype, bytes: new Uint8Array(values.buffer) };
  }
  const bytes = randomBytes(blocks * size);
  const view = new DataView(bytes.buffer);
  for (let block = 0; block < blocks; block++) {
    // Scales are 2^-12 to 2^-11, or 2^-14 to 2^-13 where blocks have scales of their own besides.
    for (const place of scalePlaces[dtype] ?? [0])
      view.setUint16(block * size + place, (elements === 256 ? 0x400 : 0xc00) | ((block * 37) % 1024), true);
  }
  return { name, shape, dtype, bytes };
}

export const hidden = 256;
const [width, vocabulary] = [512, 258];

export function architectureMetadata(architecture = 'llama'): Record<string, Buffer> {
  const own = (values: Readonly<Record<string, Buffer>>) =>
    Object.fromEntries(Object.entries(values).map(([key, value]) => [`${architecture}.${key}`, value]));
  return {
    'general.architecture': ggufValue.string(architecture),
    ...own({
      block_count: ggufValue.uint32(1),
      context_length: ggufValue.uint32(128),
      embedding_length: ggufValue.uint32(hidden),
      feed_forward_length: ggufValue.uint32(width),
      'attention.head_count': ggufValue.uint32(4),
      'attention.head_count_kv': ggufValue.uint32(2),
      'attention.layer_norm_rms_epsilon': ggufValue.float32(1e-5),
    }),
  };
}

export function decoderTensors(dtype: string, head?: string): TestTensor[] {
  return [
    randomTensor('token_embd.weight', [vocabulary, hidden], dtype),
    randomTensor('blk.0.attn_norm.weight', [hidden], 'F32'),
    randomTensor('blk.0.attn_q.weight', [hidden, hidden], dtype),
    randomTensor('blk.0.attn_k.weight', [hidden / 2, hidden], dtype),
    randomTensor('blk.0.attn_v.weight', [hidden / 2, hidden], dtype),
    randomTensor('blk.0.attn_output.weight', [hidden, hidden], dtype),
    randomTensor('blk.0.ffn_norm.weight', [hidden], 'F32'),
    randomTensor('blk.0.ffn_gate.weight', [width, hidden], dtype),
    randomTensor('blk.0.ffn_up.weight', [width, hidden], dtype),
    randomTensor('blk.0.ffn_down.weight', [hidden, width], dtype),
    randomTensor('output_norm.weight', [hidden], 'F32'),
    ...(head === undefined ? [] : [randomTensor('output.weight', [vocabulary, hidden], head)]),
  ];
}

/** The same model as a directory of float32 weights without a tokenizer. */
export function asDirectory(file: string, directory: string): string {
  mkdirSync(directory);
  const tensors = [...openWeights(file).values()].map((tensor) => {
    return tensorOf(tensor, readRows(tensor));
  });
  writeSafetensors(
    path.join(directory, 'model.safetensors'),
    tensors.sort((a, b) => (a.name < b.name ? -1 : 1)),
  );
  const { tied, heads, kvHeads, intermediate, contextTokens, normEpsilon } = readDecoderConfig(file);
  writeFileSync(
    path.join(directory, 'config.json'),
    JSON.stringify({
      model_type: 'llama',
      hidden_size: hidden,
      num_hidden_layers: 1,
      num_attention_heads: heads,
      num_key_value_heads: kvHeads,
      intermediate_size: intermediate,
      vocab_size: vocabulary,
      rms_norm_eps: normEpsilon,
      tie_word_embeddings: tied,
      max_position_embeddings: contextTokens,
    }),
  );
  return directory;
}
