/** Fine-tunes a model on conversations, and writes an adapter or a model. */
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { machineMemory } from '../../src/base/machine-memory.js';
import { chooseDevice, freeCores } from '../../src/models/local/engine/device.js';
import { readDecoderConfig } from '../../src/models/local/families/hf-config.js';
import { endTokens } from '../../src/models/local/generation/engine.js';
import type { LocalConfig } from '../../src/models/local/settings.js';
import { openTokenizer } from '../../src/models/local/tokens/tokenizer.js';
import { readGenerationDefaults } from '../../src/models/local/weights/generation-config.js';
import { isSampled, type Sample } from '../../src/runs/training/samples.js';
import { trainingFiles } from '../../src/runs/training-files.js';
import { type Conversation, endOfAnswer, renderExample } from '../dataset/read-dataset.js';
import type { TokenExample } from '../engine/batch.js';
import { checkpointThreads } from '../engine/checkpoint.js';
import { requireGradients } from '../engine/trainable.js';
import { orOutOfMemory } from '../engine/training-session.js';
import { estimateMemory, type MemoryEstimate, refuseImpossible } from './memory-estimate.js';
import { firstParameters, type Method, refuseOtherModel, withOwnModules, writeResult } from './method.js';
import { joinedExamples } from './packing.js';
import { chosenSamples, openSamples } from './samples.js';
import type { TrainingSettings } from './supervised.js';
import { type TrainingHooks, type TrainingOutcome, train } from './trainer.js';
import { templateAlarms } from './training-alarms.js';

export interface FineTuning {
  readonly model: string;
  readonly method: Method;
  readonly training: readonly Conversation[];
  readonly validation: readonly Conversation[];
  readonly settings: TrainingSettings;
  /** Chat template variables; use the same ones when serving. */
  readonly template: Readonly<Record<string, unknown>>;
  /** Directory for the result and `checkpoint.safetensors`, from which training resumes. */
  readonly output: string;
  readonly ignoredKeys?: readonly string[] | undefined;
  readonly device: LocalConfig['device'];
  /** Number of held-out prompts that the model answers at validations. Default: 0. */
  readonly samples?: number | undefined;
  /** CPU threads. Default: as in the checkpoint, so results are bit-identical; else all free cores. */
  readonly threads?: number | undefined;
}

export interface FineTuned extends TrainingOutcome {
  readonly result: string | undefined;
}

export interface FineTuningHooks extends Omit<TrainingHooks, 'onValidation'> {
  onSamples?(step: number, samples: readonly Sample[]): void;
  /** Called with the memory estimate before training starts. */
  onMemory?(estimate: MemoryEstimate): void;
}

/** @throws UserError if the model or the examples are unusable, memory is insufficient, or training diverges */
export async function fineTune(given: FineTuning, hooks: FineTuningHooks = {}): Promise<FineTuned> {
  const config = readDecoderConfig(given.model, given.ignoredKeys);
  requireGradients(config);
  const device = await chooseDevice(given.device, 'device');
  const job = { ...given, method: withOwnModules(given.method, config) };
  const checkpoint = path.join(job.output, trainingFiles.checkpoint);
  refuseOtherModel(job, checkpoint);
  const { trainable, parameters } = await orOutOfMemory('reading the weights', () =>
    firstParameters({ ...job, seed: job.settings.seed }, config),
  );
  const threads = job.threads ?? checkpointThreads(checkpoint) ?? freeCores();
  const tokenizer = openTokenizer(job.model, job.template);
  const end = endOfAnswer(job.model, config, tokenizer);
  const alarms = templateAlarms(job.model, tokenizer, job.training);
  const { settings } = job;
  const render = (conversations: readonly Conversation[], observationWeight = 0): readonly TokenExample[] => {
    const examples = conversations.map((conversation) => renderExample(tokenizer, end, conversation));
    return settings.packing === 'conversations' ? joinedExamples(examples, observationWeight) : examples;
  };
  const [training, validation] = [render(job.training, settings.observationWeight), render(job.validation)];
  const speaker = {
    config,
    trainable,
    tokenizer,
    device,
    threads,
    settings,
    eosTokens: endTokens(config, readGenerationDefaults(job.model), tokenizer),
    conversations: chosenSamples(job.validation, settings, job.samples),
  };
  const sessions = 1 + (validation.length > 0 ? 1 : 0) + (speaker.conversations.length > 0 ? 1 : 0);
  const memory = estimateMemory({ config, trainable, training, sessions, settings });
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
    device,
    threads,
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
  const samples = openSamples(speaker);
  const onValidation: TrainingHooks['onValidation'] = async (step, number, values) => {
    if (isSampled(number) && speaker.conversations.length > 0)
      hooks.onSamples?.(step, await samples.answer(values));
  };
  const outcome = await orOutOfMemory('training', () => train(run, { ...withAlarms, onValidation })).finally(
    () => samples.close(),
  );
  return {
    ...outcome,
    result: outcome.ended === 'interrupted' ? undefined : await writeResult(job, outcome.parameters),
  };
}
