import { copyFileSync, existsSync, mkdirSync, readdirSync, realpathSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { UserError } from '../../src/base/errors.js';
import { isReplaceable, writeAtomic } from '../../src/base/files/draft.js';
import { readJson } from '../../src/base/files/files.js';
import { isGguf } from '../../src/models/local/weights/gguf.js';
import { tensorOf, writeSafetensors } from './safetensors-writer.js';
import type { Parameter } from './training-session.js';

/**
 * Creates a directory, which appears only when `write` has finished. It may replace the output of a command that was
 * killed after completing it. @throws UserError if another process is writing it, or if it contains anything else
 */
export async function makeModelDirectory<T>(
  directory: string,
  write: (draft: string) => Promise<T> | T,
  field = 'output',
): Promise<T> {
  // Replace the target of a symbolic link, not the link itself.
  const output = existsSync(directory) ? realpathSync(directory) : path.resolve(directory);
  const contents = existsSync(output) ? readdirSync(output) : [];
  if (contents.length > 0 && !isReplaceable(output))
    throw new UserError({
      field,
      value: output,
      message: contents.includes('config.json')
        ? 'this directory already contains a model'
        : 'this directory is not empty',
      hint: 'choose a new directory',
    });
  const make = async (draft: string) => {
    mkdirSync(draft);
    return write(draft);
  };
  return writeAtomic(output, make, field);
}

/** @throws UserError for a GGUF file, because the output of training and export reuses files of a model directory */
export function requireModelDirectory(model: string, method?: string): void {
  if (!isGguf(model)) return;
  const requirement = method === undefined ? '--to merged' : `method.kind=${method}`;
  const ggufOption = method === undefined ? '--to gguf' : 'method.kind=lora';
  throw new UserError({
    field: 'model',
    value: model,
    message: `this is a GGUF file, but ${requirement} needs a model directory (config.json, safetensors weights)`,
    hint: `use ${ggufOption}, which accepts a GGUF file, or the Hugging Face directory of the same model, e.g. hf:ORG/NAME after \`policyloop models pull hf:ORG/NAME\``,
  });
}

/** Lists the names of the model's files: all in the directory except subdirectories and weights in other formats. */
export function modelFiles(model: string): string[] {
  return readdirSync(model, { withFileTypes: true })
    .filter((entry) => !entry.isDirectory() && !/\.(bin|pt|pth|gguf|onnx|h5|msgpack)$/.test(entry.name))
    .map(({ name }) => name);
}

/** Changes the dtype in config.json to float32 if it specifies another dtype. */
export function setDtypeFloat32(directory: string): void {
  const file = path.join(directory, 'config.json');
  const config = readJson(file) as Record<string, unknown>;
  const dtypeKeys = ['dtype', 'torch_dtype'].filter((key) => key in config);
  if (dtypeKeys.every((key) => config[key] === 'float32')) return;
  for (const key of dtypeKeys) config[key] = 'float32';
  writeFileSync(file, `${JSON.stringify(config, null, 2)}\n`);
}

/** Writes a model whose weights were all trained; config, tokenizer and chat template come from `source`. */
export async function writeModel(
  output: string,
  source: string,
  parameters: readonly Parameter[],
): Promise<void> {
  await makeModelDirectory(output, (directory) => {
    for (const name of modelFiles(source).filter((file) => !/\.safetensors(\.index\.json)?$/.test(file)))
      copyFileSync(path.join(source, name), path.join(directory, name));
    setDtypeFloat32(directory);
    const tensors = parameters.map((parameter) => tensorOf(parameter, parameter.values));
    writeSafetensors(path.join(directory, 'model.safetensors'), tensors, { format: 'pt' });
  });
}
