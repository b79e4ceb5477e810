/** Assembles the parts of reinforcement learning: model, sampler, environments, sessions. */
import path from 'node:path';
import { hashModules } from '../../src/base/modules/sources.js';
import { isModulePath } from '../../src/base/modules/user-module.js';
import { chooseDevice, freeCores } from '../../src/models/local/engine/device.js';
import { readDecoderConfig } from '../../src/models/local/families/hf-config.js';
import { endTokens } from '../../src/models/local/generation/engine.js';
import { openTokenizer } from '../../src/models/local/tokens/tokenizer.js';
import type { DecoderConfig } from '../../src/models/local/weights/decoder-config.js';
import { readGenerationDefaults } from '../../src/models/local/weights/generation-config.js';
import { isGguf } from '../../src/models/local/weights/gguf.js';
import { trainingFiles } from '../../src/runs/training-files.js';
import { contentHash, fileHash } from '../dataset/lineage.js';
import { checkpointThreads } from '../engine/checkpoint.js';
import { openSampler } from '../engine/sampler.js';
import { elementCount, requireGradients, type Trainable, trainedParameters } from '../engine/trainable.js';
import { orOutOfMemory, type Parameter } from '../engine/training-session.js';
import { firstParameters, type Method, methodOf, refuseOtherModel, withOwnModules } from '../train/method.js';
import { policyObjective } from '../train/objectives/policy.js';
import type { PolicyObjective } from '../train/objectives/sampled.js';
import { openAgentTask } from './agent-task.js';
import { openSessions, readsReference } from './improvement.js';
import type { RlTask } from './learning/episode.js';
import { identityOf, type OnlineLearning, type OnlineSettings } from './online.js';
import { modulePaths } from './proposer/proposer-config.js';
import { openProposerTask } from './proposer/proposer-task.js';
import { answeringOf, evaluationSize, isProposer, type LearningConfig, promptField } from './rl-config.js';

/** The parts that can be determined before anything large is loaded. */
export interface PlannedLearning {
  readonly config: LearningConfig;
  readonly decoder: DecoderConfig;
  readonly method: Method;
  readonly objective: PolicyObjective;
  readonly checkpoint: string;
  readonly threads: number;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** @throws UserError if the model can't be read or trained, or the result would overwrite a model */
export function planLearning(config: LearningConfig, env: PlannedLearning['env'] = {}): PlannedLearning {
  const decoder = readDecoderConfig(config.model, config.ignoreKeys);
  requireGradients(decoder);
  const method = withOwnModules(methodOf(config.method), decoder);
  const checkpoint = path.join(config.output, trainingFiles.checkpoint);
  refuseOtherModel({ model: config.model, method, output: config.output }, checkpoint);
  const objective = policyObjective(config.objective, {
    temperature: answeringOf(config).temperature,
    constrained: isConstrained(config),
    reused: config.epochs * config.minibatches > 1,
    maxCompletionTokens: answeringOf(config).maxTokens,
  });
  const threads = config.threads ?? checkpointThreads(checkpoint) ?? freeCores();
  return { config, decoder, method, objective, checkpoint, threads, env };
}

export type OpenedTrainer = Omit<OnlineLearning, 'task'> & {
  readonly trainable: Trainable;
  close(): Promise<void>;
};

export type OpenedLearning = OpenedTrainer & OnlineLearning;

/** @throws UserError if the model or environment can't be used, or memory runs out */
export async function openLearning(plan: PlannedLearning): Promise<OpenedLearning> {
  const task = await openTask(plan);
  try {
    const trainer = await openTrainer(plan, task.prompts);
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

/** @throws UserError if the model can't be used, or memory runs out */
export async function openTrainer(plan: PlannedLearning, prompts?: string): Promise<OpenedTrainer> {
  const { config, decoder, method, objective, checkpoint, threads } = plan;
  const device = await chooseDevice(config.device, 'device');
  const { trainable, parameters: ofModel } = await orOutOfMemory('reading the weights', () =>
    firstParameters({ model: config.model, method, seed: config.seed }, decoder),
  );
  const parameters = [...ofModel, ...ownParameters(objective, decoder)];
  const sampler = await openSampler({
    config: decoder,
    trainable,
    threads,
    device,
    ...samplerParts(config, decoder),
  });
  try {
    const kl = readsReference(config.objective);
    const isRead = config.epochs * config.minibatches > 1 || kl || config.objective.kind === 'ppo';
    const graph = { config: decoder, trainable, device, threads };
    const sessions = await openSessions(graph, objective, isRead);
    return {
      sampler,
      objective,
      parameters,
      trainable,
      checkpoint,
      sessions,
      close: async () => void (await Promise.all([sampler.close(), sessions.close()])),
      reference: kl ? parameters.map((one) => ({ ...one, values: one.values.slice() })) : undefined,
      settings: settingsOf(config),
      owner: { identity: identityOf(identityParts(config, prompts), parameters), threads },
    };
  } catch (error) {
    await sampler.close();
    throw error;
  }
}

/** The objective's own parameters, such as a value head. Their initial values are 0. */
const ownParameters = ({ objective }: PolicyObjective, decoder: DecoderConfig): readonly Parameter[] =>
  (objective.parameters?.(decoder) ?? []).map(({ name, shape }) => ({
    name,
    shape,
    values: new Float32Array(elementCount(shape)),
  }));

function openTask({ config, env }: PlannedLearning): Promise<RlTask> {
  if (isProposer(config)) return openProposerTask(config, env);
  const episodes = Math.max(config.groups * config.groupSize, config.evaluation.episodes);
  return openAgentTask({ environment: config.environment, ...config.agent }, episodes);
}

function samplerParts(config: LearningConfig, decoder: DecoderConfig) {
  const { model, template } = config;
  const { temperature, maxTokens } = answeringOf(config);
  const tokenizer = openTokenizer(model, template);
  return {
    tokenizer,
    eosTokens: endTokens(decoder, readGenerationDefaults(model), tokenizer),
    temperature,
    maxTokens,
    fields: {
      reply: isProposer(config) ? 'answers.maxTokens' : 'agent.maxTokens',
      prompt: promptField(config),
    },
    constrained: isConstrained(config),
  };
}

const isConstrained = (config: LearningConfig): boolean =>
  isProposer(config) ? config.answers.format === 'constrained' : config.agent.act === 'constrained';

/** Reward settings for the trainer. A proposer's task computes its candidates' rewards itself. */
const rewardOf = (config: LearningConfig) =>
  isProposer(config)
    ? { gamma: 1, invalid: 0, assignment: 'return' as const, shuffle: config.reward.shuffle }
    : config.reward;

function settingsOf(config: LearningConfig): OnlineSettings {
  const { betas, epochs, minibatches, learningRate, maxGradientNorm, batchTokens, seed, weightDecay } =
    config;
  const { objective, schedule: kind, updates, warmupSteps } = config;
  return {
    seed,
    updates,
    groups: config.groups,
    groupSize: config.groupSize,
    reward: rewardOf(config),
    credit: { objective, scale: config.advantages, ...rewardOf(config) },
    improvement: {
      epochs,
      minibatches,
      seed,
      learningRate,
      maxGradientNorm,
      batchTokens,
      objective,
      schedule: { kind, warmupSteps, totalSteps: updates * epochs * minibatches, floor: 0 },
      adamw: { betas, epsilon: 1e-8, weightDecay },
    },
    evaluateEvery: config.evaluation.every,
    evaluationEpisodes: evaluationSize(config),
    checkpointEvery: config.checkpointEvery,
    result: config.result,
  };
}

/** The settings that affect learning, with hashes of the model and the user's files. */
function identityParts(config: LearningConfig, prompts: string | undefined): unknown {
  const {
    $schema: _,
    batchTokens,
    checkpointEvery,
    device,
    limits,
    model,
    output,
    result,
    threads,
    ...rest
  } = config;
  const modules = isProposer(config) ? modulePaths(config) : [config.environment.id].filter(isModulePath);
  return [
    ...[rest, isGguf(model) ? fileHash(model) : contentHash(model)],
    hashModules(modules),
    ...(prompts === undefined ? [] : [prompts]),
  ];
}

/** The trained parameters of the model, without the objective's own. */
export function modelParameters(
  decoder: DecoderConfig,
  trainable: Trainable,
  parameters: readonly Parameter[],
): readonly Parameter[] {
  const names = new Set(trainedParameters(decoder, trainable).map(({ name }) => name));
  return parameters.filter(({ name }) => names.has(name));
}
