/** Names, reorders and encodes a decoder's weights for llama.cpp. */
import { UserError } from '../../../src/base/errors.js';
import { decoderTensors, requireTensor } from '../../../src/models/local/graph/parameters.js';
import { ropeFrequencies } from '../../../src/models/local/graph/rotation.js';
import type { DecoderConfig } from '../../../src/models/local/weights/decoder-config.js';
import { ggufFamilies } from '../../../src/models/local/weights/gguf-families.js';
import { ggufName } from '../../../src/models/local/weights/gguf-tensors.js';
import type { Rope } from '../../../src/models/local/weights/rope.js';
import type { StoredTensor, StoredTensors } from '../../../src/models/local/weights/safetensors.js';
import { elementCount } from '../../engine/trainable.js';
import {
  encodeFloats,
  encodeQ8,
  mergedRows,
  q8Block,
  requireHalves,
  type WeightChange,
} from '../merged/merged-rows.js';
import type { RoundingMeter } from '../merged/rounding.js';
import type { GgufTensor, GgufTensorType } from './format.js';

/** Maps architectures of config.json to llama.cpp's. */
const architectures: Readonly<Record<string, string>> = {
  llama: 'llama',
  mistral: 'llama',
  qwen2: 'qwen2',
  qwen3: 'qwen3',
  gemma2: 'gemma2',
  gemma3_text: 'gemma3',
  smollm3: 'smollm3',
  phi3: 'phi3',
  granite: 'granite',
  ministral3: 'mistral3',
  gpt2: 'gpt2',
};

/** @throws UserError for a family that can't be exported */
export function ggufArchitecture({ architecture }: DecoderConfig): string {
  const name = Object.hasOwn(architectures, architecture) ? architectures[architecture] : undefined;
  if (name !== undefined) return name;
  throw new UserError({
    field: 'model_type',
    value: architecture,
    message: "models of this family can't be exported to GGUF",
    alternatives: Object.keys(architectures),
    hint: "convert the model directory with llama.cpp's convert_hf_to_gguf.py; merge an adapter first (`policyloop finetune export --to merged`)",
  });
}

/** Only matrices use `type`; the rest, and position embeddings, are float32. @throws UserError for wrong shapes */
export function fileTensors(
  config: DecoderConfig,
  weights: StoredTensors,
  changes: ReadonlyMap<string, WeightChange>,
  type: GgufTensorType,
  rounding: RoundingMeter,
): GgufTensor[] {
  const architecture = ggufArchitecture(config);
  return [
    ...ropeTensors(config),
    ...decoderTensors(config).map(({ name, shape }): GgufTensor => {
      const weight = requireTensor(weights, name);
      if (weight.shape.join() !== shape.join())
        throw new UserError({
          file: weight.file,
          field: name,
          value: weight.shape,
          message: "the tensor's shape doesn't match config.json",
          alternatives: [shape.join(' × ')],
        });
      const form = fileForm(config, name);
      const isMatrix = shape.length === 2;
      const columns = shape.length === 1 ? 1 : shape.at(-1)!;
      const written = isMatrix && !keptExact(config, name) ? matrixType(type, columns) : 'F32';
      return {
        name: ggufName(architecture, name),
        // Drop a convolution's middle dimension, which has size 1.
        shape: shape.filter((size, i) => shape.length < 3 || size > 1 || i !== 1),
        type: written,
        byteLength: elementCount(shape) * bytesPerElement[written],
        parts: () => encodedRows(weight, changes.get(name), form, columns, written, rounding),
      };
    }),
  ];
}

const keptExact = ({ modules }: DecoderConfig, name: string) => name === `${modules.positions}.weight`;

/** Q8_0 needs widths divisible by 32, so other matrices use F16. */
export const matrixType = (type: GgufTensorType, columns: number): GgufTensorType =>
  type === 'Q8_0' && columns % q8Block !== 0 ? 'F16' : type;

export const bytesPerElement: Readonly<Record<GgufTensorType, number>> = {
  F32: 4,
  F16: 2,
  BF16: 2,
  Q8_0: 34 / 32,
};

/** Merges, converts and encodes a tensor's rows. @throws UserError if a weight is too large for float16 */
export function* encodedRows(
  weight: StoredTensor,
  added: WeightChange | undefined,
  form: FileForm,
  columns: number,
  type: GgufTensorType,
  rounding: RoundingMeter,
): Iterable<Uint8Array> {
  for (const { values, change } of mergedRows(weight, added, form.rows)) {
    const exact = form.change(values, columns);
    const bytes = encode(exact, type, weight.name);
    if (change !== undefined) rounding.add(exact, bytes, type, form.change(change, columns));
    yield bytes;
  }
}

function encode(values: Float32Array, type: GgufTensorType, name: string): Uint8Array {
  if (type === 'F16') requireHalves(values, name, ['--dtype bf16', '--dtype f32']);
  return type === 'Q8_0' ? encodeQ8(values) : encodeFloats(values, type);
}

interface FileForm {
  /** The number of rows to convert at a time must be a multiple of this. */
  readonly rows: number;
  /** Converts rows of `columns` numbers to llama.cpp's order and values. */
  change(values: Float32Array, columns: number): Float32Array;
}

const unchanged: FileForm = { rows: 1, change: (values) => values };

/**
 * Hugging Face rotates element i of a head's first half with element i of its second half. Some of llama.cpp's
 * architectures pair neighboring elements, so the rows of queries and keys are reordered. Norms stored as offsets from
 * 1 get 1 added.
 */
export function fileForm(config: DecoderConfig, name: string): FileForm {
  const { interleaved, wholeNorms } = ggufFamilies[ggufArchitecture(config)]!;
  const { headDim, norm } = config;
  if (interleaved && /\.self_attn\.[qk]_proj\./.test(name))
    return { rows: headDim, change: (values, columns) => interleaveHalves(values, headDim, columns) };
  if (wholeNorms && norm.offset === 1 && name.endsWith('norm.weight'))
    return { rows: 1, change: (values) => values.map((value) => value + 1) };
  return unchanged;
}

/** Moves the first half of each head's rows to even positions, and the second half to odd positions. */
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

/** Tensors with divisors for the rotary frequencies: one for Llama 3.1, two for longrope. */
export function ropeTensors(config: DecoderConfig): GgufTensor[] {
  const { layers, rotaryWidth } = config;
  const rope = layers.find((layer) => layer.rope !== undefined)?.rope;
  if (rope?.scaling === 'longrope')
    return [
      vector('rope_factors_long.weight', Float32Array.from(rope.longFactors)),
      vector('rope_factors_short.weight', Float32Array.from(rope.shortFactors)),
    ];
  return rope?.scaling === 'llama3' && ggufArchitecture(config) === 'llama'
    ? [vector('rope_freqs.weight', llama3Divisors(rope, rotaryWidth))]
    : [];
}

function llama3Divisors(rope: Rope, width: number): Float32Array {
  const scaled = ropeFrequencies(rope, width);
  const plain = ropeFrequencies({ theta: rope.theta, scaling: 'none' }, width);
  return Float32Array.from(plain, (frequency, i) => frequency / scaled[i]!);
}

const vector = (name: string, values: Float32Array): GgufTensor => ({
  name,
  shape: [values.length],
  type: 'F32',
  byteLength: values.byteLength,
  parts: () => [encodeFloats(values, 'F32')],
});
