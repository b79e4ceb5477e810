/** A network made of a decoder that reads an observation as text, and a perceptron on its last hidden state. */
import { UserError } from '../../../../src/base/errors.js';
import type { RandomGenerator } from '../../../../src/base/random/generator.js';
import { ort } from '../../../../src/models/local/engine/onnx-runtime.js';
import { readDecoderConfig } from '../../../../src/models/local/families/hf-config.js';
import { emitDecoder } from '../../../../src/models/local/graph/decoder.js';
import type { Precision } from '../../../../src/models/local/graph/graph.js';
import { applyNorm, decoderTensors } from '../../../../src/models/local/graph/parameters.js';
import { openTextEncoder } from '../../../../src/models/local/tokens/tokenizer.js';
import type { DecoderConfig } from '../../../../src/models/local/weights/decoder-config.js';
import { openWeights } from '../../../../src/models/local/weights/gguf-tensors.js';
import { readWeights } from '../../../engine/first-values.js';
import { inputParameters, type ParameterShape } from '../../../engine/trainable.js';
import {
  concatRows,
  emitLayers,
  initialLayers,
  type LayerSizes,
  layerShapes,
  type NetworkDefinition,
  type Row,
} from './network.js';

export interface Decoder {
  readonly path: string;
  readonly config: DecoderConfig;
  /** Digits after the decimal point of each number. */
  readonly decimals: number;
}

const maxBatchTokens = 4096;

/** @throws UserError if the directory has no supported model */
export const openDecoder = (path: string, decimals: number): Decoder => ({
  path,
  config: readDecoderConfig(path),
  decimals,
});

export function transformerDefinition(
  decoder: Decoder,
  layers: LayerSizes,
  precision: Precision,
): NetworkDefinition {
  const { config } = decoder;
  return {
    ...textInputs(decoder),
    parameters: [...layerShapes(layers), ...bodyTensors(config)],
    outputs: layers.outputs,
    precision,
    emit(g, parameters) {
      const ids = g.input('ids', 'int32', ['B', 'S']);
      const positions = g.input('positions', 'int32', ['S']);
      const lastIndices = g.input('last', 'int32', ['B']);
      const build = { g, config, parameters: inputParameters(g, parameters), precision };
      const { hidden } = emitDecoder(build, { ids, positions, cache: config.layers.map(() => []) });
      const states = g.op('Gather', [hidden, lastIndices], { axis: 0 });
      return emitLayers(g, applyNorm(build, states, config.modules.finalNorm), parameters, layers.activation);
    },
  };
}

/** Returns newly initialized layers and the stored decoder weights. */
export function initialTransformer(
  { path, config }: Decoder,
  layers: LayerSizes,
  random: RandomGenerator,
): Float64Array {
  const weights = new Map(readWeights(config, openWeights(path)).map(({ name, values }) => [name, values]));
  return concatRows([
    initialLayers(layers, random),
    ...bodyTensors(config).map(({ name }) => Float64Array.from(weights.get(name)!)),
  ]);
}

/** The tensors that the last hidden state depends on: all but the head. */
const bodyTensors = (config: DecoderConfig): ParameterShape[] =>
  decoderTensors(config).filter(({ name }) => name !== `${config.modules.head}.weight`);

/** Encodes rows as text. Pads them at the end, where causal attention ignores the padding. */
function textInputs({ path, config, decimals }: Decoder): Pick<NetworkDefinition, 'rowsAtOnce' | 'feeds'> {
  const encode = openTextEncoder(path);
  const cache = new WeakMap<Row, readonly number[]>();
  const idsOf = (row: Row) => {
    const ids = cache.get(row) ?? encode(observationText(row, decimals));
    if (ids.length > config.contextTokens)
      throw new UserError({
        field: 'policy.path',
        value: path,
        message: `an observation has ${ids.length} tokens, more than the context of ${config.contextTokens}`,
        hint: 'lower policy.decimals, or choose a model with a longer context',
      });
    cache.set(row, ids);
    return ids;
  };
  return {
    rowsAtOnce(rows, from) {
      let [count, longest] = [0, 0];
      while (from + count < rows.length) {
        longest = Math.max(longest, idsOf(rows[from + count]!).length);
        if (count > 0 && (count + 1) * longest > maxBatchTokens) break;
        count++;
      }
      return count;
    },
    feeds(rows) {
      const idRows = rows.map(idsOf);
      const width = idRows.reduce((longest, { length }) => Math.max(longest, length), 0);
      const ids = new Int32Array(rows.length * width);
      idRows.forEach((row, i) => {
        ids.set(row, i * width);
      });
      return {
        ids: new ort.Tensor('int32', ids, [rows.length, width]),
        positions: int32Tensor([...Array(width).keys()]),
        last: int32Tensor(idRows.map(({ length }, i) => i * width + length - 1)),
      };
    },
  };
}

function observationText(row: Row, decimals: number): string {
  return Array.from(row, (value) => (Number(value.toFixed(decimals)) + 0).toFixed(decimals)).join(' ');
}

const int32Tensor = (values: readonly number[]) =>
  new ort.Tensor('int32', Int32Array.from(values), [values.length]);
