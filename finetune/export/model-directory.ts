/** Directories of models that are written. */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { UserError } from '../../src/errors.js';
import { readJson } from '../../src/storage/checked-json.js';
import { tensorOf, writeSafetensors } from '../engine/safetensors-writer.js';
import type { Parameter } from '../engine/training-session.js';
import { claim, type Partial } from './file-parts.js';

/**
 * A directory in the making, beside the place that it will have.
 * @throws UserError when something is there already, or another process writes it
 */
export function newModelDirectory(directory: string): Partial {
  // A link may lead to the directory: what it leads to is replaced, not the link.
  const output = existsSync(directory) ? realpathSync(directory) : path.resolve(directory);
  requireFree(output);
  const partial = claim(output);
  mkdirSync(partial.path);
  return {
    ...partial,
    finish() {
      // An empty directory may be there already; not every system renames onto one.
      if (existsSync(output)) rmdirSync(output);
      partial.finish();
    },
  };
}

function requireFree(output: string): void {
  if (!existsSync(output)) return;
  if (existsSync(path.join(output, 'config.json')))
    throw new UserError({
      field: 'output',
      value: output,
      message: 'this directory already holds a model',
      remedy: 'name a new directory',
    });
  if (readdirSync(output).length > 0)
    throw new UserError({
      field: 'output',
      value: output,
      message: 'this directory is not empty',
      remedy: 'name a new directory',
    });
}

/** Files that make up a model: all of the directory itself but weights of other formats. */
export function modelFiles(model: string): string[] {
  return readdirSync(model, { withFileTypes: true })
    .filter((entry) => !entry.isDirectory() && !/\.(bin|pt|pth|gguf|onnx|h5|msgpack)$/.test(entry.name))
    .map(({ name }) => name);
}

/** Makes config.json say that the weights are float32; one that already does stays as it is. */
export function stateFloat32(directory: string): void {
  const file = path.join(directory, 'config.json');
  const config = readJson(file) as Record<string, unknown>;
  const stated = ['dtype', 'torch_dtype'].filter((key) => key in config);
  if (stated.every((key) => config[key] === 'float32')) return;
  for (const key of stated) config[key] = 'float32';
  writeFileSync(file, `${JSON.stringify(config, null, 2)}\n`);
}

/** Writes a model of which every weight was trained; config, tokenizer and template are those of `source`. */
export function writeModel(output: string, source: string, parameters: readonly Parameter[]): void {
  const directory = newModelDirectory(output);
  try {
    for (const name of modelFiles(source).filter((one) => !/\.safetensors(\.index\.json)?$/.test(one)))
      copyFileSync(path.join(source, name), path.join(directory.path, name));
    stateFloat32(directory.path);
    writeSafetensors(
      path.join(directory.path, 'model.safetensors'),
      parameters.map((parameter) => tensorOf(parameter, parameter.values)),
      { format: 'pt' },
    );
    directory.finish();
  } catch (error) {
    directory.abandon();
    throw error;
  }
}
