/** Reads adapters in PEFT's format: a directory with `adapter_config.json` and `adapter_model.safetensors`. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { UserError } from '../../../base/errors.js';
import { readJson } from '../../../base/files/files.js';
import { type LoraScaling, loraScale, parseAdapterConfig } from '../weights/adapter-config.js';
import type { DecoderConfig, Recurrence } from '../weights/decoder-config.js';
import { toFloat32 } from '../weights/quantization.js';
import { readSafetensors, readTensorBytes, type StoredTensor, textOnlyName } from '../weights/safetensors.js';
import { decoderTensors, requireTensor } from './parameters.js';

/** Linear modules that policyloop can train adapters for, by Llama's names. */
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

/** Linear modules of all families that an adapter can change; includes fused projections. */
export const linearModules: readonly string[] = [
  ...adaptableModules,
  ...'qkv_proj gate_up_proj input_linear output_linear c_attn c_proj c_fc'.split(' '),
  ...'out_proj in_proj_qkv in_proj_z in_proj_a in_proj_b'.split(' '),
];

/** Prefix that PEFT adds to module paths in `adapter_model.safetensors`. */
export const adapterPrefix = 'base_model.model.';

/** Change to one module: W becomes W + scale·B·A. */
export interface ModuleChange {
  /** [rank, in] */
  readonly a: StoredTensor;
  /** [out, rank] */
  readonly b: StoredTensor;
  readonly rank: number;
  readonly scale: number;
}

export interface Adapter {
  readonly directory: string;
  /** Path or name of the model on which the adapter was trained, if the config states it. */
  readonly base: string | undefined;
  readonly scaling: LoraScaling;
  /** Changes by module path, e.g. `model.layers.0.self_attn.q_proj`. */
  readonly modules: ReadonlyMap<string, ModuleChange>;
}

/**
 * Reads a PEFT directory, ignoring `ignoredKeys` of its config.
 * @param field setting that names the directory, for errors
 * @throws UserError if the adapter can't be used
 */
export function readAdapter(
  directory: string,
  ignoredKeys: readonly string[] = [],
  field = 'model.adapter',
): Adapter {
  const unusableError = (message: string, hint: string) =>
    new UserError({ field, value: directory, message, hint });
  const file = path.join(directory, 'adapter_config.json');
  const raw = readJson(file);
  if (raw === undefined)
    throw unusableError(
      existsSync(directory)
        ? 'there is no adapter_config.json in this directory'
        : 'there is no such directory',
      'use the directory of a LoRA adapter, with adapter_config.json and adapter_model.safetensors',
    );
  const { base, scaling, alphaOf } = parseAdapterConfig(raw, file, ignoredKeys);
  const weightsFile = path.join(directory, 'adapter_model.safetensors');
  if (!existsSync(weightsFile))
    throw unusableError(
      'there is no adapter_model.safetensors in this directory',
      'if the adapter is in another format (adapter_model.bin), save it again with PEFT',
    );
  const modules = [...factorsIn(weightsFile)].map(([module, factors]) => {
    const { a, b, rank } = pairOf(module, factors);
    return [module, { a, b, rank, scale: loraScale({ ...scaling, rank, alpha: alphaOf(module) }) }] as const;
  });
  if (modules.length > 0) return { directory, base, scaling, modules: new Map(modules) };
  throw new UserError({
    file: weightsFile,
    message: "this adapter has no factors, so it wouldn't change anything",
  });
}

/**
 * Opens an adapter for a model.
 * @throws UserError as in `readAdapter`, or if the adapter doesn't fit the model
 */
export function openAdapter(
  directory: string,
  config: DecoderConfig,
  ignoredKeys: readonly string[] = [],
  field?: string,
): Adapter {
  const adapter = readAdapter(directory, ignoredKeys, field);
  const shapes = new Map(
    decoderTensors(config)
      .filter(({ name }) => linearModules.some((module) => name.endsWith(`.${module}.weight`)))
      .map(({ name, shape }) => [name.slice(0, -'.weight'.length), shape]),
  );
  const hasTiledLayer = config.layers.some(({ recurrence }) => isTiled(recurrence));
  for (const [module, { a, b }] of adapter.modules) {
    if (hasTiledLayer && module.includes('.linear_attn.'))
      throw new UserError({
        file: a.file,
        field: module,
        message: "the base model's GGUF file stores this module's heads in a different order",
        hint: "use the adapter with the model's Hugging Face directory",
      });
    const shape = shapes.get(module);
    if (shape?.[0] !== b.shape[0] || shape?.[1] !== a.shape[1])
      throw new UserError({
        file: a.file,
        field: module,
        value: [b.shape[0], a.shape[1]],
        message: 'this adapter belongs to another model',
        alternatives: [shape === undefined ? 'a model with this module' : `[${shape.join(', ')}]`],
      });
  }
  return adapter;
}

const isTiled = (recurrence: Recurrence | undefined) =>
  recurrence?.order === 'tiled' && recurrence.keyHeads !== recurrence.valueHeads;

type FactorTensors = { readonly [Part in 'lora_A' | 'lora_B']?: StoredTensor };

/** Groups the factors in a file by the path of the module that they change, as in the model's files. */
function factorsIn(file: string): ReadonlyMap<string, FactorTensors> {
  const factorsByModule = new Map<string, FactorTensors>();
  for (const tensor of readSafetensors(file).tensors) {
    const name = textOnlyName(
      tensor.name.startsWith(adapterPrefix) ? tensor.name.slice(adapterPrefix.length) : tensor.name,
    );
    const [, module = '', last = '', part] = /^(.*\.(\w+))\.(lora_[AB])\.weight$/.exec(name) ?? [];
    if (part === undefined || !linearModules.includes(last))
      throw new UserError({
        file,
        field: tensor.name,
        message: "isn't a LoRA matrix (lora_A or lora_B) for one of these modules",
        alternatives: linearModules,
      });
    const found = factorsByModule.get(module) ?? {};
    if (part in found) throw tensorError(tensor, 'occurs twice');
    factorsByModule.set(module, { ...found, [part]: tensor });
  }
  return factorsByModule;
}

function pairOf(module: string, { lora_A: a, lora_B: b }: FactorTensors): Omit<ModuleChange, 'scale'> {
  if (a === undefined || b === undefined)
    throw tensorError(
      (a ?? b)!,
      `has no counterpart: ${module}.${a === undefined ? 'lora_A' : 'lora_B'} is missing`,
    );
  const rank = a.shape[0]!;
  for (const tensor of [a, b]) {
    requireFinite(tensor);
    const { shape } = tensor;
    if (shape.length !== 2 || shape[tensor === a ? 0 : 1] !== rank)
      throw tensorError(tensor, `has the shape [${shape.join(', ')}], but must be a matrix of rank ${rank}`);
  }
  return { a, b, rank };
}

/** @throws UserError if the tensor has an unsupported dtype or non-finite numbers */
function requireFinite(tensor: StoredTensor): void {
  requireTensor(new Map([[tensor.name, tensor]]), tensor.name);
  if (toFloat32(readTensorBytes(tensor), tensor.dtype).every(Number.isFinite)) return;
  throw tensorError(
    tensor,
    'contains numbers that are not finite: the training diverged, or the file is damaged',
    'use an earlier checkpoint, or copy the file again',
  );
}

const tensorError = ({ file, name }: StoredTensor, problem: string, hint = 'save it again with PEFT') =>
  new UserError({ file, field: name, message: `can't use this adapter: the tensor ${problem}`, hint });
