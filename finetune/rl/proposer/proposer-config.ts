/** Config for training a proposer: a model that answers the prompts of optimization runs. */
import { z } from 'zod';
import { deriveSeeds } from '../../../src/base/random/generator.js';
import { jsonSchemaOf, type SchemaNode, type SettingsKind } from '../../../src/base/settings/schema.js';
import { baselineNames } from '../../../src/config/baselines.js';
import { type Config, modulesOf } from '../../../src/config/config.js';
import { openConfig } from '../../../src/config/file.js';
import { modelDirectory } from '../../../src/models/local/settings.js';
import { type ConfigArgs, count, positive, readTrainingConfig } from '../../train/train-config.js';
import { checkObjective, learningSettings, templatesIn } from '../learning/settings.js';
import { isAbsolute, rewardSchema, rewardWithModule } from './reward.js';
import {
  checkTasks,
  configOfTask,
  layerLongForm,
  layerSchema,
  type TaskPlan,
  tasksSchema,
  withExperimentKeys,
} from './tasks.js';

const proposerSettings = learningSettings.extend({
  experiment: layerSchema
    .default({})
    .describe('Settings of an experiment, shared by all runs. A run ends after at most its `iterations`'),
  tasks: tasksSchema.describe('Tasks; each run draws one, which is merged into `experiment`'),
  heldOut: tasksSchema
    .optional()
    .describe('Tasks for evaluation, with seeds that training never uses (default: `tasks`)'),
  groups: count(1).default(8).describe('Runs in progress at once; each contributes one prompt per update'),
  groupSize: count(1).default(8).describe('Candidates per prompt'),
  answers: z
    .strictObject({
      maxTokens: count(1).default(256).describe('Maximum tokens per reply'),
      temperature: positive.default(1).describe('Sampling temperature'),
      format: z
        .enum(['text', 'constrained'])
        .default('text')
        .describe(
          "`constrained` masks tokens that would break the answer format; tokens that the format determines aren't trained on",
        ),
    })
    .prefault({})
    .describe('Length, sampling and format of replies'),
  reward: rewardSchema.prefault({ kind: 'rank' }).describe('Reward of a candidate'),
  evaluation: z
    .strictObject({
      every: count(1).default(20).describe('Updates between evaluations'),
      runs: count(1)
        .default(16)
        .describe('Number of held-out runs (the same each time), with one candidate per iteration'),
    })
    .prefault({})
    .describe('Evaluations that select the best weights'),
  baselines: z
    .array(z.enum(baselineNames))
    .default(['random', 'hill-climb', 'cma-es'])
    .describe('Baseline searches on the held-out runs, with as many iterations as the model'),
});

const schema = proposerSettings.superRefine((settings, context) => {
  const { baselines, reward } = settings;
  const reject = (path: readonly string[], message: string) =>
    context.addIssue({ code: 'custom', path: [...path], message });
  checkObjective(settings, reject);
  if (baselines.length === 0 && !isAbsolute(reward))
    reject(
      ['baselines'],
      'must not be empty with rank and improvement rewards: held-out runs are scored by the share of baselines they beat',
    );
  if (reward.kind === 'return' && !(reward.low < reward.high))
    reject(['reward', 'low'], 'must be below high');
});

type ParsedConfig = z.output<typeof schema>;

let jsonSchema: SchemaNode | undefined;

export const proposerKind: SettingsKind<ParsedConfig> = {
  schema,
  get json() {
    jsonSchema ??= withExperimentKeys(jsonSchemaOf(schema));
    return jsonSchema;
  },
  example: 'updates=20 or reward.kind=rank',
  expand: (content) => ({
    ...content,
    ...(content.reward !== undefined && { reward: rewardWithModule(content.reward) }),
  }),
  longForm: layerLongForm,
};

export type ProposerConfig = Omit<ParsedConfig, 'heldOut'> & {
  readonly output: string;
  readonly heldOut: ParsedConfig['tasks'];
};

export function isProposerConfig(file: string, cwd: string): boolean {
  const { content } = openConfig('rl', file, { cwd });
  return ['tasks', 'experiment', 'answers'].some((key) => Object.hasOwn(content, key));
}

/** @throws UserError like `loadTrainConfig`; if tasks are invalid, it lists the problems of the first invalid task */
export function loadProposerConfig(...source: ConfigArgs): ProposerConfig {
  const { config, input } = readTrainingConfig('rl', proposerKind, ...source);
  const { heldOut = config.tasks } = config;
  const resolved = { ...config, heldOut, model: modelDirectory(config.model, undefined, 'model') };
  checkTasks(taskPlans(resolved), input.content, input.where);
  return resolved;
}

/** One config per task, for training and evaluation. */
const taskConfigs = (config: ProposerConfig): readonly Config[] =>
  Object.values(taskPlans(config)).flatMap((plan) => plan.tasks.map((_, task) => configOfTask(plan, task)));

/** The user's own files that training depends on: environments, policies, rewards, prompt helpers, templates. */
export function userFiles(config: ProposerConfig): readonly string[] {
  const configs = taskConfigs(config);
  const runFiles = configs.flatMap((run) => [...modulesOf(run), ...templatesIn(run.prompts.set)]);
  return config.reward.kind === 'module' ? [...runFiles, config.reward.path] : runFiles;
}

/** First spawn keys of the random streams. */
const streams = { tasks: 20, heldOut: 21 } as const;

export function taskPlans({ experiment, model, seed, ...config }: ProposerConfig) {
  const plan = (list: 'tasks' | 'heldOut'): TaskPlan => ({
    experiment,
    model,
    tasks: config[list],
    seed: deriveSeeds(seed, [streams[list]], 1)[0]!,
  });
  return { tasks: plan('tasks'), heldOut: plan('heldOut') };
}
