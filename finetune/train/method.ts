/** What a training changes: an adapter, the stored weights, or random ones; its first values and its result. */
import { existsSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import path from 'node:path';
import { UserError } from '../../src/base/errors.js';
import { shellWord } from '../../src/format/shell-word.js';
import { packedWeights } from '../../src/models/local/graph/packed-parameters.js';
import type { DecoderConfig } from '../../src/models/local/weights/decoder-config.js';
import { openWeights } from '../../src/models/local/weights/open-weights.js';
import type { Quantization } from '../../src/models/local/weights/quantization.js';
import {
  initialAdapter,
  initializerRange,
  randomModel,
  storedModel,
  writeAdapter,
} from '../engine/first-values.js';
import { int8Weights } from '../engine/int8-weights.js';
import { type LoraSettings, modulesOf, type Trainable, trainedParameters } from '../engine/trainable.js';
import type { Parameter } from '../engine/training-session.js';
import { requireModelDirectory, writeModel } from '../export/model-directory.js';
import type { MethodSettings } from './settings/method-settings.js';

export type Method =
  | {
      readonly kind: 'lora';
      readonly lora: LoraSettings;
      /** Bits of the frozen weights, as the model will be served. Absent: all. */
      readonly quantization?: Quantization;
      /** What products with frozen weights are computed in; absent: float32. */
      readonly compute?: 'float32' | 'int8';
    }
  /** All weights, from those that are stored. */
  | { readonly kind: 'full' }
  /** All weights, from random ones: config, tokenizer and template are all that the directory need hold. */
  | { readonly kind: 'scratch' };

export function methodOf(settings: MethodSettings): Method {
  if (settings.kind !== 'lora') return settings;
  const { rank, alpha, rsLora, modules, quantization, compute } = settings;
  const dropout = 'dropout' in settings ? settings.dropout : 0;
  return {
    kind: 'lora',
    lora: { rank, alpha, rankStabilized: rsLora, dropout, modules },
    quantization,
    compute,
  };
}

/** What is trained, in a few words. */
export function methodText(settings: MethodSettings): string {
  switch (settings.kind) {
    case 'lora':
      return `LoRA of rank ${settings.rank} on ${settings.modules.join(', ')}`;
    case 'full':
      return 'all weights';
    case 'scratch':
      return 'all weights, from random ones';
  }
}

/**
 * Settings of a run's model that a result is served with; an adapter belongs to the weights that it was trained over, as
 * they were.
 * @param model how a command line is to name the model that was trained
 * @param result likewise the adapter or the model
 */
export function servedAs(method: MethodSettings, model: string, result: string): string {
  if (method.kind !== 'lora') return shellWord(`model.path=${result}`);
  const quantization = method.quantization === 'none' ? [] : [`model.quantization=${method.quantization}`];
  return [shellWord(`model.path=${model}`), shellWord(`model.adapter=${result}`), ...quantization].join(' ');
}

interface MethodJob {
  /** Directory of the model. */
  readonly model: string;
  readonly method: Method;
  /** Directory that the result goes into. */
  readonly output: string;
}

/** The method with the names that the model itself has for the modules to be changed. */
export function withOwnModules(method: Method, config: DecoderConfig): Method {
  if (method.kind !== 'lora') {
    if (config.architecture !== 'gpt2') return method;
    throw new UserError({
      field: 'method.kind',
      value: method.kind,
      message: 'the weights of GPT-2 are not written here, as its files have them transposed',
      alternatives: ['lora'],
    });
  }
  const modules = modulesOf(config, method.lora.modules);
  return { ...method, lora: { ...method.lora, modules } };
}

export function firstParameters(
  { model, method, seed }: { readonly model: string; readonly method: Method; readonly seed: number },
  config: DecoderConfig,
): { trainable: Trainable; parameters: Parameter[] } {
  switch (method.kind) {
    case 'lora': {
      const base = openWeights(model);
      const { quantization = 'none' } = method;
      const quantized = packedWeights(model, config, base, quantization);
      const int8 = method.compute === 'int8' ? int8Weights(model, config, base, quantized) : undefined;
      const trainable: Trainable = { kind: 'adapter', lora: method.lora, base, quantized, int8 };
      const shapes = trainedParameters(config, trainable);
      if (shapes.length === 0)
        throw new UserError({ field: 'modules', message: 'names no module, so nothing would be trained' });
      return { trainable, parameters: initialAdapter(shapes, seed) };
    }
    case 'full':
      requireModelDirectory(model);
      return { trainable: { kind: 'all' }, parameters: storedModel(config, openWeights(model)) };
    case 'scratch':
      requireModelDirectory(model);
      return {
        trainable: { kind: 'all' },
        parameters: randomModel(config, initializerRange(model), seed),
      };
  }
}

/** @returns the directory of the adapter or the model */
export async function writeResult(
  { model, method, output }: MethodJob,
  parameters: readonly Parameter[],
): Promise<string> {
  if (method.kind === 'lora') {
    const adapter = path.join(output, 'adapter');
    writeAdapter(adapter, parameters, method.lora, model);
    return adapter;
  }
  const directory = path.join(output, 'model');
  // The same training makes the same model again.
  rmSync(directory, { recursive: true, force: true });
  await writeModel(directory, model, parameters);
  return directory;
}

/** @throws UserError when a model is where the result will be, and no checkpoint tells that this training made it */
export function refuseOtherModel({ method, model, output }: MethodJob, checkpoint: string): void {
  const directory = path.join(output, 'model');
  if (method.kind === 'lora' || !existsSync(directory) || readdirSync(directory).length === 0) return;
  if (existsSync(checkpoint) && realpathSync(directory) !== realpathSync(model)) return;
  throw new UserError({
    field: 'output',
    value: output,
    message: 'there is a model in it already, in the directory that the result will have',
    remedy: `name another output, or move ${directory} away`,
  });
}
