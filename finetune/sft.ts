/** Supervised fine-tuning of a model directory: conversations in, an adapter or a model out. */
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { UserError } from '../src/errors.js';
import type { Quantization } from '../src/models/local/config.js';
import { type DecoderConfig, readDecoderConfig } from '../src/models/local/hf-config.js';
import { quantizedWeights } from '../src/models/local/quantized-weights.js';
import { openWeights } from '../src/models/local/safetensors.js';
import { openTokenizer } from '../src/models/local/tokenizer.js';
import type { TokenExample } from './batch.js';
import { initializerRange, randomModel, storedModel } from './initial-model.js';
import { initialAdapter, writeAdapter } from './lora.js';
import { estimateMemory, type MemoryEstimate, machineMemory, refuseImpossible } from './memory-estimate.js';
import { writeModel } from './model-directory.js';
import { type Conversation, endOfAnswer, renderExample } from './rendering.js';
import { type LoraSettings, type Trainable, trainedParameters } from './trainable.js';
import { type TrainingHooks, type TrainingOutcome, type TrainingSettings, train } from './trainer.js';
import { templateAlarms } from './training-alarms.js';
import type { Parameter } from './training-session.js';

export type Method =
  | {
      readonly kind: 'lora';
      readonly lora: LoraSettings;
      /** Of the frozen weights: that which the model will be served with. Absent: none. */
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
  readonly device: string;
  readonly threads: number;
}

export interface FineTuned extends TrainingOutcome {
  /** Directory of the adapter or the model; undefined for a training that was interrupted. */
  readonly result: string | undefined;
}

export interface FineTuningHooks extends TrainingHooks {
  /** Told before anything large is loaded. */
  onMemory?(estimate: MemoryEstimate): void;
}

/** @throws UserError when model or examples can't be used, memory can't suffice or runs out, or the training diverges */
export async function fineTune(job: FineTuning, hooks: FineTuningHooks = {}): Promise<FineTuned> {
  const config = readDecoderConfig(job.model);
  const { trainable, parameters } = beginning(job, config);
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
  const outcome = await train(
    {
      config,
      trainable,
      parameters,
      training,
      validation,
      settings,
      device: job.device,
      threads: job.threads,
      checkpoint: path.join(job.output, 'checkpoint.safetensors'),
    },
    {
      ...hooks,
      onEvent(event) {
        hooks.onEvent?.(event);
        if (event.kind !== 'start') return;
        for (const alarm of alarms) hooks.onEvent?.({ kind: 'alarm', step: event.step, ...alarm });
      },
    },
  );
  return { ...outcome, result: outcome.ended === 'interrupted' ? undefined : write(job, outcome.parameters) };
}

function beginning(
  { model, method, settings }: FineTuning,
  config: DecoderConfig,
): { trainable: Trainable; parameters: Parameter[] } {
  switch (method.kind) {
    case 'lora': {
      const base = openWeights(model);
      const { quantization = 'none' } = method;
      const quantized =
        quantization === 'none'
          ? undefined
          : quantizedWeights(model, config, base, quantization === 'int4' ? 4 : 8);
      const trainable: Trainable = { kind: 'adapter', lora: method.lora, base, quantized };
      const shapes = trainedParameters(config, trainable);
      if (shapes.length === 0)
        throw new UserError({ field: 'modules', message: 'names no module, so nothing would be trained' });
      return { trainable, parameters: initialAdapter(shapes, settings.seed) };
    }
    case 'full':
      return { trainable: { kind: 'all' }, parameters: storedModel(config, openWeights(model)) };
    case 'scratch':
      return {
        trainable: { kind: 'all' },
        parameters: randomModel(config, initializerRange(model), settings.seed),
      };
  }
}

function write({ model, method, output }: FineTuning, parameters: readonly Parameter[]): string {
  if (method.kind === 'lora') {
    const adapter = path.join(output, 'adapter');
    writeAdapter(adapter, parameters, method.lora, model);
    return adapter;
  }
  const directory = path.join(output, 'model');
  writeModel(directory, model, parameters);
  return directory;
}
