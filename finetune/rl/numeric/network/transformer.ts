/** A network made of a decoder that reads an observation, and a perceptron on the decoder's last hidden state. */
import { UserError } from '../../../../src/base/errors.js';
import type { RandomGenerator } from '../../../../src/base/random/generator.js';
import { ort } from '../../../../src/models/local/engine/onnx-runtime.js';
import { readDecoderConfig } from '../../../../src/models/local/families/hf-config.js';
import { buildDecoder } from '../../../../src/models/local/graph/decoder.js';
import type { GraphBuilder, Precision, Value } from '../../../../src/models/local/graph/graph.js';
import {
  decoderTensors,
  normalised,
  type ParameterSource,
  storedParameters,
} from '../../../../src/models/local/graph/parameters.js';
import { openTextEncoder } from '../../../../src/models/local/tokens/tokenizer.js';
import type { DecoderConfig } from '../../../../src/models/local/weights/decoder-config.js';
import { openWeights } from '../../../../src/models/local/weights/gguf-tensors.js';
import type { StoredTensors } from '../../../../src/models/local/weights/safetensors.js';
import { storedModel } from '../../../engine/first-values.js';
import { elementCount, inputParameters, type ParameterShape } from '../../../engine/trainable.js';
import type { NetworkDefinition, Row } from './network.js';
import { emitLayers, initialLayers, joined, type Layers, layerShapes } from './network.js';

export type Reading =
  /** The numbers as text, separated by spaces. */
  | { readonly kind: 'text'; readonly decimals: number }
  /** One vector per number: the number times a weight vector, plus a bias vector. */
  | { readonly kind: 'embeddings' };

export interface Decoder {
  readonly path: string;
  readonly config: DecoderConfig;
  readonly weights: StoredTensors;
  readonly reading: Reading;
  readonly inputs: number;
}

const tokensAtOnce = 4096;

/** @throws UserError if the directory has no model, or observations exceed its context */
export function openDecoder(path: string, reading: Reading, inputs: number): Decoder {
  const config = readDecoderConfig(path);
  if (inputs > config.contextTokens) throw tooLong(path, inputs, config, false);
  return { path, config, weights: openWeights(path), reading, inputs };
}

export function transformerDefinition(
  decoder: Decoder,
  layers: Layers,
  precision: Precision,
): NetworkDefinition {
  return {
    ...readerOf(decoder, precision),
    parameters: [...layerShapes(layers), ...numberShapes(decoder), ...trainedTensors(decoder)],
    outputs: layers.outputs,
    precision,
    emit(g, parameters) {
      const source = inputParameters(g, parameters);
      const features = emitFeatures(g, decoder, source, parameters, precision);
      return emitLayers(g, features, parameters, layers.activation);
    },
  };
}

/** Initial values for `transformerDefinition`: the stored decoder weights and fresh layers. */
export function initialTransformer(decoder: Decoder, layers: Layers, random: RandomGenerator): Float64Array {
  const stored = new Map(
    storedModel(decoder.config, decoder.weights).map(({ name, values }) => [name, values]),
  );
  const values = [
    initialLayers(layers, random),
    initialNumbers(decoder, random),
    ...trainedTensors(decoder).map(({ name }) => stored.get(name)!),
  ];
  const theta = new Float64Array(values.reduce((sum, { length }) => sum + length, 0));
  let offset = 0;
  for (const part of values) {
    theta.set(part, offset);
    offset += part.length;
  }
  return theta;
}

/** The frozen decoder; its outputs are the features of an observation. */
export function frozenDefinition(decoder: Decoder, precision: Precision): NetworkDefinition {
  return {
    ...readerOf(decoder, precision),
    parameters: numberShapes(decoder),
    outputs: decoder.config.hidden,
    precision,
    emit: (g, parameters) =>
      emitFeatures(g, decoder, storedParameters(g, decoder.weights, precision), parameters, precision),
  };
}

/** Initial vectors for numbers, on the scale of GPT-2's token embeddings; empty if observations are read as text. */
export function initialNumbers(decoder: Decoder, random: RandomGenerator): Float64Array {
  const count = numberShapes(decoder).reduce((sum, { shape }) => sum + elementCount(shape), 0);
  return Float64Array.from({ length: count }, () => 0.02 * random.normal());
}

function numberShapes({ reading, inputs, config }: Decoder): ParameterShape[] {
  if (reading.kind === 'text') return [];
  const shape = [inputs, config.hidden];
  return [
    { name: 'numbers.weight', shape },
    { name: 'numbers.bias', shape },
  ];
}

/** The tensors that features depend on: all but the head and, unless numbers are read as text, the embedding. */
function trainedTensors({ config, reading }: Decoder): ParameterShape[] {
  const unread = [`${config.modules.head}.weight`];
  if (reading.kind === 'embeddings') unread.push(`${config.modules.embedding}.weight`);
  return decoderTensors(config).filter(({ name }) => !unread.includes(name));
}

/** Hidden state [B, H] of each row's last token, after the final norm. */
function emitFeatures(
  g: GraphBuilder,
  { config, reading, inputs }: Decoder,
  source: ParameterSource,
  parameters: ReadonlyMap<string, Value>,
  precision: Precision,
): Value {
  const isText = reading.kind === 'text';
  const read = isText ? g.input('ids', 'int32', ['B', 'S']) : g.input('x', precision, ['B', inputs]);
  const positions = g.input('positions', 'int32', [isText ? 'S' : inputs]);
  const last = g.input('last', 'int32', ['B']);
  const numbers = (): Value => {
    const scaled = g.op('Mul', [
      g.op('Unsqueeze', [read, g.integers([-1])]),
      parameters.get('numbers.weight')!,
    ]);
    return g.op('Add', [scaled, parameters.get('numbers.bias')!]);
  };
  const reader: ParameterSource = isText
    ? source
    : {
        ...source,
        embed: (module, ids) => (module === config.modules.embedding ? numbers() : source.embed(module, ids)),
      };
  const build = { g, config, parameters: reader, precision };
  const { hidden } = buildDecoder(build, { ids: read, positions, cache: config.layers.map(() => []) });
  return normalised(build, g.op('Gather', [hidden, last], { axis: 0 }), config.modules.finalNorm);
}

type Reader = Pick<NetworkDefinition, 'rowsAtOnce' | 'feeds'>;

function readerOf(decoder: Decoder, precision: Precision): Reader {
  return decoder.reading.kind === 'text'
    ? textReader(decoder, decoder.reading.decimals)
    : numbersReader(decoder, precision);
}

function numbersReader({ inputs }: Decoder, precision: Precision): Reader {
  return {
    rowsAtOnce: () => Math.max(1, Math.floor(tokensAtOnce / inputs)),
    feeds(rows) {
      const values = joined(rows, inputs);
      const data = precision === 'float64' ? values : Float32Array.from(values);
      return {
        x: new ort.Tensor(precision, data, [rows.length, inputs]),
        positions: positionsTensor(inputs),
        last: int32Tensor(rows.map((_, i) => (i + 1) * inputs - 1)),
      };
    },
  };
}

/** Pads rows at the end, where causal attention ignores the padding. */
function textReader(decoder: Decoder, decimals: number): Reader {
  const { path, config } = decoder;
  const encode = openTextEncoder(path);
  const known = new WeakMap<Row, readonly number[]>();
  const idsOf = (row: Row) => {
    const ids = known.get(row) ?? encode(observationText(row, decimals));
    if (ids.length > config.contextTokens) throw tooLong(path, ids.length, config, true);
    known.set(row, ids);
    return ids;
  };
  return {
    rowsAtOnce(rows, from) {
      let [count, longest] = [0, 0];
      while (from + count < rows.length) {
        longest = Math.max(longest, idsOf(rows[from + count]!).length);
        if (count > 0 && (count + 1) * longest > tokensAtOnce) break;
        count++;
      }
      return count;
    },
    feeds(rows) {
      const texts = rows.map(idsOf);
      const width = texts.reduce((longest, { length }) => Math.max(longest, length), 0);
      const ids = new Int32Array(rows.length * width);
      texts.forEach((text, i) => {
        ids.set(text, i * width);
      });
      return {
        ids: new ort.Tensor('int32', ids, [rows.length, width]),
        positions: positionsTensor(width),
        last: int32Tensor(texts.map(({ length }, i) => i * width + length - 1)),
      };
    },
  };
}

function observationText(row: Row, decimals: number): string {
  return Array.from(row, (value) => (Number(value.toFixed(decimals)) + 0).toFixed(decimals)).join(' ');
}

const int32Tensor = (values: readonly number[]) =>
  new ort.Tensor('int32', Int32Array.from(values), [values.length]);

const positionsTensor = (count: number) => int32Tensor([...Array(count).keys()]);

function tooLong(path: string, tokens: number, { contextTokens }: DecoderConfig, isText: boolean): UserError {
  return new UserError({
    field: 'policy.path',
    value: path,
    message: `an observation has ${tokens} tokens, more than the context of ${contextTokens}`,
    hint: `${isText ? 'lower policy.decimals, or ' : ''}choose a model with a longer context`,
  });
}
