import { z } from 'zod';
import { ways } from '../../src/agents/reading.js';
import { agentShape, fallbacks } from '../../src/agents/settings.js';
import { isAbsolute } from '../../src/config/learning/reward.js';
import { environmentSchema } from '../../src/environments/settings.js';
import { shellWord } from '../../src/format/one-line.js';
import { modelDirectory } from '../../src/models/local/settings.js';
import { isMapping, jsonSchemaOf, type SettingsKind } from '../../src/settings/schema.js';
import { mean, sum } from '../../src/statistics/descriptive.js';
import { servedAs } from '../train/method.js';
import { readTrainingConfig } from '../train/train-config.js';
import { assignments } from './credit.js';
import { learningSettings } from './learning/settings.js';
import {
  heldOutRuns,
  isProposerConfig,
  loadProposerConfig,
  type ProposerConfig,
} from './proposer/proposer-config.js';

const count = (minimum: number) => z.int().min(minimum);

const agentSchema = z
  .strictObject({
    ...agentShape,
    act: z
      .enum(ways)
      .default('text')
      .describe(
        'The last action that a free reply names, or that of a JSON object: `{"action": …}`; `constrained` masks tokens that lead to no possible action, so that each reply is one',
      ),
    fallback: z
      .enum(fallbacks)
      .default('end')
      .describe(
        'What follows a reply that names no action: the model is asked again, a random action, the first, or the end of the episode',
      ),
    maxTurns: count(1)
      .default(200)
      .describe("Turns after which an episode is cut, beside the environment's own limit"),
    maxTokens: count(1).default(64).describe('Longest reply'),
    temperature: z
      .number()
      .positive()
      .default(1)
      .describe('Of the sampling; the policy that is trained has it'),
  })
  .prefault({})
  .describe('How the model acts');

const rewardSchema = z
  .strictObject({
    gamma: z
      .number()
      .min(0)
      .max(1)
      .default(1)
      .describe('Discount of rewards for each turn that they lie ahead'),
    invalid: z.number().default(0).describe('Added for each reply that names no action'),
    assignment: z
      .enum(assignments)
      .default('return')
      .describe(
        'What a turn is credited with: the return of the episode, what comes after it (to-go), or an equal share of the return (spread)',
      ),
    shuffle: z
      .boolean()
      .default(false)
      .describe('Permute the returns within each group: a control that must not learn'),
  })
  .prefault({})
  .describe('What an episode earns');

const evaluationSchema = z
  .strictObject({
    every: count(1).default(10).describe('Updates between evaluations'),
    episodes: count(1)
      .default(256)
      .describe('Episodes of an evaluation, sampled, on starts that are never trained on'),
  })
  .prefault({})
  .describe('The return that the best weights are chosen by');

const settings = learningSettings.extend({
  environment: z
    .union([environmentSchema.shape.id, environmentSchema.pick({ id: true, options: true })])
    .describe('Where the model acts: an id, or an id with options'),
  groups: count(1).default(8).describe('Starts an update'),
  groupSize: count(1).default(8).describe('Episodes from each start'),
  agent: agentSchema,
  reward: rewardSchema,
  evaluation: evaluationSchema,
});

type Written = z.output<typeof settings>;

/** Refuses settings that the objective would ignore, or from which it can't learn. */
const schema = settings.superRefine((written, context) => {
  const {
    epochs,
    groupSize,
    minibatches,
    objective: { kind },
    reward,
  } = written;
  const refuse = (path: readonly string[], message: string) =>
    context.addIssue({ code: 'custom', path: [...path], message });
  if (kind === 'ppo') {
    if (reward.gamma !== 1)
      refuse(['reward', 'gamma'], 'ppo discounts token by token: set objective.discount');
    if (reward.assignment === 'to-go')
      refuse(['reward', 'assignment'], 'ppo credits each token with what follows by itself: leave it out');
    if (reward.shuffle)
      refuse(['reward', 'shuffle'], 'ppo compares no episodes of a group: take grpo or rloo');
  } else if (groupSize === 1) {
    refuse(['groupSize'], `${kind} compares the episodes of a group, so that one alone teaches nothing`);
  }
  if (reward.shuffle && reward.assignment !== 'return')
    refuse(['reward', 'shuffle'], 'returns of whole episodes are shuffled: it needs assignment return');
  if (kind === 'reinforce' && epochs * minibatches > 1)
    refuse(
      [epochs > 1 ? 'epochs' : 'minibatches'],
      'the gradient of reinforce is right for one step: take grpo for several',
    );
});

export type RlConfig = Omit<Written, 'environment'> & {
  readonly output: string;
  readonly environment: { readonly id: string; readonly options: Readonly<Record<string, unknown>> };
};

/** The config as written, before defaults. */
export type RlInput = z.input<typeof settings>;

export const rlKind: SettingsKind<Written> = {
  schema,
  get json() {
    return jsonSchemaOf(schema);
  },
  example: 'updates=20 or reward.shuffle=true',
  longForm: (path, value) => (path.length === 1 && path[0] === 'environment' ? { id: value } : undefined),
};

/** @throws UserError that lists every problem with its location, value, alternatives and remedy */
export function loadRlConfig(
  file: string,
  overrides: readonly string[] = [],
  cwd = '',
  note: (text: string) => void = () => undefined,
): RlConfig {
  const config = readTrainingConfig('rl', rlKind, file, overrides, cwd, note);
  const { environment } = config;
  return {
    ...config,
    environment: typeof environment === 'string' ? { id: environment, options: {} } : environment,
    model: modelDirectory(config.model, undefined, 'model'),
  };
}

export type LearningConfig = RlConfig | ProposerConfig;

export const isProposer = (config: LearningConfig): config is ProposerConfig => 'tasks' in config;

export function loadLearningConfig(...given: Parameters<typeof loadRlConfig>): LearningConfig {
  const [file, , cwd = ''] = given;
  return isProposerConfig(file, cwd) ? loadProposerConfig(...given) : loadRlConfig(...given);
}

export const answeringOf = (config: LearningConfig): Pick<RlConfig['agent'], 'maxTokens' | 'temperature'> =>
  isProposer(config) ? config.answers : config.agent;

/** Number of episodes in an evaluation (for proposers, of runs). */
export const evaluationSize = (config: LearningConfig): number =>
  isProposer(config) ? config.evaluation.runs : config.evaluation.episodes;

/** `most` replies per episode; `evaluated` episodes per evaluated unit: 1, or a proposer's iterations per run. */
export function turnsOf(config: LearningConfig): { readonly most: number; readonly evaluated: number } {
  if (!isProposer(config)) return { most: config.agent.maxTurns, evaluated: 1 };
  return { most: 1, evaluated: mean(heldOutRuns(config).map(({ iterations }) => iterations)) };
}

/** Ids of the environments to learn in, and the share of the training that each gets. */
export function environmentsOf(config: LearningConfig): ReadonlyMap<string, number> {
  if (!isProposer(config)) return new Map([[config.environment.id, 1]]);
  const shares = new Map<string, number>();
  const total = sum(config.tasks.map(({ weight }) => weight));
  for (const { environment = config.experiment.environment, weight } of config.tasks) {
    const id = String(isMapping(environment) ? environment.id : environment);
    shares.set(id, (shares.get(id) ?? 0) + weight / total);
  }
  return shares;
}

export function placeOf(config: LearningConfig): string {
  const ids = [...environmentsOf(config).keys()];
  return ids.length > 3 ? `${ids.slice(0, 2).join(', ')} and ${ids.length - 2} more` : ids.join(', ');
}

/** Command-line words that use the result with the settings of the training. */
export function usedAs(config: LearningConfig, model: string, result: string): string {
  const words = ['model.provider=local', servedAs(config.method, model, result)];
  if (!isProposer(config)) {
    const { act, history, maxTokens, prompts } = config.agent;
    if (prompts !== undefined) words.push(shellWord(`policy.prompts=${prompts}`));
    words.push(`policy.act=${act}`, `policy.history=${history}`, `model.maxTokens=${maxTokens}`);
  }
  return words.join(' ');
}

export function wordsOf(config: LearningConfig) {
  if (!isProposer(config))
    return {
      measured: 'mean return',
      counted: 'held-out episode',
      played: 'episodes',
      sampled: 'Mean return of the episodes',
      spread: 'Spread of the returns in groups',
      valid: 'Replies that name an action',
    } as const;
  return {
    measured: isAbsolute(config.reward) ? 'mean reward' : 'share of searches beaten',
    counted: 'held-out run',
    played: 'answers',
    sampled: 'Mean reward of the candidates',
    spread: 'Spread of the rewards in groups',
    valid: 'Replies that can be read',
  } as const;
}
