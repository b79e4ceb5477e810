/** Reads adapters in PEFT's format: a directory with `adapter_config.json` and `adapter_model.safetensors`. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { UserError } from '../../../base/errors.js';
import { readJson } from '../../../base/files/files.js';
import { plural } from '../../../base/text/numbers.js';
import { type AdapterConfig, loraScale, parseAdapterConfig } from '../weights/adapter-config.js';
import type { DecoderConfig, Recurrence } from '../weights/decoder-config.js';
import { toFloat32 } from '../weights/quantization.js';
import { readSafetensors, readTensorBytes, type StoredTensor, textName } from '../weights/safetensors.js';
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
  ...'qkv_proj gate_up_proj input_linear output_linear c_attn c_proj c_fc in_proj'.split(' '),
  ...'out_proj w1 w2 w3 in_proj_qkv in_proj_z in_proj_a in_proj_b'.split(' '),
];

/** Prefix that PEFT adds to module paths in `adapter_model.safetensors`. */
export const adapterPrefix = 'base_model.model.';

/** Change to one module: W becomes W + scale·B·A. If `magnitude` is given, its rows are then scaled to these lengths. */
export interface ModuleChange {
  /** [rank, in] */
  readonly a: StoredTensor;
  /** [out, rank] */
  readonly b: StoredTensor;
  readonly rank: number;
  readonly scale: number;
  /** [out] */
  readonly magnitude?: StoredTensor;
}

export interface Adapter extends Omit<AdapterConfig, 'scalings'> {
  readonly directory: string;
  /** Changes by module path, e.g. `model.layers.0.self_attn.q_proj`. */
  readonly modules: ReadonlyMap<string, ModuleChange>;
}

/** Reads a PEFT directory, ignoring `ignoredKeys` of its config. @throws UserError if the adapter can't be used */
export function readAdapter(directory: string, ignoredKeys: readonly string[] = []): Adapter {
  return readFiles(directory, ignoredKeys).adapter;
}

/**
 * Opens an adapter for a model.
 * @param field setting that names the directory, for errors
 * @throws UserError like `readAdapter`, and if the adapter doesn't fit the model
 */
export function openAdapter(
  directory: string,
  config: DecoderConfig,
  ignoredKeys: readonly string[] = [],
  field?: string,
): Adapter {
  const { adapter, config: stated, file } = readFiles(directory, ignoredKeys, field);
  const shapes = new Map(
    decoderTensors(config)
      .filter(({ name }) => linearModules.some((module) => name.endsWith(`.${module}.weight`)))
      .map(({ name, shape }) => [name.slice(0, -'.weight'.length), shape]),
  );
  const tiled = config.layers.some(({ recurrence }) => isTiled(recurrence));
  for (const [module, { a, b }] of adapter.modules) {
    if (tiled && module.includes('.linear_attn.'))
      throw new UserError({
        file: a.file,
        field: module,
        message: 'the base model’s GGUF file stores this module’s heads in a different order',
        hint: 'use the adapter with the model’s Hugging Face directory',
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
  const targets = [...stated.scalings([...shapes.keys()]).keys()];
  const missing = targets.filter((module) => !adapter.modules.has(module));
  if (missing.length === 0) return adapter;
  throw new UserError({
    file,
    field: 'target_modules',
    value: missing.slice(0, 3),
    message: `the adapter has no factors for ${missing.length === 1 ? 'this module' : `${missing.length} modules, such as these`}`,
    hint: 'save it again with PEFT, or list only the changed modules in target_modules',
  });
}

const isTiled = (recurrence: Recurrence | undefined) =>
  recurrence?.kind === 'gated delta' &&
  recurrence.order === 'tiled' &&
  recurrence.keyHeads !== recurrence.valueHeads;

function readFiles(
  directory: string,
  ignoredKeys: readonly string[],
  field = 'model.adapter',
): { adapter: Adapter; config: AdapterConfig; file: string } {
  const file = path.join(directory, 'adapter_config.json');
  const raw = readJson(file);
  if (raw === undefined)
    throw new UserError({
      field,
      value: directory,
      message: existsSync(directory)
        ? 'there is no adapter_config.json in this directory'
        : 'there is no such directory',
      hint: 'use the directory of a LoRA adapter, with adapter_config.json and adapter_model.safetensors',
    });
  const config = parseAdapterConfig(raw, file, ignoredKeys);
  const weights = path.join(directory, 'adapter_model.safetensors');
  if (!existsSync(weights))
    throw new UserError({
      field,
      value: directory,
      message: 'there is no adapter_model.safetensors in this directory',
      hint: 'if the adapter is in another format (adapter_model.bin), save it again with PEFT',
    });
  const { scalings: _, ...rest } = config;
  const modules = modulesOf(weights, config);
  return { adapter: { ...rest, directory, modules }, config, file };
}

type Part = 'lora_A' | 'lora_B' | 'lora_magnitude_vector';

function modulesOf(file: string, config: AdapterConfig): ReadonlyMap<string, ModuleChange> {
  const byModule = new Map<string, Map<Part, StoredTensor>>();
  for (const tensor of readSafetensors(file).tensors) {
    const { module, part } = placeOf(tensor, config);
    const parts = byModule.get(module) ?? new Map<Part, StoredTensor>();
    if (parts.has(part)) throw wrong(tensor, 'occurs twice');
    byModule.set(module, parts.set(part, tensor));
  }
  if (byModule.size === 0)
    throw new UserError({ file, message: 'this adapter has no factors, so it wouldn’t change anything' });
  const scalings = config.scalings([...byModule.keys()]);
  return new Map(
    [...byModule].map(([module, parts]) => {
      const scaling = scalings.get(module);
      const [first] = parts.values();
      if (scaling === undefined)
        throw wrong(first!, 'belongs to a module that adapter_config.json doesn’t select');
      return [module, changeOf(module, parts, scaling.rank, loraScale(scaling), config.decomposed)];
    }),
  );
}

/** The path of the module that a tensor changes, as in the model's files, and the part of the change that it stores. */
function placeOf(tensor: StoredTensor, { decomposed }: AdapterConfig): { module: string; part: Part } {
  const name = textName(
    tensor.name.startsWith(adapterPrefix) ? tensor.name.slice(adapterPrefix.length) : tensor.name,
  );
  // The suffix `.weight` is optional for magnitudes, because PEFT omits it.
  const found = /^(.*\.(\w+))\.(?:(lora_[AB])\.weight|(lora_magnitude_vector)(?:\.weight)?)$/.exec(name);
  const part = (found?.[3] ?? found?.[4]) as Part | undefined;
  const known = linearModules.includes(found?.[2] ?? '');
  if (known && part !== undefined && (decomposed || part !== 'lora_magnitude_vector'))
    return { module: found![1]!, part };
  throw new UserError({
    file: tensor.file,
    field: tensor.name,
    message: `isn’t ${decomposed ? 'part of an adapter' : 'a LoRA matrix (lora_A or lora_B)'} for one of these modules`,
    alternatives: linearModules,
  });
}

function changeOf(
  module: string,
  parts: ReadonlyMap<Part, StoredTensor>,
  rank: number,
  scale: number,
  decomposed: boolean,
): ModuleChange {
  const need = (part: Part): StoredTensor => {
    const tensor = parts.get(part);
    if (tensor !== undefined) return checkedTensor(tensor);
    const [other] = parts.values();
    throw wrong(other!, `has no counterpart: ${module}.${part} is missing`);
  };
  const [a, b] = [need('lora_A'), need('lora_B')];
  const magnitude = decomposed ? need('lora_magnitude_vector') : undefined;
  const fits = (tensor: StoredTensor, at: number, size: number, dimensions: number) => {
    if (tensor.shape.length !== dimensions || tensor.shape[at] !== size)
      throw wrong(
        tensor,
        `has the shape [${tensor.shape.join(', ')}], but must have ${plural(dimensions, 'dimension')}, with size ${size} in dimension ${at + 1}`,
      );
  };
  fits(a, 0, rank, 2);
  fits(b, 1, rank, 2);
  if (magnitude !== undefined) fits(magnitude, 0, b.shape[0]!, 1);
  return { a, b, rank, scale, ...(magnitude && { magnitude }) };
}

/** @throws UserError if the tensor has an unsupported dtype or non-finite numbers */
function checkedTensor(given: StoredTensor): StoredTensor {
  const tensor = requireTensor(new Map([[given.name, given]]), given.name);
  if (toFloat32(readTensorBytes(tensor), tensor.dtype).every(Number.isFinite)) return tensor;
  throw wrong(
    tensor,
    'contains numbers that are not finite: the training diverged, or the file is damaged',
    'use an earlier checkpoint, or copy the file again',
  );
}

const wrong = ({ file, name }: StoredTensor, what: string, hint = 'save it again with PEFT') =>
  new UserError({
    file,
    field: name,
    message: `this adapter can't be used: this tensor ${what}`,
    hint,
  });
