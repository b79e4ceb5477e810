/** Defines what is trained: a low-rank adapter on frozen weights, or all weights of the model. */
import { UserError } from '../../src/base/errors.js';
import type { GraphBuilder, Precision, Value } from '../../src/models/local/graph/graph.js';
import { loraParameters } from '../../src/models/local/graph/lora.js';
import { packedParameters } from '../../src/models/local/graph/packed-parameters.js';
import type { PackedWeights } from '../../src/models/local/graph/packed-weights.js';
import {
  decoderTensors,
  type ParameterSource,
  storedParameters,
} from '../../src/models/local/graph/parameters.js';
import { type LoraScaling, loraScale } from '../../src/models/local/weights/adapter-config.js';
import type { DecoderConfig } from '../../src/models/local/weights/decoder-config.js';
import type { StoredTensors } from '../../src/models/local/weights/safetensors.js';
import { largest } from '../../src/statistics/descriptive.js';
import { type Int8Weights, int8Parameters } from './int8-product.js';

export interface LoraSettings extends LoraScaling {
  /** Probability that an input of A is set to 0 during training, in [0, 1). */
  readonly dropout: number;
  /** Names of the modules to adapt: the last components of their paths, e.g. `q_proj`. */
  readonly modules: readonly string[];
}

export type TrainableSpec =
  | {
      readonly kind: 'adapter';
      readonly lora: LoraSettings;
      readonly base: StoredTensors;
      /** Quantized matrices to use as the frozen base (QLoRA). Default: the matrices of `base`. */
      readonly quantized?: PackedWeights | undefined;
      /** Int8 matrices for the products during training. Default: the frozen matrices themselves. */
      readonly int8?: Int8Weights | undefined;
    }
  | { readonly kind: 'all' };

export interface ParameterShape {
  readonly name: string;
  readonly shape: readonly number[];
}

export function elementCount(shape: readonly number[]): number {
  return shape.reduce((count, size) => count * size, 1);
}

/** @throws UserError if the model has stateful layers, because their operators have no gradient */
export function requireGradients({ architecture, layers }: DecoderConfig): void {
  if (layers.every(({ recurrence }) => recurrence === undefined)) return;
  throw new UserError({
    field: 'model',
    value: architecture,
    message: `models of this family can't be trained yet: stateful layers have no gradient`,
    alternatives: ['a model with attention in every layer, e.g. Qwen3, Llama, SmolLM2, Gemma 3'],
    hint: 'for training on a dataset, use TRL: `policyloop finetune export CONFIG --to trl --out FOLDER`',
  });
}

/** Lists the trained parameters in order: the model's, or `<module>.lora_A.weight`, `<module>.lora_B.weight`, … */
export function trainedParameters(config: DecoderConfig, trainable: TrainableSpec): ParameterShape[] {
  requireGradients(config);
  if (trainable.kind === 'all') return decoderTensors(config);
  const { rank, modules } = trainable.lora;
  return decoderTensors(config).flatMap(({ name, shape }) => {
    const module = modules.find((moduleName) => name.endsWith(`.${moduleName}.weight`));
    if (module === undefined) return [];
    const path = name.slice(0, -'.weight'.length);
    const [out, inputs] = shape as [number, number];
    return [
      { name: `${path}.lora_A.weight`, shape: [rank, inputs] },
      { name: `${path}.lora_B.weight`, shape: [out, rank] },
    ];
  });
}

/** Translates Llama's module names to the model's own, where several may be fused into one. */
export function translateModules({ modules }: DecoderConfig, names: readonly string[]): readonly string[] {
  const { attention, feedForward } = modules;
  const aliases: Readonly<Record<string, string>> = {
    q_proj: attention[0],
    k_proj: attention[1] ?? attention[0],
    v_proj: attention[2] ?? attention[0],
    o_proj: modules.attentionOutput,
    gate_proj: feedForward[0],
    up_proj: feedForward[1] ?? feedForward[0],
    down_proj: modules.down,
  };
  return [...new Set(names.map((name) => (aliases[name] ?? name).replace(/^.*\./, '')))];
}

/** Graph inputs that hold the random numbers for dropout masks; present only if dropout is on. */
export const dropoutInputNames = { rows: 'dropout_rows', columns: 'dropout_columns' } as const;

/** A prime less than 2³¹, so that products of two residues fit into int64. */
export const dropoutModulus = 2 ** 31 - 1;

/** Provides the decoder's parameters; trained ones are graph inputs. `hasDropout` enables an adapter's dropout. */
export function trainedSource(
  g: GraphBuilder,
  config: DecoderConfig,
  trainable: TrainableSpec,
  precision: Precision,
  hasDropout: boolean,
): ParameterSource {
  const parameters = trainedParameters(config, trainable);
  const inputs = new Map(parameters.map(({ name, shape }) => [name, g.input(name, precision, shape)]));
  if (trainable.kind === 'all') return inputParameters(g, inputs);
  const { lora, base, quantized, int8 } = trainable;
  const stored = storedParameters(g, base, precision);
  const frozen = quantized === undefined ? stored : packedParameters(g, quantized, stored);
  const { tied, modules } = config;
  const head = tied ? modules.embedding : modules.head;
  const dropout =
    hasDropout && lora.dropout > 0 ? emitDropout(g, parameters, lora.dropout, precision) : undefined;
  return loraParameters(
    g,
    int8 === undefined ? frozen : int8Parameters(g, int8, frozen, head),
    precision,
    (module) => {
      const a = inputs.get(`${module}.lora_A.weight`);
      const b = inputs.get(`${module}.lora_B.weight`);
      return a === undefined || b === undefined ? undefined : { a, b, scale: loraScale(lora) };
    },
    dropout,
  );
}

/** Provides parameters that are inputs of the graph, in PyTorch's orientation [out, in]. */
export function inputParameters(g: GraphBuilder, inputs: ReadonlyMap<string, Value>): ParameterSource {
  return {
    linear(module, x, bias) {
      const weight = inputs.get(`${module}.weight`)!;
      return g.op('Gemm', bias ? [x, weight, inputs.get(`${module}.bias`)!] : [x, weight], { transB: 1 });
    },
    embed: (module, ids) => g.op('Gather', [inputs.get(`${module}.weight`)!, ids], { axis: 0 }),
    vector: (name) => inputs.get(name)!,
  };
}

/**
 * Dropout (Srivastava et al. 2014), reproducible from a seed. With two vectors of random numbers in [1, p), p prime,
 * it keeps element (i, j) of module k if rows[i]·columns[j]·m_k mod p < (1 − rate)·p.
 */
function emitDropout(
  g: GraphBuilder,
  parameters: readonly ParameterShape[],
  rate: number,
  precision: Precision,
): (module: string, x: Value) => Value {
  const widths = new Map(parameters.map(({ name, shape }) => [name, shape[1]!]));
  const rows = g.input(dropoutInputNames.rows, 'int64', ['N']);
  const columns = g.input(dropoutInputNames.columns, 'int64', [largest([...widths.values()])]);
  const column = g.op('Reshape', [rows, g.integers([-1, 1])]);
  const modulus = g.integers([dropoutModulus], []);
  const bound = g.integers([Math.floor((1 - rate) * dropoutModulus)], []);
  const modulo = (value: Value) => g.op('Mod', [value, modulus]);
  let multiplier = 1;
  return (module, x) => {
    // Knuth's multiplicative hashing constant gives each module a different multiplier.
    multiplier = Number((BigInt(multiplier) * 2_654_435_761n) % BigInt(dropoutModulus));
    const width = widths.get(`${module}.lora_A.weight`)!;
    const part = g.op('Slice', [columns, g.integers([0]), g.integers([width])]);
    const residues = modulo(g.op('Mul', [part, g.integers([multiplier], [])]));
    const keptMask = g.op('Less', [modulo(g.op('Mul', [column, residues])), bound]);
    const factor = g.op('Mul', [g.cast(keptMask, precision), g.floats(precision, [1 / (1 - rate)], [])]);
    return g.op('Mul', [x, factor]);
  };
}
