/** Training methods: an adapter, all stored weights, or all weights from a random start. */
import { existsSync, realpathSync, rmSync } from 'node:fs';
import path from 'node:path';
import { UserError } from '../../src/base/errors.js';
import { shellWord } from '../../src/base/text/one-line.js';
import { freeCores } from '../../src/models/local/cores.js';
import { chooseDevice } from '../../src/models/local/engine/device.js';
import { readDecoderConfig } from '../../src/models/local/families/hf-config.js';
import { endTokens } from '../../src/models/local/generation/engine.js';
import { type Adapter, openAdapter } from '../../src/models/local/graph/adapter.js';
import { packWeights } from '../../src/models/local/graph/packed-parameters.js';
import { modelDirectory, withModelField } from '../../src/models/local/settings.js';
import { openTokenizer } from '../../src/models/local/tokens/tokenizer.js';
import { loraScale } from '../../src/models/local/weights/adapter-config.js';
import type { DecoderConfig } from '../../src/models/local/weights/decoder-config.js';
import { readGenerationDefaults } from '../../src/models/local/weights/generation-config.js';
import { openWeights } from '../../src/models/local/weights/gguf-tensors.js';
import { toFloat32 } from '../../src/models/local/weights/quantization.js';
import { readTensorBytes } from '../../src/models/local/weights/safetensors.js';
import { trainingFiles } from '../../src/runs/training-files.js';
import { checkpointThreads } from '../engine/checkpoint.js';
import {
  drawWeights,
  initialAdapter,
  initializerRange,
  readWeights,
  writeAdapter,
} from '../engine/first-values.js';
import { loadInt8Weights } from '../engine/int8-weights.js';
import { requireModelDirectory, writeModel } from '../engine/model-directory.js';
import {
  type LoraSettings,
  requireGradients,
  type TrainableSpec,
  trainedParameters,
  translateModules,
} from '../engine/trainable.js';
import { guardMemory, type Parameter } from '../engine/training-session.js';
import type { MethodSettings, TrainConfig } from './train-config.js';

type AdapterSettings = Extract<MethodSettings, { readonly kind: 'lora' }>;

/** A training method, resolved for a particular model. */
type Method =
  | {
      readonly kind: 'lora';
      readonly settings: AdapterSettings;
      readonly lora: LoraSettings;
      /** Directory of an adapter to continue. Default: a new one, which has no effect at first. */
      readonly adapter: string | undefined;
    }
  /** Trains all weights. `scratch` starts from random values, and needs only config, tokenizer and chat template. */
  | { readonly kind: 'full' | 'scratch' };

/** The fields of a lineage that describe the method. */
export const methodFacts = (method: MethodSettings) => ({
  method: method.kind,
  adapter: method.kind === 'lora' ? method.adapter : undefined,
});

/** Command-line settings that load the result; an adapter needs the base model and quantization used in training. */
export function servingArguments(method: MethodSettings, model: string, result: string): string {
  if (method.kind !== 'lora') return `model.provider=local ${shellWord(`model.path=${result}`)}`;
  return [
    'model.provider=local',
    shellWord(`model.path=${model}`),
    shellWord(`model.adapter=${result}`),
    ...(method.quantization === 'none' ? [] : [`model.quantization=${method.quantization}`]),
  ].join(' ');
}

type ModelSettings = Pick<
  TrainConfig,
  'device' | 'ignoreKeys' | 'model' | 'output' | 'seed' | 'template' | 'threads'
> & { readonly method: MethodSettings };

/** Properties of a training run that are determined before anything large is loaded. */
export interface PlannedModel {
  readonly decoder: DecoderConfig;
  readonly method: Method;
  readonly checkpoint: string;
  /** Default: as in the checkpoint, so results are bit-identical; otherwise all free cores. */
  readonly threads: number;
}

/** @throws UserError if the model can't be read or trained like this, or the result would overwrite a model */
export function planModelTraining({ ignoreKeys, model, output, ...config }: ModelSettings): PlannedModel {
  const decoder = withModelField('model', () => readDecoderConfig(model, ignoreKeys));
  requireGradients(decoder);
  const method = resolveMethod(decoder, config.method, model);
  const checkpoint = path.join(output, trainingFiles.checkpoint);
  rejectOtherModel({ model, method, output }, checkpoint);
  const threads = config.threads ?? checkpointThreads(checkpoint) ?? freeCores();
  return { decoder, method, checkpoint, threads };
}

/** @throws UserError if the device, weights, modules or tokenizer can't be used, or memory runs out */
export async function openModel(
  { decoder: config, method, threads }: PlannedModel,
  { model, seed, template, ...settings }: ModelSettings,
) {
  const device = await chooseDevice(settings.device, 'device');
  const initial = await guardMemory('reading the weights', () =>
    initialParameters({ model, method, seed }, config),
  );
  const tokenizer = openTokenizer(model, template);
  const eosTokens = endTokens(config, readGenerationDefaults(model), tokenizer);
  return { ...initial, config, device, threads, tokenizer, eosTokens };
}

/** @throws UserError for GPT-2 or a GGUF file if all weights are trained, and for an adapter that can't be continued */
function resolveMethod(config: DecoderConfig, settings: MethodSettings, model: string): Method {
  if (settings.kind !== 'lora') {
    requireModelDirectory(model, settings.kind);
    if (config.architecture !== 'gpt2') return settings;
    throw new UserError({
      field: 'method.kind',
      value: settings.kind,
      message: "GPT-2 can't be trained as a whole, because its files store transposed weights",
      alternatives: ['lora'],
    });
  }
  const { alpha, modules, rank, rsLora } = settings;
  const dropout = 'dropout' in settings ? settings.dropout : 0;
  const lora = { rank, alpha, rankStabilized: rsLora, dropout, modules: translateModules(config, modules) };
  const adapter = settings.adapter && modelDirectory(settings.adapter, undefined, 'method.adapter');
  if (adapter !== undefined) requireSameSettings(adapter, lora, config);
  return { kind: 'lora', settings, lora, adapter };
}

/** @throws UserError unless the adapter has this rank, scale and these modules */
function requireSameSettings(adapter: string, lora: LoraSettings, config: DecoderConfig): void {
  const problem = { field: 'method.adapter', value: adapter };
  const actual = continuedLora(openAdapter(adapter, config, [], 'method.adapter'), config, (reason) => {
    const hint = `merge it first: policyloop finetune export ${shellWord(adapter)} --to merged --out …`;
    return new UserError({ ...problem, message: `this adapter can't be continued: ${reason}`, hint });
  });
  const sortedText = (modules: readonly string[]) => modules.toSorted().join();
  if (
    actual.rank === lora.rank &&
    loraScale(actual) === loraScale(lora) &&
    sortedText(actual.modules) === sortedText(lora.modules)
  )
    return;
  const { alpha, modules, rank } = actual;
  throw new UserError({
    ...problem,
    message: 'this adapter was trained with different settings',
    hint: `use its settings: method.rank=${rank} method.alpha=${alpha} method.rsLora=false ${shellWord(`method.modules=[${modules.join(',')}]`)}`,
  });
}

/**
 * @param makeError makes the error for an adapter that can't be continued, given the reason
 * @throws the error, unless the adapter has one rank and scale, on the same modules in every layer
 */
function continuedLora(
  adapter: Adapter,
  decoder: DecoderConfig,
  makeError: (reason: string) => UserError,
): LoraSettings {
  const changes = [...adapter.modules.values()];
  const { rank, scale } = changes[0]!;
  if (changes.some((change) => change.rank !== rank || change.scale !== scale))
    throw makeError('its modules have different ranks or scales');
  const modules = [...new Set([...adapter.modules.keys()].map((path) => path.replace(/^.*\./, '')))];
  const lora = { rank, alpha: scale * rank, rankStabilized: false, dropout: 0, modules };
  const factors = trainedParameters(decoder, { kind: 'adapter', lora, base: new Map() });
  if (factors.length !== 2 * changes.length) throw makeError('it changes only some layers');
  return lora;
}

/** Returns a function that replaces a parameter's initial values with the adapter's. */
const takeAdapterValues =
  ({ modules }: Adapter) =>
  ({ name, shape }: Parameter): Parameter => {
    const [, module, factor] = /^(.*)\.lora_([AB])\.weight$/.exec(name)!;
    const change = modules.get(module!)!;
    const tensor = factor === 'A' ? change.a : change.b;
    return { name, shape, values: toFloat32(readTensorBytes(tensor), tensor.dtype) };
  };

function initialParameters(
  { model, method, seed }: { readonly model: string; readonly method: Method; readonly seed: number },
  config: DecoderConfig,
): { trainable: TrainableSpec; parameters: Parameter[] } {
  switch (method.kind) {
    case 'lora': {
      const { adapter, lora, settings } = method;
      const base = openWeights(model);
      const quantized = packWeights(model, config, base, settings.quantization, 'method.quantization');
      const int8 = settings.compute === 'int8' ? loadInt8Weights(model, config, base, quantized) : undefined;
      const trainable: TrainableSpec = { kind: 'adapter', lora, base, quantized, int8 };
      const shapes = trainedParameters(config, trainable);
      if (shapes.length === 0)
        throw new UserError({
          field: 'method.modules',
          value: lora.modules,
          message: 'the model has none of these modules',
          hint: 'use modules such as q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj and down_proj',
        });
      const parameters = initialAdapter(shapes, seed);
      if (adapter === undefined) return { trainable, parameters };
      return { trainable, parameters: parameters.map(takeAdapterValues(openAdapter(adapter, config))) };
    }
    case 'full':
      return { trainable: { kind: 'all' }, parameters: readWeights(config, openWeights(model)) };
    case 'scratch':
      return { trainable: { kind: 'all' }, parameters: drawWeights(config, initializerRange(model), seed) };
  }
}

interface MethodJob {
  readonly model: string;
  readonly method: Method;
  readonly output: string;
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

/** @throws UserError if the result would overwrite its own base, or a model that this training didn't write */
function rejectOtherModel({ method, model, output }: MethodJob, checkpoint: string): void {
  const result = path.join(output, method.kind === 'lora' ? 'adapter' : 'model');
  if (!existsSync(result)) return;
  const base = method.kind === 'lora' ? method.adapter : model;
  const isBase = base !== undefined && realpathSync(base) === realpathSync(result);
  if (!isBase && (method.kind === 'lora' || existsSync(checkpoint))) return;
  throw new UserError({
    field: 'output',
    value: output,
    message: `already contains ${method.kind === 'lora' ? 'the adapter to continue' : 'a model'}, which the result would overwrite`,
    hint: `choose another output, or move ${result}`,
  });
}
