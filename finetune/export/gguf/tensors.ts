/** Names, reorders and encodes a decoder's weights for llama.cpp. */
import { UserError } from '../../../src/base/errors.js';
import { decoderTensors, requireTensor } from '../../../src/models/local/graph/parameters.js';
import { ropeFrequencies } from '../../../src/models/local/graph/rotation.js';
import type { DecoderConfig } from '../../../src/models/local/weights/decoder-config.js';
import { ggufFamilies } from '../../../src/models/local/weights/gguf-families.js';
import { ggufName } from '../../../src/models/local/weights/gguf-tensors.js';
import type { Rope } from '../../../src/models/local/weights/rope.js';
import type { StoredTensor, StoredTensors } from '../../../src/models/local/weights/safetensors.js';
import { type TensorToWrite, tensorOf } from '../../engine/safetensors-writer.js';
import { mergeTensor, q8BlockSize, type RowForm, rawForm, type WeightChange } from '../merged/merged-rows.js';
import type { RoundingMeter } from '../merged/rounding.js';
import type { GgufTensorType } from './format.js';

/** Architectures with different names in config.json and llama.cpp. */
const renamedArchitectures = new Map([
  ['mistral', 'llama'],
  ['gemma3_text', 'gemma3'],
  ['ministral3', 'mistral3'],
]);

/** @throws UserError for a family that can't be exported */
export function ggufArchitecture({ architecture }: DecoderConfig): string {
  const name = renamedArchitectures.get(architecture) ?? architecture;
  if (Object.hasOwn(ggufFamilies, name)) return name;
  throw new UserError({
    field: 'model_type',
    value: architecture,
    message: "models of this family can't be exported to GGUF",
    hint: "convert the model directory with llama.cpp's convert_hf_to_gguf.py; merge an adapter first (`policyloop finetune export --to merged`)",
  });
}

/** Inputs from which the tensors of a file are made. */
export interface TensorSources {
  readonly model: string;
  readonly config: DecoderConfig;
  readonly weights: StoredTensors;
  readonly changes: ReadonlyMap<string, WeightChange>;
  readonly type: GgufTensorType;
  readonly roundingMeter: RoundingMeter;
}

/** Matrices use `matrixType`; other tensors and position embeddings are float32. @throws UserError for wrong shapes */
export function fileTensors(sources: TensorSources): TensorToWrite[] {
  const { config, type, weights } = sources;
  const architecture = ggufArchitecture(config);
  return [
    ...ropeTensors(config),
    ...decoderTensors(config).map(({ name, shape }): TensorToWrite => {
      const weight = requireTensor(weights, name);
      if (weight.shape.join() !== shape.join())
        throw new UserError({
          file: weight.file,
          field: name,
          value: weight.shape,
          message: "the tensor's shape doesn't match config.json",
          alternatives: [shape.join(' × ')],
        });
      const isMatrix = shape.length === 2 && name !== `${config.modules.positions}.weight`;
      const target = {
        name: ggufName(architecture, name),
        // Drop a convolution's middle dimension, which has size 1.
        shape: shape.filter((size, i) => shape.length < 3 || size > 1 || i !== 1),
        dtype: isMatrix ? matrixType(type, shape[1]!) : 'F32',
      };
      return tensorToWrite(weight, target, sources);
    }),
  ];
}

export const tensorToWrite = (
  weight: StoredTensor,
  target: Pick<TensorToWrite, 'dtype' | 'name' | 'shape'>,
  { changes, config, roundingMeter }: TensorSources,
): TensorToWrite =>
  mergeTensor(weight, changes.get(weight.name), target, roundingMeter, fileForm(config, weight.name));

/** Q8_0 needs widths divisible by 32, so other matrices use F16. */
export const matrixType = (type: GgufTensorType, columns: number): GgufTensorType =>
  type === 'Q8_0' && columns % q8BlockSize !== 0 ? 'F16' : type;

/**
 * Hugging Face rotates element i of a head's first half with element i of its second half. Some of llama.cpp's
 * architectures pair neighbouring elements, so the rows of queries and keys are reordered. Norms stored as offsets from
 * 1 get 1 added.
 */
function fileForm(config: DecoderConfig, name: string): RowForm {
  const { interleaved, wholeNorms } = ggufFamilies[ggufArchitecture(config)]!;
  const { headDim, norm } = config;
  if (interleaved && /\.self_attn\.[qk]_proj\./.test(name))
    return { rowMultiple: headDim, convert: (values, columns) => interleaveHalves(values, headDim, columns) };
  if (wholeNorms && norm.offset === 1 && name.endsWith('norm.weight'))
    return { rowMultiple: 1, convert: (values) => values.map((value) => value + 1) };
  return rawForm;
}

/** Moves the first half of each head's rows to even positions, and the second half to odd positions. */
function interleaveHalves(values: Float32Array, headDim: number, columns: number): Float32Array {
  const result = new Float32Array(values.length);
  const half = headDim / 2;
  for (let row = 0; row < values.length / columns; row++) {
    const rowInHead = row % headDim;
    const to = row - rowInHead + (rowInHead < half ? 2 * rowInHead : 2 * (rowInHead - half) + 1);
    result.set(values.subarray(row * columns, (row + 1) * columns), to * columns);
  }
  return result;
}

/** Tensors with divisors for the rotary frequencies: one for Llama 3.1, two for longrope. */
export function ropeTensors(config: DecoderConfig): TensorToWrite[] {
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

const vector = (name: string, values: Float32Array): TensorToWrite =>
  tensorOf({ name, shape: [values.length] }, values);
