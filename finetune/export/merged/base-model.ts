/** Finds and opens an adapter's base model. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { UserError } from '../../../src/base/errors.js';
import { readDecoderConfig } from '../../../src/models/local/families/hf-config.js';
import { type Adapter, openAdapter, readAdapter } from '../../../src/models/local/graph/adapter.js';
import { modelDirectory } from '../../../src/models/local/settings.js';
import { isAdapter } from '../../../src/models/local/summary/adapter-summary.js';
import { isGguf } from '../../../src/models/local/weights/gguf.js';
import { readLineage } from '../../dataset/lineage.js';

/** @throws UserError if the base isn't found, or the adapter belongs to another model */
export function openBase(
  adapter: string,
  model: string | undefined,
  cwd: string,
  ignoredKeys: readonly string[] = [],
): { readonly model: string; readonly adapter: Adapter } {
  const base = findBase(adapter, model, cwd, '--model', ignoredKeys);
  return { model: base, adapter: openAdapter(adapter, readDecoderConfig(base, ignoredKeys), ignoredKeys) };
}

/** Finds an adapter's base (a directory or a GGUF file) as `openBase` does, without opening it. */
export function findBase(
  adapter: string,
  model: string | undefined,
  cwd: string,
  option: string,
  ignoredKeys: readonly string[] = [],
): string {
  const hint = `pass the base model: ${option} models/…`;
  if (model !== undefined && isAdapter(model))
    throw new UserError({
      field: option,
      value: model,
      message: 'this directory contains an adapter, not a model',
      hint,
    });
  if (model !== undefined) return model;
  const { base: name } = readAdapter(adapter, ignoredKeys, 'adapter');
  const directory = [cwd, adapter]
    .map((place) => modelDirectory(name ?? '.', place))
    .find((place) => name !== undefined && holdsModel(place));
  if (directory !== undefined) return directory;
  throw new UserError({
    file: path.join(adapter, 'adapter_config.json'),
    field: 'base_model_name_or_path',
    value: name,
    message: name === undefined ? "doesn't name the base model" : 'model not found',
    hint,
  });
}

export const holdsModel = (place: string): boolean =>
  existsSync(isGguf(place) ? place : path.join(place, 'config.json'));

/** Chat template variables used in training, from the lineage; empty if there are none. */
export function templateVariables(directory: string): Readonly<Record<string, unknown>> {
  const config = readLineage(directory)?.config;
  const parsed = z.looseObject({ template: z.record(z.string(), z.unknown()) }).safeParse(config);
  return parsed.success ? parsed.data.template : {};
}
