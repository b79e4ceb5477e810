import { stringify } from 'yaml';
import { z } from 'zod';
import { answerFormats } from '../../src/agents/reading.js';
import { agentShape, fallbacks } from '../../src/agents/settings.js';
import { isMapping, settingsKind } from '../../src/base/settings/schema.js';
import { shellWord } from '../../src/base/text/one-line.js';
import { modelDirectory } from '../../src/models/local/settings.js';
import { sum } from '../../src/statistics/descriptive.js';
import { servingArguments } from '../train/method.js';
import { type ConfigArgs, count, fraction, positive, readTrainingConfig } from '../train/train-config.js';
import { rewardAssignments } from './credit.js';
import {
  checkObjective,
  type EnvironmentSetting,
  environmentLongForm,
  environmentSetting,
  learningSettings,
  withOptions,
} from './learning/settings.js';
import { isProposerConfig, loadProposerConfig, type ProposerConfig } from './proposer/proposer-config.js';
import { isAbsolute } from './proposer/reward.js';

const agentSchema = z
  .strictObject({
    ...agentShape,
    act: z
      .enum(answerFormats)
      .default('text')
      .describe(
        'Form of the action in a reply: `text` reads the last action mentioned, `json` reads `{"action": …}`, `constrained` allows only valid actions',
      ),
    fallback: z
      .enum(fallbacks)
      .default('end')
      .describe(
        'Handling of a reply without an action: ask again, act randomly, take the first action, or end the episode',
      ),
    maxTurns: count(1)
      .default(200)
      .describe("Maximum number of turns per episode; the environment's own limit also applies"),
    maxTokens: count(1).default(64).describe('Maximum tokens per reply'),
    temperature: positive.default(1).describe('Sampling temperature, which is part of the trained policy'),
  })
  .prefault({})
  .describe('Settings of the agent');

const rewardSchema = z
  .strictObject({
    gamma: fraction.default(1).describe('Discount factor per turn'),
    invalid: z.number().default(0).describe('Reward added for each reply without an action'),
    assignment: z
      .enum(rewardAssignments)
      .default('return')
      .describe(
        'Credit for a turn: `return`, the return of the episode, or `to-go`, the reward from this turn on. ppo requires `return`, and itself uses rewards to go',
      ),
    shuffle: z
      .boolean()
      .default(false)
      .describe('True to shuffle the returns of each group, as a check: the model should then learn nothing'),
  })
  .prefault({})
  .describe('How episodes are rewarded');

const evaluationSchema = z
  .strictObject({
    every: count(1).default(10).describe('Updates between evaluations'),
    episodes: count(1)
      .default(256)
      .describe('Episodes per evaluation; actions are sampled, with seeds that training never uses'),
  })
  .prefault({})
  .describe('Evaluations that select the best weights');

const settingsSchema = learningSettings.extend({
  environment: environmentSetting,
  groups: count(1).default(8).describe('Starting states per update'),
  groupSize: count(1).default(8).describe('Episodes from each starting state'),
  agent: agentSchema,
  reward: rewardSchema,
  evaluation: evaluationSchema,
});

type ParsedConfig = z.output<typeof settingsSchema>;

const schema = settingsSchema.superRefine((settings, context) => {
  const { objective, reward } = settings;
  const reject = (path: readonly string[], message: string) =>
    context.addIssue({ code: 'custom', path: [...path], message });
  checkObjective(settings, reject);
  if (objective.kind === 'ppo' && reward.gamma !== 1)
    reject(['reward', 'gamma'], 'must be 1: ppo discounts per token; set objective.discount');
  if (objective.kind === 'ppo' && reward.assignment === 'to-go')
    reject(['reward', 'assignment'], 'must be return: ppo itself credits each token with the reward-to-go');
  if (reward.shuffle && reward.assignment !== 'return')
    reject(['reward', 'shuffle'], 'requires assignment=return, because whole returns are shuffled');
});

export type RlConfig = Omit<ParsedConfig, 'environment'> & {
  readonly output: string;
  readonly environment: EnvironmentSetting;
};

/** The config as written, before defaults are applied. */
export type RlInput = z.input<typeof settingsSchema>;

export const rlKind = settingsKind<ParsedConfig>({
  schema,
  example: 'updates=20 or reward.shuffle=true',
  longForm: environmentLongForm,
});

/** @throws UserError that lists the problems with their locations, values, alternatives and hints */
export function loadRlConfig(...source: ConfigArgs): RlConfig {
  const { config } = readTrainingConfig('rl', rlKind, ...source);
  return {
    ...config,
    environment: withOptions(config.environment),
    model: modelDirectory(config.model, undefined, 'model'),
  };
}

export type LearningConfig = RlConfig | ProposerConfig;

export const isProposer = (config: LearningConfig): config is ProposerConfig => 'tasks' in config;

export function loadLearningConfig(...source: ConfigArgs): LearningConfig {
  const [file, , cwd = ''] = source;
  return isProposerConfig(file, cwd) ? loadProposerConfig(...source) : loadRlConfig(...source);
}

/** Settings of the model's replies, for agents and proposers. */
export function replySettingsOf(config: LearningConfig) {
  const { maxTokens, temperature } = isProposer(config) ? config.answers : config.agent;
  const format = isProposer(config) ? config.answers.format : config.agent.act;
  return { maxTokens, temperature, constrained: format === 'constrained' };
}

/** Maps the id of each environment to its share of training. */
export function environmentShares(config: LearningConfig): ReadonlyMap<string, number> {
  if (!isProposer(config)) return new Map([[config.environment.id, 1]]);
  const shares = new Map<string, number>();
  const total = sum(config.tasks.map(({ weight }) => weight));
  for (const { environment = config.experiment.environment, weight } of config.tasks) {
    const id = String(isMapping(environment) ? environment.id : environment);
    shares.set(id, (shares.get(id) ?? 0) + weight / total);
  }
  return shares;
}

/** Returns a command that uses the trained model: `play` in the environment for an agent, `run` for a proposer. */
export function usageOf(config: LearningConfig, model: string, result: string): string {
  const modelSettings = servingArguments(config.method, model, result);
  if (isProposer(config)) return `policyloop run CONFIG ${modelSettings}`;
  const { maxTokens, maxTurns, temperature, ...agent } = config.agent;
  const { id, options } = config.environment;
  const settings = [
    `environment=${inlineYaml({ id, options })}`,
    `policy=${inlineYaml({ kind: 'agent', ...agent })}`,
  ];
  const limits = `model.maxTokens=${maxTokens} maxSteps=${maxTurns}`;
  const sampling = temperature === 1 ? '' : ` model.temperature=${temperature}`;
  return `policyloop play cartpole ${settings.map(shellWord).join(' ')} ${modelSettings} ${limits}${sampling}`;
}

const inlineYaml = (value: object) => stringify(value, { collectionStyle: 'flow', lineWidth: 0 }).trim();

/**
 * Words for what evaluations measure and count, and for what updates sample. `relative` is true if the reward always
 * depends on other policies.
 */
export function termsOf(config: LearningConfig) {
  const episodeTerms = { counted: 'episode', sampled: 'episode' } as const;
  if (!isProposer(config)) return { measured: 'mean return', relative: false, ...episodeTerms };
  const isRelative = !isAbsolute(config.reward);
  const measured = isRelative ? 'share of baselines beaten' : 'mean reward';
  return { measured, relative: isRelative, counted: 'run', sampled: 'candidate' } as const;
}
