/** Config for training a proposer: a model that answers the prompts of optimization runs. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { type Problem, UserError } from '../../../src/base/errors.js';
import { deriveSeeds } from '../../../src/base/random/generator.js';
import { oneScreen } from '../../../src/base/settings/issues.js';
import {
  isMapping,
  jsonSchemaOf,
  type SchemaNode,
  type SettingsKind,
} from '../../../src/base/settings/schema.js';
import type { Settings } from '../../../src/base/settings/settings.js';
import { type Config, modulesOf } from '../../../src/config/config.js';
import { openConfig } from '../../../src/config/file.js';
import { modelDirectory } from '../../../src/models/local/settings.js';
import { baselineNames } from '../../../src/search/baselines.js';
import { type ConfigSource, count, positive, readTrainingConfig } from '../../train/train-config.js';
import { checkObjective, learningSettings } from '../learning/settings.js';
import { isAbsolute, rewardSchema, rewardWithModules, termsOf } from './candidate-reward.js';
import {
  configOf,
  configsOf,
  layerLongForm,
  layerProblems,
  layerSchema,
  locatedIn,
  type Reserved,
  type TaskPlan,
  tasksSchema,
  withLayers,
} from './tasks.js';

const proposerSettings = learningSettings.extend({
  experiment: layerSchema
    .default({})
    .describe('Settings of an experiment, shared by all runs; after `iterations`, the next run begins'),
  tasks: tasksSchema.describe('One task is drawn for each run and merged into `experiment`'),
  heldOut: tasksSchema
    .optional()
    .describe('Tasks for evaluation (default: `tasks`, with seeds that training never uses)'),
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
          '`constrained` masks tokens that would break the answer format; tokens that the format determines aren’t trained on',
        ),
    })
    .prefault({})
    .describe('How the model answers'),
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
    .describe('Baseline searches on the held-out runs, with the same number of episodes'),
});

const schema = proposerSettings.superRefine((written, context) => {
  const { baselines, reward } = written;
  const refuse = (path: readonly string[], message: string) =>
    context.addIssue({ code: 'custom', path: [...path], message });
  checkObjective(written, refuse);
  if (baselines.length === 0 && !isAbsolute(reward))
    refuse(
      ['baselines'],
      'must not be empty with rank and improvement rewards: held-out runs are scored by the share of baselines they beat',
    );
  for (const term of termsOf(reward))
    if (term.kind === 'return' && !(term.low < term.high)) refuse(['reward', 'low'], 'must be below high');
});

type Written = z.output<typeof schema>;

/** Experiment keys that can't be set for training runs, with the reason or the key to use instead. */
const reserved: Reserved = {
  seed: 'each run has its own, derived from the training seed',
  model: 'set model at the top level',
  candidates: 'set groupSize',
  corrections: 'a reply that can’t be parsed earns reward.invalid',
  target: 'a run ends after its iterations',
  limits: 'set limits at the top level',
  confirmation: 'nothing is confirmed, because evaluations use held-out runs',
  record: 'training records nothing',
};

let layered: SchemaNode | undefined;

export const proposerKind: SettingsKind<Written> = {
  schema,
  get json() {
    layered ??= withLayers(jsonSchemaOf(schema), reserved);
    return layered;
  },
  example: 'updates=20 or reward.kind=rank',
  expand: withModules,
  longForm: layerLongForm,
};

function withModules(content: Record<string, unknown>): Record<string, unknown> {
  const { reward } = content;
  return isMapping(reward) ? { ...content, reward: rewardWithModules(reward) } : content;
}

export type ProposerConfig = Omit<Written, 'heldOut'> & {
  readonly output: string;
  readonly heldOut: Written['tasks'];
};

export function isProposerConfig(file: string, cwd: string): boolean {
  const { content } = openConfig('rl', file, { cwd });
  return ['tasks', 'experiment', 'answers'].some((key) => Object.hasOwn(content, key));
}

/** @throws UserError that lists every problem with its location, value, alternatives and hint */
export function loadProposerConfig(...source: ConfigSource): ProposerConfig {
  const { config, read } = readTrainingConfig('rl', proposerKind, ...source);
  const problems = layerProblems(read.content, read.where, reserved);
  if (problems.length > 0) throw new UserError(oneScreen(problems));
  const { heldOut = config.tasks } = config;
  const found = { ...config, heldOut, model: modelDirectory(config.model, undefined, 'model') };
  refuseUnplayable(found, read);
  return found;
}

/** @throws UserError if the runs use settings that training doesn't support */
function refuseUnplayable(config: ProposerConfig, { content, where }: Settings): void {
  const locate = (error: UserError, list: 'tasks' | 'heldOut', task: number) =>
    locatedIn(error, [['experiment'], [content[list] === undefined ? 'tasks' : list, task]], content, where);
  const { training, heldOut } = runPlans(config, locate);
  for (const [list, plan] of [
    ['tasks', training],
    ['heldOut', heldOut],
  ] as const)
    for (const [task, run] of configsOf(plan).entries()) {
      const problems = unplayable(run);
      if (problems.length > 0) throw locate(new UserError(problems), list, task);
    }
}

function unplayable({ evaluation, warmup }: Config): readonly Problem[] {
  const problems: (Problem | false)[] = [
    evaluation.seeds !== 'common' && {
      field: 'evaluation.seeds',
      message: 'must be common: candidates and the best policy so far need the same episodes',
    },
    warmup.from !== undefined && {
      field: 'warmup.from',
      message: 'must be omitted: runs start with random policies',
    },
  ];
  return problems.filter((problem) => problem !== false);
}

/** One config per task, for training and evaluation. */
function runsOf(config: ProposerConfig): readonly Config[] {
  const { training, heldOut } = runPlans(config);
  return [training, heldOut].flatMap(configsOf);
}

/** User modules that training depends on: environments, policies, rewards, prompt helpers. */
export function modulePaths(config: ProposerConfig): readonly string[] {
  const ofRuns = runsOf(config).flatMap(modulesOf);
  const ofRewards = termsOf(config.reward).flatMap((term) => (term.kind === 'module' ? [term.path] : []));
  return [...new Set([...ofRuns, ...ofRewards])];
}

/** Hash of the templates in the user's own prompt folders; undefined if there are none. */
export function promptsHash(config: ProposerConfig): string | undefined {
  const sets = new Set(runsOf(config).map(({ prompts }) => prompts.set));
  const folders = [...sets].filter((set) => /[\\/]/.test(set)).toSorted();
  if (folders.length === 0) return undefined;
  const hash = createHash('sha256');
  for (const folder of folders)
    for (const name of readdirSync(folder, { encoding: 'utf8', recursive: true }).toSorted())
      if (name.endsWith('.hbs'))
        hash.update(JSON.stringify([name, readFileSync(join(folder, name), 'utf8')]));
  return hash.digest('hex');
}

type RunSettings = Pick<ProposerConfig, 'experiment' | 'tasks' | 'heldOut' | 'model' | 'seed'>;

interface RunPlans {
  readonly training: TaskPlan;
  readonly heldOut: TaskPlan;
}

/** First spawn keys of the random streams. */
const streams = { training: 20, heldOut: 21 } as const;

/** @param locate adds the location in the file to problems with a run's config */
export function runPlans(
  { experiment, heldOut, model, seed, tasks }: RunSettings,
  locate: (error: UserError, list: 'tasks' | 'heldOut', task: number) => UserError = (error) => error,
): RunPlans {
  const plan = (list: 'tasks' | 'heldOut', own: TaskPlan['tasks'], stream: number): TaskPlan => ({
    experiment,
    model,
    tasks: own,
    seed: deriveSeeds(seed, [stream], 1)[0]!,
    locate: (error, task) => locate(error, list, task),
  });
  return {
    training: plan('tasks', tasks, streams.training),
    heldOut: plan('heldOut', heldOut, streams.heldOut),
  };
}

export const heldOutRuns = (
  config: RunSettings & { readonly evaluation: { readonly runs: number } },
): readonly Config[] =>
  Array.from({ length: config.evaluation.runs }, (_, number) => configOf(runPlans(config).heldOut, number));
