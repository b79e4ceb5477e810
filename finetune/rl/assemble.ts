/** Assembles the parts of reinforcement learning: model, sampler, environments, sessions. */

import { hashModules } from '../../src/base/modules/sources.js';
import { isModulePath } from '../../src/base/modules/user-module.js';
import type { DecoderConfig } from '../../src/models/local/weights/decoder-config.js';
import { contentHash } from '../dataset/lineage.js';
import { identityOf, initialState } from '../engine/checkpoint.js';
import { openSampler } from '../engine/sampler.js';
import { elementCount, type TrainableSpec, trainedParameters } from '../engine/trainable.js';
import type { Parameter } from '../engine/training-session.js';
import { openModel, type PlannedModel, planModelTraining } from '../train/method.js';
import { policyObjective } from '../train/objectives/policy.js';
import type { PolicyObjective } from '../train/objectives/sampled.js';
import { fixedSettings } from '../train/train-config.js';
import { openAgentTask } from './agent-task.js';
import { needsReference, openSessions } from './improvement.js';
import type { RlTask } from './learning/episode.js';
import { templatesIn } from './learning/settings.js';
import { type OnlineHooks, type OnlineLearning, type OnlineSettings, startLearning } from './online.js';
import { userFiles } from './proposer/proposer-config.js';
import { openProposerTask } from './proposer/proposer-task.js';
import { isProposer, type LearningConfig, replySettingsOf } from './rl-config.js';

export interface PlannedLearning extends PlannedModel {
  readonly config: LearningConfig;
  readonly objective: PolicyObjective;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** @throws UserError if the model can't be read or trained, or the result would overwrite a model */
export function planLearning(config: LearningConfig, env: PlannedLearning['env'] = {}): PlannedLearning {
  const { maxTokens, ...replySettings } = replySettingsOf(config);
  const objective = policyObjective(config.objective, {
    ...replySettings,
    reused: config.epochs * config.minibatches > 1,
    maxCompletionTokens: maxTokens,
  });
  return { ...planModelTraining(config), config, objective, env };
}

export type OpenedTrainer = Omit<OnlineLearning, 'task'> & {
  readonly trainable: TrainableSpec;
  close(): Promise<void>;
};

export type OpenedLearning = OpenedTrainer & OnlineLearning;

/** @throws UserError if the model, environment or checkpoint can't be used, or memory runs out */
export async function openLearning(plan: PlannedLearning, hooks: OnlineHooks = {}): Promise<OpenedLearning> {
  const task = await openTask(plan);
  try {
    const trainer = await openTrainer(plan, hooks);
    const close = async () => {
      await task.close();
      await trainer.close();
    };
    return { ...trainer, task, close };
  } catch (error) {
    await task.close();
    throw error;
  }
}

function openTask({ config, env }: PlannedLearning): Promise<RlTask> {
  if (isProposer(config)) return openProposerTask(config, env);
  const episodes = Math.max(config.groups * config.groupSize, config.evaluation.episodes);
  return openAgentTask(config, episodes);
}

/** Without `hooks`, ignores checkpoints. @throws UserError if model or checkpoint can't be used, or memory runs out */
export async function openTrainer(plan: PlannedLearning, hooks?: OnlineHooks): Promise<OpenedTrainer> {
  const { config, decoder, objective, checkpoint, threads } = plan;
  const model = await openModel(plan, config);
  const parameters = [...model.parameters, ...ownParameters(objective, decoder)];
  const settings = settingsOf(config);
  const owner = { identity: identityOf(identityParts(config), parameters), threads };
  const setup = { checkpoint, owner, parameters, settings, objective };
  // Report the start first: a dry run ends there, before the model is loaded into sessions, which takes much longer.
  const state = hooks === undefined ? initialState(parameters) : startLearning(setup, hooks);
  const sampler = await openSampler({ ...model, ...replySettingsOf(config) });
  const kl = needsReference(config.objective);
  const needsReading = config.epochs * config.minibatches > 1 || kl || config.objective.kind === 'ppo';
  const sessions = await openSessions(model, objective, needsReading);
  return {
    ...setup,
    sampler,
    trainable: model.trainable,
    sessions,
    close: async () => void (await Promise.all([sampler.close(), sessions.close()])),
    reference: kl ? parameters.map((one) => ({ ...one, values: one.values.slice() })) : undefined,
    state,
  };
}

/** The objective's own parameters, such as a value head. Their initial values are 0. */
const ownParameters = ({ objective }: PolicyObjective, decoder: DecoderConfig): readonly Parameter[] =>
  (objective.parameters?.(decoder) ?? []).map(({ name, shape }) => ({
    name,
    shape,
    values: new Float32Array(elementCount(shape)),
  }));

/** Converts settings to the common form. A proposer's task computes rewards itself, and its evaluations count runs. */
function settingsOf(config: LearningConfig): OnlineSettings {
  if (!isProposer(config)) return config;
  const { evaluation, reward } = config;
  return {
    ...config,
    reward: { gamma: 1, invalid: 0, assignment: 'return', shuffle: reward.shuffle },
    evaluation: { every: evaluation.every, episodes: evaluation.runs },
  };
}

/** The settings that affect learning, with hashes of the model and the user's files. */
function identityParts(config: LearningConfig): readonly unknown[] {
  const files = isProposer(config)
    ? userFiles(config)
    : [...[config.environment.id].filter(isModulePath), ...templatesIn(config.agent.prompts)];
  return [fixedSettings(config), contentHash(config.model), hashModules(files)];
}

/** The trained parameters of the model, without the objective's own. */
export function modelParameters(
  decoder: DecoderConfig,
  trainable: TrainableSpec,
  parameters: readonly Parameter[],
): readonly Parameter[] {
  const names = new Set(trainedParameters(decoder, trainable).map(({ name }) => name));
  return parameters.filter(({ name }) => names.has(name));
}
