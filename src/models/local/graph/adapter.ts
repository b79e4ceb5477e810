/**
 * Low-rank adapters (LoRA, Hu et al. 2021, arXiv 2106.09685): W·x becomes W·x + s·B·(A·x), with A [rank, in] and
 * B [out, rank]. Read from the directories that PEFT writes.
 */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { UserError } from '../../../base/errors.js';
import { checkedValue, readJson } from '../../../storage/files.js';
import type { DecoderConfig } from '../weights/hf-config.js';
import { readSafetensors, type StoredTensor, type StoredTensors } from '../weights/safetensors.js';
import type { GraphBuilder, Precision, Value } from './graph.js';
import { decoderTensors, type ParameterSource } from './parameters.js';

/** Linear modules that an adapter can change. */
export const adaptableModules = [
  'q_proj',
  'k_proj',
  'v_proj',
  'o_proj',
  'gate_proj',
  'up_proj',
  'down_proj',
] as const;
export type AdaptableModule = (typeof adaptableModules)[number];

/** PEFT's prefix of module paths in `adapter_model.safetensors`. */
export const adapterPrefix = 'base_model.model.';

export interface LoraScaling {
  readonly rank: number;
  readonly alpha: number;
  /** Divide by √rank instead of the rank (Kalajdzievski 2023, arXiv 2312.03732). */
  readonly rankStabilized: boolean;
}

export function loraScale({ rank, alpha, rankStabilized }: LoraScaling): number {
  return alpha / (rankStabilized ? Math.sqrt(rank) : rank);
}

/** The two factors of one module, in the graph's precision. */
export interface LoraFactors {
  readonly a: Value;
  readonly b: Value;
}

/**
 * Adds the low-rank products to a model's linear modules.
 * @param factors of a module, or undefined where it stays as it is
 * @param dropout applied to what A reads
 */
export function loraParameters(
  g: GraphBuilder,
  base: ParameterSource,
  precision: Precision,
  scale: number,
  factors: (module: string) => LoraFactors | undefined,
  dropout: (module: string, x: Value) => Value = (_, x) => x,
): ParameterSource {
  return {
    ...base,
    linear(module, x, bias) {
      const product = base.linear(module, x, bias);
      const found = factors(module);
      if (found === undefined) return product;
      const narrow = g.op('Gemm', [dropout(module, x), found.a], { transB: 1 });
      const scaled = g.op('Mul', [narrow, g.floats(precision, [scale], [])]);
      return g.op('Add', [product, g.op('Gemm', [scaled, found.b], { transB: 1 })]);
    },
  };
}

export interface Adapter extends LoraScaling {
  readonly directory: string;
  /** Path or name of the model that it was trained on, where the adapter tells. */
  readonly base: string | undefined;
  readonly dropout: number;
  readonly modules: readonly string[];
  /** By the model's own names: `<module>.lora_A.weight` and `<module>.lora_B.weight`. */
  readonly tensors: StoredTensors;
}

const configSchema = z.looseObject({
  peft_type: z.literal('LORA'),
  base_model_name_or_path: z.string().nullish(),
  r: z.int().positive(),
  lora_alpha: z.number(),
  lora_dropout: z.number().default(0),
  target_modules: z.array(z.string()),
  use_rslora: z.boolean().default(false),
  bias: z.literal('none').default('none'),
  use_dora: z.literal(false).nullish(),
  fan_in_fan_out: z.literal(false).nullish(),
  modules_to_save: z.array(z.never()).nullish(),
  rank_pattern: z.record(z.string(), z.never()).nullish(),
  alpha_pattern: z.record(z.string(), z.never()).nullish(),
});

/**
 * @param directory holding `adapter_config.json` and `adapter_model.safetensors`
 * @throws UserError when it holds no LoRA adapter, or one of a variant that is not supported
 */
export function readAdapter(directory: string): Adapter {
  const file = path.join(directory, 'adapter_config.json');
  const raw = readJson(file);
  if (raw === undefined)
    throw new UserError({
      field: 'model.adapter',
      value: directory,
      message: existsSync(directory)
        ? 'there is no adapter_config.json in this directory'
        : 'there is no such directory',
      remedy: 'name the directory of a LoRA adapter: adapter_config.json and adapter_model.safetensors',
    });
  const config = checkedValue(configSchema, raw, file, { prefix: 'this kind of adapter is not supported: ' });
  const weights = path.join(directory, 'adapter_model.safetensors');
  if (!existsSync(weights))
    throw new UserError({
      field: 'model.adapter',
      value: directory,
      message: 'there is no adapter_model.safetensors in this directory',
      remedy: 'an adapter in another format (adapter_model.bin) can be saved again by PEFT',
    });
  const { tensors } = readSafetensors(weights);
  return {
    directory,
    base: config.base_model_name_or_path ?? undefined,
    rank: config.r,
    alpha: config.lora_alpha,
    dropout: config.lora_dropout,
    rankStabilized: config.use_rslora,
    modules: config.target_modules,
    tensors: new Map(tensors.map((tensor) => ownName(tensor, config.r))),
  };
}

function ownName(tensor: StoredTensor, rank: number): [string, StoredTensor] {
  const name = tensor.name.startsWith(adapterPrefix) ? tensor.name.slice(adapterPrefix.length) : tensor.name;
  const factor = /\.(\w+)\.lora_([AB])\.weight$/.exec(name);
  const known = adaptableModules.some((module) => module === factor?.[1]);
  if (!known || tensor.shape[factor?.[2] === 'A' ? 0 : 1] !== rank)
    throw new UserError({
      file: tensor.file,
      field: tensor.name,
      message: `is no factor of rank ${rank} of a module that can be adapted`,
      alternatives: adaptableModules,
    });
  return [name, tensor];
}

/**
 * An adapter of the given model.
 * @throws UserError also when it does not fit the model
 */
export function openAdapter(directory: string, config: DecoderConfig): Adapter {
  const adapter = readAdapter(directory);
  const weights = new Map(decoderTensors(config).map(({ name, shape }) => [name, shape]));
  for (const [name, { file, shape }] of adapter.tensors) {
    const factor = /^(.*)\.lora_([AB])\.weight$/.exec(name)!;
    const weight = weights.get(`${factor[1]}.weight`);
    const [size, wanted] = factor[2] === 'A' ? [shape[1], weight?.[1]] : [shape[0], weight?.[0]];
    if (size !== wanted)
      throw new UserError({
        file,
        field: name,
        value: size,
        message: 'this adapter belongs to another model',
        alternatives: [wanted === undefined ? 'a model with such a module' : String(wanted)],
      });
  }
  return adapter;
}

/** Both factors of each module that the adapter changes: A [rank, in] and B [out, rank]. */
export function factorsOf({ tensors }: Adapter): Map<string, { a: StoredTensor; b: StoredTensor }> {
  const factors = new Map<string, { a: StoredTensor; b: StoredTensor }>();
  for (const [name, a] of tensors) {
    const module = /^(.*)\.lora_A\.weight$/.exec(name)?.[1];
    const b = tensors.get(`${module}.lora_B.weight`);
    if (module !== undefined && b !== undefined) factors.set(module, { a, b });
  }
  return factors;
}

/** A stored adapter on top of a model's parameters. The adapter's weights are mapped from their file. */
export function adapterParameters(
  g: GraphBuilder,
  adapter: Adapter,
  base: ParameterSource,
  precision: Precision,
): ParameterSource {
  const factors = factorsOf(adapter);
  return loraParameters(g, base, precision, loraScale(adapter), (module) => {
    const found = factors.get(module);
    return found && { a: g.exact(found.a, precision), b: g.exact(found.b, precision) };
  });
}
