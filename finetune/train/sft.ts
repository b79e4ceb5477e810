/** Supervised fine-tuning (SFT) of a model directory: conversations in, an adapter or a model out. */
import { existsSync, mkdirSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import path from 'node:path';
import { UserError } from '../../src/base/errors.js';
import { freeCores } from '../../src/models/local/engine/device.js';
import { readDecoderConfig } from '../../src/models/local/families/hf-config.js';
import { packedWeights } from '../../src/models/local/graph/packed-parameters.js';
import { openTokenizer } from '../../src/models/local/tokens/tokenizer.js';
import type { DecoderConfig } from '../../src/models/local/weights/decoder-config.js';
import { openWeights } from '../../src/models/local/weights/open-weights.js';
import type { Quantization } from '../../src/models/local/weights/quantization.js';
import { type Conversation, endOfAnswer, renderExample } from '../dataset/read-dataset.js';
import type { TokenExample } from '../engine/batch.js';
import { checkpointThreads } from '../engine/checkpoint.js';
import {
  initialAdapter,
  initializerRange,
  randomModel,
  storedModel,
  writeAdapter,
} from '../engine/first-values.js';
import { type LoraSettings, modulesOf, type Trainable, trainedParameters } from '../engine/trainable.js';
import { orOutOfMemory, type Parameter } from '../engine/training-session.js';
import { requireModelDirectory, writeModel } from '../export/model-directory.js';
import { estimateMemory, type MemoryEstimate, machineMemory, refuseImpossible } from './memory-estimate.js';
import { type TrainingHooks, type TrainingOutcome, train } from './trainer.js';
import { templateAlarms } from './training-alarms.js';
import type { TrainingSettings } from './training-run.js';

type Method =
  | {
      readonly kind: 'lora';
      readonly lora: LoraSettings;
      /** Bits of the frozen weights, as the model will be served. Absent: all. */
      readonly quantization?: Quantization;
    }
  /** All weights, from those that are stored. */
  | { readonly kind: 'full' }
  /** All weights, from random ones: config, tokenizer and template are all that the directory need hold. */
  | { readonly kind: 'scratch' };

export interface FineTuning {
  /** Directory of the model. */
  readonly model: string;
  readonly method: Method;
  readonly training: readonly Conversation[];
  readonly validation: readonly Conversation[];
  readonly settings: TrainingSettings;
  /** Variables of the chat template: those that the model will be served with. */
  readonly template: Readonly<Record<string, unknown>>;
  /**
   * Directory for the result: `adapter` or `model`, and `checkpoint.safetensors` on the way. With a checkpoint there,
   * training goes on from it.
   */
  readonly output: string;
  /** Keys of the model's config that are read as if they were not there. */
  readonly ignoredKeys?: readonly string[] | undefined;
  readonly device: string;
  /** Threads of the processor. Absent: those of the checkpoint, so that going on changes no bit, else the free cores. */
  readonly threads?: number | undefined;
}

export interface FineTuned extends TrainingOutcome {
  /** Directory of the adapter or the model; undefined for a training that was interrupted. */
  readonly result: string | undefined;
}

export interface FineTuningHooks extends TrainingHooks {
  /** Called before anything large is loaded. */
  onMemory?(estimate: MemoryEstimate): void;
}

/** @throws UserError when model or examples can't be used, memory can't suffice or runs out, or the training diverges */
export async function fineTune(given: FineTuning, hooks: FineTuningHooks = {}): Promise<FineTuned> {
  const config = readDecoderConfig(given.model, given.ignoredKeys);
  const job = withOwnModules(given, config);
  const checkpoint = path.join(job.output, 'checkpoint.safetensors');
  refuseOtherModel(job, checkpoint);
  const { trainable, parameters } = await orOutOfMemory('reading the weights', () =>
    firstParameters(job, config),
  );
  const tokenizer = openTokenizer(job.model, job.template);
  const end = endOfAnswer(job.model, config, tokenizer);
  const alarms = templateAlarms(job.model, tokenizer, job.training);
  const render = (conversations: readonly Conversation[]): TokenExample[] =>
    conversations.map((conversation) => renderExample(tokenizer, end, conversation));
  const [training, validation] = [render(job.training), render(job.validation)];
  const { settings } = job;
  const memory = estimateMemory({ config, trainable, training, validated: validation.length > 0, settings });
  hooks.onMemory?.(memory);
  refuseImpossible(memory, machineMemory());
  mkdirSync(job.output, { recursive: true });
  const run = {
    config,
    trainable,
    parameters,
    training,
    validation,
    settings,
    device: job.device,
    threads: job.threads ?? checkpointThreads(checkpoint) ?? freeCores(),
    checkpoint,
  };
  const withAlarms: TrainingHooks = {
    ...hooks,
    onEvent(event) {
      hooks.onEvent?.(event);
      if (event.kind !== 'start') return;
      for (const alarm of alarms) hooks.onEvent?.({ kind: 'alarm', step: event.step, ...alarm });
    },
  };
  const outcome = await orOutOfMemory('training', () => train(run, withAlarms));
  return {
    ...outcome,
    result: outcome.ended === 'interrupted' ? undefined : await write(job, outcome.parameters),
  };
}

/** The job with the names that the model itself has for the modules to be changed. */
function withOwnModules(job: FineTuning, config: DecoderConfig): FineTuning {
  const { method } = job;
  if (method.kind !== 'lora') {
    if (config.architecture !== 'gpt2') return job;
    throw new UserError({
      field: 'method.kind',
      value: method.kind,
      message: 'the weights of GPT-2 are not written here, as its files have them transposed',
      alternatives: ['lora'],
    });
  }
  const modules = modulesOf(config, method.lora.modules);
  return { ...job, method: { ...method, lora: { ...method.lora, modules } } };
}

function firstParameters(
  { model, method, settings: { seed } }: FineTuning,
  config: DecoderConfig,
): { trainable: Trainable; parameters: Parameter[] } {
  switch (method.kind) {
    case 'lora': {
      const base = openWeights(model);
      const { quantization = 'none' } = method;
      const quantized = packedWeights(model, config, base, quantization);
      const trainable: Trainable = { kind: 'adapter', lora: method.lora, base, quantized };
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

async function write(
  { model, method, output }: FineTuning,
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
function refuseOtherModel({ method, model, output }: FineTuning, checkpoint: string): void {
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
