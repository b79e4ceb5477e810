/** Finds and opens an adapter's base model. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { UserError } from '../../../src/base/errors.js';
import { readJson } from '../../../src/base/files/files.js';
import { readDecoderConfig } from '../../../src/models/local/families/hf-config.js';
import { type Adapter, openAdapter } from '../../../src/models/local/graph/adapter.js';
import { modelDirectory } from '../../../src/models/local/settings.js';
import { isGguf } from '../../../src/models/local/weights/gguf.js';
import { readLineage } from '../../dataset/lineage.js';

export interface AdaptedModel {
  readonly model: string;
  readonly adapter: Adapter;
}

/** @throws UserError if the base isn't found, or the adapter belongs to another model */
export function openBase(
  adapter: string,
  model: string | undefined,
  cwd: string,
  ignoredKeys: readonly string[] = [],
): AdaptedModel {
  const base = findBase(adapter, model, cwd);
  return { model: base, adapter: openAdapter(adapter, readDecoderConfig(base, ignoredKeys), ignoredKeys) };
}

const otherBase = "pass the base model's directory, e.g. --model models/…";

/** Path of an adapter's base (a directory or a GGUF file), found as in `openBase` but not opened. */
export function findBase(adapter: string, model: string | undefined, cwd: string, hint = otherBase): string {
  if (model !== undefined && isAdapter(model))
    throw new UserError({
      field: '--model',
      value: model,
      message: 'this directory contains an adapter, not a model',
      hint,
    });
  return model ?? namedBase(adapter, cwd, hint);
}

export function isAdapter(directory: string): boolean {
  return existsSync(path.join(directory, 'adapter_config.json'));
}

export const holdsModel = (place: string): boolean =>
  existsSync(isGguf(place) ? place : path.join(place, 'config.json'));

/** Chat template variables used in training, from the lineage; empty if there are none. */
export function trainedVariables(directory: string): Readonly<Record<string, unknown>> {
  const config = readLineage(directory)?.config;
  const stated = z.looseObject({ template: z.record(z.string(), z.unknown()) }).safeParse(config);
  return stated.success ? stated.data.template : {};
}

function namedBase(adapter: string, cwd: string, hint: string): string {
  const file = path.join(adapter, 'adapter_config.json');
  const raw = readJson(file);
  if (raw === undefined)
    throw new UserError({
      field: 'adapter',
      value: adapter,
      message: existsSync(adapter)
        ? 'this directory has no adapter_config.json'
        : 'there is no such directory',
      hint: 'choose the directory of a LoRA adapter (adapter_config.json and adapter_model.safetensors)',
    });
  const named = z.looseObject({ base_model_name_or_path: z.string() }).safeParse(raw);
  const name = named.success ? named.data.base_model_name_or_path : undefined;
  const found = [cwd, adapter]
    .map((place) => modelDirectory(name ?? '.', place))
    .find((place) => name !== undefined && holdsModel(place));
  if (found !== undefined) return found;
  throw new UserError({
    file,
    field: 'base_model_name_or_path',
    value: name,
    message: name === undefined ? "doesn't name the base model" : 'model not found',
    hint,
  });
}
