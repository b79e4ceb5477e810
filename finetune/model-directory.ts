/** Directories of models that are written. */
import { copyFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { UserError } from '../src/errors.js';
import { readJson } from '../src/models/local/json-file.js';
import { tensorOf, writeSafetensors } from './safetensors-writer.js';
import type { Parameter } from './training-session.js';

/** @throws UserError when the directory already holds a model */
export function newModelDirectory(directory: string): void {
  if (existsSync(path.join(directory, 'config.json')))
    throw new UserError({
      field: 'output',
      value: directory,
      message: 'this directory already holds a model',
      remedy: 'name a new directory',
    });
  mkdirSync(directory, { recursive: true });
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
  newModelDirectory(output);
  for (const name of modelFiles(source).filter((one) => !/\.safetensors(\.index\.json)?$/.test(one)))
    copyFileSync(path.join(source, name), path.join(output, name));
  stateFloat32(output);
  writeSafetensors(
    path.join(output, 'model.safetensors'),
    parameters.map((parameter) => tensorOf(parameter, parameter.values)),
    { format: 'pt' },
  );
}
