/** Training methods: an adapter, all stored weights, or all weights from a random start. */
import { existsSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import path from 'node:path';
import { UserError } from '../../src/base/errors.js';
import { shellWord } from '../../src/base/text/one-line.js';
import { openAdapter } from '../../src/models/local/graph/adapter.js';
import { packedWeights } from '../../src/models/local/graph/packed-parameters.js';
import { modelDirectory } from '../../src/models/local/settings.js';
import { loraScale } from '../../src/models/local/weights/adapter-config.js';
import type { DecoderConfig } from '../../src/models/local/weights/decoder-config.js';
import { openWeights } from '../../src/models/local/weights/gguf-tensors.js';
import type { Quantization } from '../../src/models/local/weights/quantization.js';
import { continuedLora, valuesOf } from '../engine/continued-adapter.js';
import {
  initialAdapter,
  initializerRange,
  randomModel,
  storedModel,
  writeAdapter,
} from '../engine/first-values.js';
import { int8Weights } from '../engine/int8-weights.js';
import { requireModelDirectory, writeModel } from '../engine/model-directory.js';
import { type LoraSettings, modulesOf, type Trainable, trainedParameters } from '../engine/trainable.js';
import type { Parameter } from '../engine/training-session.js';
import type { MethodSettings } from './train-config.js';

export type Method =
  | {
      readonly kind: 'lora';
      readonly lora: LoraSettings;
      /** Directory of an adapter to continue. Default: a new one, which has no effect at first. */
      readonly adapter?: string | undefined;
      /** Quantization of the frozen weights; use the same for serving. Default: none. */
      readonly quantization?: Quantization;
      /** Data type for products with frozen weights. Default: float32. */
      readonly compute?: 'float32' | 'int8';
    }
  /** Trains all weights, starting from the stored weights. */
  | { readonly kind: 'full' }
  /** Trains all weights from random values; the model directory needs only config, tokenizer and chat template. */
  | { readonly kind: 'scratch' };

export function methodOf(settings: MethodSettings): Method {
  if (settings.kind !== 'lora') return settings;
  const { adapter, rank, alpha, rsLora, modules, quantization, compute } = settings;
  const dropout = 'dropout' in settings ? settings.dropout : 0;
  return {
    kind: 'lora',
    lora: { rank, alpha, rankStabilized: rsLora, dropout, modules },
    adapter: adapter && modelDirectory(adapter, undefined, 'method.adapter'),
    quantization,
    compute,
  };
}

/** The method's part of a lineage. */
export const trainedOf = (method: MethodSettings) => ({
  method: method.kind,
  adapter: method.kind === 'lora' ? method.adapter : undefined,
});

/** Command-line settings that load the result with the model and quantization used in training. */
export function servedAs(method: MethodSettings, model: string, result: string): string {
  if (method.kind !== 'lora') return shellWord(`model.path=${result}`);
  const quantization = method.quantization === 'none' ? [] : [`model.quantization=${method.quantization}`];
  return [shellWord(`model.path=${model}`), shellWord(`model.adapter=${result}`), ...quantization].join(' ');
}

interface MethodJob {
  readonly model: string;
  readonly method: Method;
  readonly output: string;
}

/** @throws UserError for GPT-2 if all weights are trained, and for an adapter that can't be continued with these settings */
export function withOwnModules(method: Method, config: DecoderConfig): Method {
  if (method.kind !== 'lora') {
    if (config.architecture !== 'gpt2') return method;
    throw new UserError({
      field: 'method.kind',
      value: method.kind,
      message: "GPT-2 can't be trained as a whole, because its files store transposed weights",
      alternatives: ['lora'],
    });
  }
  const lora = { ...method.lora, modules: modulesOf(config, method.lora.modules) };
  if (method.adapter !== undefined) requireSettings(method.adapter, lora, config);
  return { ...method, lora };
}

/** @throws UserError unless the adapter has this rank, scale and these modules */
function requireSettings(adapter: string, lora: LoraSettings, config: DecoderConfig): void {
  const problem = { field: 'method.adapter', value: adapter };
  const own = continuedLora(openAdapter(adapter, config, [], 'method.adapter'), config, (reason) => {
    const hint = `merge it first: policyloop finetune export ${shellWord(adapter)} --to merged --out …`;
    return new UserError({ ...problem, message: `this adapter can't be continued: ${reason}`, hint });
  });
  const sameModules = own.modules.toSorted().join() === lora.modules.toSorted().join();
  const settings = [
    ...(own.rank === lora.rank ? [] : [`method.rank=${own.rank}`]),
    ...(own.alpha === lora.alpha ? [] : [`method.alpha=${own.alpha}`]),
    ...(lora.rankStabilized ? ['method.rsLora=false'] : []),
    ...(sameModules ? [] : [`method.modules=[${own.modules.join(',')}]`]),
  ];
  if (own.rank === lora.rank && loraScale(own) === loraScale(lora) && sameModules) return;
  throw new UserError({
    ...problem,
    message: 'this adapter was trained with other settings',
    hint: `use the same ones: ${settings.map(shellWord).join(' ')}`,
  });
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
        throw new UserError({
          field: 'modules',
          value: method.lora.modules,
          message: 'the model has none of these modules',
          hint: 'use modules such as q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj and down_proj',
        });
      const parameters = initialAdapter(shapes, seed);
      if (method.adapter === undefined) return { trainable, parameters };
      return { trainable, parameters: parameters.map(valuesOf(openAdapter(method.adapter, config))) };
    }
    case 'full':
      requireModelDirectory(model);
      return { trainable: { kind: 'all' }, parameters: storedModel(config, openWeights(model)) };
    case 'scratch':
      requireModelDirectory(model);
      return { trainable: { kind: 'all' }, parameters: randomModel(config, initializerRange(model), seed) };
  }
}

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
  // A repeated training run overwrites its own result.
  rmSync(directory, { recursive: true, force: true });
  await writeModel(directory, model, parameters);
  return directory;
}

/**
 * @throws UserError if the result would overwrite the model to train, the adapter to continue, or a model in an output
 * without a checkpoint
 */
export function refuseOtherModel({ method, model, output }: MethodJob, checkpoint: string): void {
  if (method.kind === 'lora' && method.adapter === path.resolve(output, 'adapter'))
    throw new UserError({
      field: 'output',
      value: output,
      message: 'contains the adapter to continue, which the result would overwrite',
      hint: 'choose another output',
    });
  const directory = path.join(output, 'model');
  if (method.kind === 'lora' || !existsSync(directory) || readdirSync(directory).length === 0) return;
  if (existsSync(checkpoint) && realpathSync(directory) !== realpathSync(model)) return;
  throw new UserError({
    field: 'output',
    value: output,
    message: 'already contains a model, which the result would overwrite',
    hint: `choose another output, or move ${directory}`,
  });
}
