/** A decoder's weights as llama.cpp names, orders and encodes them. */
import { UserError } from '../../../src/base/errors.js';
import { decoderTensors, requireTensor } from '../../../src/models/local/graph/parameters.js';
import { ropeFrequencies } from '../../../src/models/local/graph/rotation.js';
import type { DecoderConfig } from '../../../src/models/local/weights/decoder-config.js';
import type { Rope } from '../../../src/models/local/weights/rope.js';
import type { StoredTensors } from '../../../src/models/local/weights/safetensors.js';
import { elementCount } from '../../engine/trainable.js';
import { encodeFloats, encodeQ8, mergedRows, q8Block, type WeightChange } from '../merged-rows.js';
import type { GgufTensor, GgufTensorType } from './format.js';

/** llama.cpp's names of what lies in a layer. */
const layerNames: Readonly<Record<string, string>> = {
  input_layernorm: 'attn_norm',
  'self_attn.q_proj': 'attn_q',
  'self_attn.k_proj': 'attn_k',
  'self_attn.v_proj': 'attn_v',
  'self_attn.o_proj': 'attn_output',
  'self_attn.q_norm': 'attn_q_norm',
  'self_attn.k_norm': 'attn_k_norm',
  post_attention_layernorm: 'ffn_norm',
  'mlp.gate_proj': 'ffn_gate',
  'mlp.up_proj': 'ffn_up',
  'mlp.down_proj': 'ffn_down',
};

const otherNames: Readonly<Record<string, string>> = {
  'model.embed_tokens': 'token_embd',
  'model.norm': 'output_norm',
  lm_head: 'output',
};

/** llama.cpp's architectures by those of config.json. */
const architectures = { llama: 'llama', mistral: 'llama', qwen2: 'qwen2', qwen3: 'qwen3' } as const;

/** @throws UserError for a family that isn't exported */
export function ggufArchitecture({ architecture }: DecoderConfig): 'llama' | 'qwen2' | 'qwen3' {
  const names: Readonly<Record<string, 'llama' | 'qwen2' | 'qwen3'>> = architectures;
  const name = names[architecture];
  if (name !== undefined) return name;
  throw new UserError({
    field: 'model_type',
    value: architecture,
    message: 'models of this family are not exported to GGUF',
    alternatives: Object.keys(architectures),
    remedy:
      'merge the adapter (`finetune merge`) and convert the directory with llama.cpp’s convert_hf_to_gguf.py',
  });
}

/**
 * Every tensor of the file. Vectors are float32; matrices have the type asked for, those whose rows can't be cut into
 * blocks of 32 are F16 instead of Q8_0.
 * @throws UserError when a weight is missing
 */
export function ggufTensors(
  config: DecoderConfig,
  weights: StoredTensors,
  changes: ReadonlyMap<string, WeightChange>,
  type: GgufTensorType,
): GgufTensor[] {
  const rope = config.layers[0]!.rope;
  return [
    ...(rope?.scaling === 'llama3' ? [ropeFactors(rope, config.headDim)] : []),
    ...decoderTensors(config).map(({ name, shape }) => {
      const weight = requireTensor(weights, name);
      if (weight.shape.join() !== shape.join())
        throw new UserError({
          file: weight.file,
          field: name,
          value: weight.shape,
          message: 'the tensor has another shape than config.json calls for',
          alternatives: [shape.join(' × ')],
        });
      const columns = shape.at(-1)!;
      const written = shape.length === 1 ? 'F32' : type === 'Q8_0' && columns % q8Block !== 0 ? 'F16' : type;
      const rowsPerHead = shape.length === 1 || !isInterleaved(config, name) ? 1 : config.headDim;
      return {
        name: ggufName(name),
        shape,
        type: written,
        byteLength: elementCount(shape) * bytesPerElement[written],
        *parts() {
          for (const { values } of mergedRows(weight, changes.get(name), rowsPerHead)) {
            yield encode(inGgufOrder(config, name, values, shape.length === 1 ? 1 : columns), written, name);
          }
        },
      };
    }),
  ];
}

const bytesPerElement: Readonly<Record<GgufTensorType, number>> = { F32: 4, F16: 2, BF16: 2, Q8_0: 34 / 32 };

/** @throws UserError when a weight is too large for float16 */
function encode(values: Float32Array, type: GgufTensorType, name: string): Uint8Array {
  if (type === 'F16') requireHalves(values, name);
  return type === 'Q8_0' ? encodeQ8(values) : encodeFloats(values, type);
}

function requireHalves(values: Float32Array, name: string): void {
  for (let i = 0; i < values.length; i++)
    if (Math.abs(values[i]!) >= 65_520)
      throw new UserError({
        field: name,
        value: values[i],
        message: 'a weight is too large for f16',
        alternatives: ['--dtype bf16', '--dtype f32'],
      });
}

/** llama.cpp's name of a weight. */
export function ggufName(name: string): string {
  const [, module, kind] = /^(.*)\.(weight|bias)$/.exec(name)!;
  const layer = /^model\.layers\.(\d+)\.(.*)$/.exec(module!);
  const own = layer === null ? otherNames[module!] : layerNames[layer[2]!];
  if (own === undefined) throw new Error(`llama.cpp has no name for ${name}`);
  return layer === null ? `${own}.${kind}` : `blk.${layer[1]}.${own}.${kind}`;
}

/**
 * Rotary embedding turns pairs of numbers. Hugging Face pairs the i-th of a head's first half with the i-th of the
 * second; llama.cpp's `llama` pairs neighbours, so the rows that make queries and keys change places. Its other
 * architectures pair as Hugging Face does.
 */
function isInterleaved(config: DecoderConfig, name: string): boolean {
  return ggufArchitecture(config) === 'llama' && /\.self_attn\.[qk]_proj\./.test(name);
}

/** The rows of a weight, whole heads of it, or of a factor of its change, in llama.cpp's order. */
export function inGgufOrder(
  config: DecoderConfig,
  name: string,
  values: Float32Array,
  columns: number,
): Float32Array {
  return isInterleaved(config, name) ? interleaveHalves(values, config.headDim, columns) : values;
}

/** Moves the first half of each head's rows to the even places and the second to the odd ones. */
function interleaveHalves(values: Float32Array, headDim: number, columns: number): Float32Array {
  const result = new Float32Array(values.length);
  const half = headDim / 2;
  for (let row = 0; row < values.length / columns; row++) {
    const place = row % headDim;
    const to = row - place + (place < half ? 2 * place : 2 * (place - half) + 1);
    result.set(values.subarray(row * columns, (row + 1) * columns), to * columns);
  }
  return result;
}

/** The divisors of the frequencies in Llama 3.1's scaling, which llama.cpp reads from a tensor. */
function ropeFactors(rope: Rope, headDim: number): GgufTensor {
  const scaled = ropeFrequencies(rope, headDim);
  const plain = ropeFrequencies({ theta: rope.theta, scaling: 'none' }, headDim);
  const factors = Float32Array.from(plain, (frequency, i) => frequency / scaled[i]!);
  return {
    name: 'rope_freqs.weight',
    shape: [factors.length],
    type: 'F32',
    byteLength: factors.byteLength,
    parts: () => [encodeFloats(factors, 'F32')],
  };
}
