/** Opens the learner that trains a run's model during the run (`adapt`). */
import { UserError } from '../../../src/base/errors.js';
import { freshLora } from '../../../src/config/learning/adapt.js';
import type { AdaptingConfig, Learning } from '../../../src/experiment/learner.js';
import { chooseDevice, freeCores } from '../../../src/models/local/engine/device.js';
import { readDecoderConfig } from '../../../src/models/local/families/hf-config.js';
import { type Adapter, openAdapter } from '../../../src/models/local/graph/adapter.js';
import { modelDirectory } from '../../../src/models/local/settings.js';
import { withStoreDefaults } from '../../../src/models/local/stores/stored-models.js';
import { openTokenizer } from '../../../src/models/local/tokens/tokenizer.js';
import type { DecoderConfig } from '../../../src/models/local/weights/decoder-config.js';
import { readGenerationDefaults, samplingOf } from '../../../src/models/local/weights/generation-config.js';
import { learningSeed } from '../../../src/random/seeds.js';
import { continuedLora, valuesOf } from '../../engine/continued-adapter.js';
import { type LoraSettings, modulesOf, requireGradients, type Trainable } from '../../engine/trainable.js';
import { orOutOfMemory, type Parameter } from '../../engine/training-session.js';
import { firstParameters } from '../../train/method.js';
import { policyObjective } from '../../train/objectives/policy.js';
import { openSessions, readsReference } from '../improvement.js';
import { openReward } from '../proposer/reward.js';
import { LearnerStates, objectiveOf, RunLearner } from './run-learner.js';

export const learning: Learning = {
  modules: (config) => plannedAdapter(config).lora.modules,
  async open(config, run, completed) {
    const { adapt, environment, model } = config;
    const plan = plannedAdapter(config);
    const terms = await openReward(adapt.reward);
    const threads = model.threads ?? new LearnerStates(run).threads ?? freeCores();
    const begun = await orOutOfMemory('reading the weights', () => begunAdapter(plan, config));
    const tokenizer = openTokenizer(plan.model, model.template);
    const encode = (messages: Parameters<typeof tokenizer.encodePrompt>[0]) =>
      tokenizer.encodePrompt(messages);
    const settings = objectiveOf(adapt);
    const reused = adapt.epochs > 1;
    const objective = policyObjective(settings, {
      ...{ temperature: plan.temperature, reused, maxCompletionTokens: model.maxTokens },
      constrained: model.format !== 'text',
    });
    const device = await chooseDevice(model.device);
    const refers = readsReference(settings);
    const graph = { config: plan.decoder, trainable: begun.trainable, device, threads };
    const sessions = await openSessions(graph, objective, reused || refers);
    return new RunLearner(
      {
        ...{ config, run, threads, lora: plan.lora, parameters: begun.parameters },
        ...{ objective, refers, sessions },
        rewarding: { terms, environment: environment.id, encode },
        milliseconds: () => performance.now(),
      },
      completed,
    );
  },
};

/** The parts that can be determined before any weights are loaded. */
interface PlannedAdapter {
  readonly model: string;
  readonly decoder: DecoderConfig;
  readonly temperature: number;
  readonly lora: LoraSettings;
  /** The existing adapter to continue from; undefined for a fresh one. */
  readonly from: Adapter | undefined;
}

/** @throws UserError if the model or its adapter can't be trained */
export function plannedAdapter({ adapt, model }: AdaptingConfig): PlannedAdapter {
  const path = modelDirectory(model.path);
  const decoder = readDecoderConfig(path, model.ignoreKeys);
  requireGradients(decoder);
  const from =
    model.adapter === undefined
      ? undefined
      : openAdapter(modelDirectory(model.adapter, undefined, 'model.adapter'), decoder, model.ignoreKeys);
  const { alpha, modules, rank, rsLora } = freshLora(adapt);
  return {
    ...{ model: path, decoder, from },
    temperature: temperatureOf(model, path),
    lora:
      from === undefined
        ? { rank, alpha, rankStabilized: rsLora, dropout: 0, modules: modulesOf(decoder, modules) }
        : continuedLora(from, decoder, refusedAdapter(from)),
  };
}

/** @throws UserError if the temperature is 0 because the model's publisher recommends greedy decoding */
function temperatureOf(model: AdaptingConfig['model'], path: string): number {
  const chosen = { from: 'the config', sampling: withStoreDefaults(model) };
  const temperature = samplingOf(readGenerationDefaults(path), [chosen]).temperature.value;
  if (temperature > 0) return temperature;
  throw new UserError({
    field: 'model.temperature',
    message:
      "the model's publisher recommends temperature 0, at which all candidates are the same, so adapt has nothing to compare",
    remedy: 'set model.temperature, e.g. to 1',
  });
}

const refusedAdapter = (adapter: Adapter) => (reason: string) =>
  new UserError({
    field: 'model.adapter',
    value: adapter.directory,
    message: `adapt can’t continue this adapter: ${reason}`,
    remedy: 'start without model.adapter, or with an adapter from `policyloop finetune`',
  });

interface BegunAdapter {
  readonly trainable: Trainable;
  readonly parameters: readonly Parameter[];
}

/** Loads the base model, quantized as it is for sampling, and the adapter's initial values. */
function begunAdapter(
  { decoder, from, lora, model: path }: PlannedAdapter,
  { model, seed }: AdaptingConfig,
): BegunAdapter {
  const { quantization } = model;
  const job = {
    model: path,
    method: { kind: 'lora', lora, quantization } as const,
    seed: learningSeed(seed),
  };
  const { trainable, parameters } = firstParameters(job, decoder);
  return { trainable, parameters: from === undefined ? parameters : parameters.map(valuesOf(from)) };
}
