/**
 * The single definition of a config: its types, its defaults, `configs/schema.json` and the reference in the
 * README are all derived from these schemas. `load.ts` reads files and reports errors by line and column.
 */
import { z } from 'zod';
import { type EnvironmentConfig, environmentSchema } from '../environments/settings.js';
import { isModulePath } from '../modules/user-module.js';
import { policySchema } from '../policies/families.js';
import {
  demonstrationsSchema,
  type MemoryConfig,
  memorySchema,
  promptsSchema,
  proposalSchema,
} from '../prompting/settings.js';
import { evaluationSchema } from '../rollout/settings.js';
import { noveltySchema, screeningSchema } from '../search/settings.js';
import { isMapping, jsonSchemaOf, type SettingsKind } from '../settings/schema.js';
import { longestPart } from '../storage/regular-file.js';
import { criticSchema } from './critic.js';
import { feedbackSchema } from './feedback.js';
import { adaptSchema } from './learning/adapt.js';
import { rewardWithModules, termsOf } from './learning/reward.js';
import { slurmSchema, sweepSchema } from './many-runs.js';
import { membersOf, modelSchema } from './model.js';

const count = (minimum: number) => z.int().min(minimum);
const positive = z.number().positive();
const text = z.string().min(1);

const warmupSchema = z.strictObject({
  policies: count(0)
    .optional()
    .describe('Random policies evaluated before the first proposal (default: 20, or none with `from`)'),
  from: text
    .optional()
    .describe('Run directory whose replay buffer is taken over first')
    .meta({ format: 'path' }),
  until: count(0)
    .optional()
    .describe('Last iteration of that run whose evaluations are taken over (default: all)'),
});

const confirmationSchema = z.strictObject({
  candidates: count(0)
    .default(3)
    .describe('How many of the best are evaluated again at the end; 0 turns it off'),
  episodes: count(2).default(100).describe('Episodes for each, on seeds no evaluation has used'),
});

const targetSchema = z.strictObject({
  return: z.number().describe('Mean return to reach'),
  hold: count(1).default(1).describe('Consecutive iterations whose best candidate must reach it'),
});

const amounts = {
  tokens: count(1).optional().describe('Prompt and completion tokens'),
  promptTokens: count(1).optional().describe('Prompt tokens, cached ones included'),
  cachedTokens: count(1).optional().describe('Prompt tokens from the cache'),
  completionTokens: count(1).optional().describe('Completion tokens, reasoning included'),
  reasoningTokens: count(1).optional().describe('Hidden reasoning'),
  cost: positive.optional().describe('Cost, in the currency of `model.price`'),
};
const calls = count(1).optional().describe('Model calls');

export const limitsSchema = z.strictObject({
  calls,
  ...amounts,
  evaluations: count(1)
    .optional()
    .describe('Evaluated policies: those of the warm-up, proposals and revisions, not what is rejected'),
  rejections: count(0)
    .optional()
    .describe(
      'Rejected replies in a row that end the run while no proposal has been accepted, first tries and corrections alike; 0 for no such limit (default: 10, and none with `adapt`, which learns from them)',
    ),
  minutes: positive.optional().describe('Wall time; a call that goes on then is ended'),
  perCall: z
    .strictObject({
      ...amounts,
      seconds: positive
        .optional()
        .describe('Wall time, retries included; the lower of it and `model.timeoutSeconds`'),
    })
    .optional()
    .describe('The same for each call'),
  total: z
    .strictObject({ calls, ...amounts, minutes: positive.optional().describe('Wall time') })
    .optional()
    .describe('The same for all runs of a command together'),
});

const renderSchema = z.strictObject({
  every: count(1)
    .optional()
    .describe(
      'Draws the best candidate of every Nth iteration into `animations/` of the run (default: none)',
    ),
});

export const configSchema = z.strictObject({
  $schema: z.string().optional().describe('For editors'),
  name: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, 'use letters, digits, dot, hyphen and underscore')
    .max(longestPart, `use at most ${longestPart} characters`)
    .optional()
    .describe('Name of the experiment; the run directory is named after it'),
  environment: z
    .union([environmentSchema.shape.id, environmentSchema])
    .describe('Environment id, module of yours (`./my-env.js`), or `{id, options}`')
    .meta({ examples: ['CartPole-v1'] }),
  policy: policySchema
    .optional()
    .describe('Default: `linear`, or `q-table` where the observation is discrete'),
  model: modelSchema
    .describe('Who proposes parameters: a language model, a baseline, or a portfolio of both')
    .meta({ examples: [{ provider: 'ollama', name: 'qwen3:8b' }] }),
  seed: count(0)
    .default(0)
    .describe('Fixes everything: environment, warm-up, baselines, sampling where the provider allows'),
  repeats: count(1).default(1).describe('Independent repeats with derived seeds'),
  iterations: count(1).default(100).describe('Improvement iterations'),
  candidates: count(1)
    .default(1)
    .describe('Proposals an iteration: one prompt, K replies, all evaluated unless there is `screening`'),
  screening: screeningSchema
    .optional()
    .describe(
      'Evaluates only the candidates from which a Gaussian process over the memory expects the most improvement (default: off)',
    ),
  pipeline: count(1)
    .optional()
    .describe(
      'Iterations whose requests are under way at once: each prompt lacks the evaluations of the others (default: 1)',
    ),
  proposal: proposalSchema
    .optional()
    .describe('What proposals are: parameters, or changes of a parent’s (default: parameters)'),
  corrections: count(0).default(3).describe('How often a reply that broke the format is asked again'),
  novelty: noveltySchema
    .optional()
    .describe('Asks for proposals that differ from what was tried (default: that it is not the same)'),
  critic: criticSchema
    .optional()
    .describe(
      'A second call revises the best proposal of an iteration by what its episodes show (default: off)',
    ),
  feedback: feedbackSchema
    .optional()
    .describe(
      'Somebody who sees an episode now and then rates it or remarks on it, for the prompts that follow (default: off)',
    ),
  adapt: adaptSchema
    .optional()
    .describe('Trains the local model on the candidates of the run itself, while it searches (default: off)'),
  target: z
    .union([z.number(), targetSchema])
    .optional()
    .describe('Stop early at this mean return, or `{return, hold}`'),
  limits: limitsSchema
    .prefault({})
    .describe('Caps that end the run cleanly before the call that could pass one'),
  warmup: z
    .union([count(0), warmupSchema])
    .prefault({})
    .describe('Random policies first: their number, or `{policies, from}`'),
  evaluation: evaluationSchema.prefault({}).describe('How a candidate is scored'),
  confirmation: confirmationSchema
    .prefault({})
    .describe('Evaluates the best candidates again at the end, on seeds that did not select them'),
  memory: z
    .union([z.literal('all'), z.literal('none'), memorySchema])
    .default('all')
    .describe('Which evaluations a prompt shows: `all`, `none`, or `{best, recent, …}`'),
  prompts: promptsSchema.prefault({}).describe('What the model is told'),
  demonstrations: demonstrationsSchema
    .optional()
    .describe('Good episodes that prompts show, for parameters that act alike (default: none)'),
  record: z
    .enum(['none', 'first', 'all'])
    .default('first')
    .describe('Which episodes of an evaluation are written with their trajectory'),
  render: renderSchema.prefault({}).describe('Pictures of episodes, beside those of the report'),
  sweep: sweepSchema
    .optional()
    .describe('Many runs of this config, for `policyloop sweep`; it is no part of any of them'),
  slurm: slurmSchema
    .optional()
    .describe(
      'What a cluster is asked for, where `--slurm` hands it many runs; it is no part of any of them',
    ),
});

export type ConfigInput = z.input<typeof configSchema>;
type ParsedConfig = z.output<typeof configSchema>;

type WarmupConfig = z.output<typeof warmupSchema>;
export type TargetConfig = z.output<typeof targetSchema>;
export type ConfirmationConfig = z.output<typeof confirmationSchema>;
export type LimitsConfig = z.output<typeof limitsSchema>;

/** A resolved config: defaults filled in and shorthands expanded. It is itself a valid config. */
export type Config = Omit<
  ParsedConfig,
  '$schema' | 'environment' | 'target' | 'warmup' | 'memory' | 'sweep'
> & {
  readonly environment: EnvironmentConfig;
  readonly target?: TargetConfig | undefined;
  readonly warmup: WarmupConfig & { readonly policies: number };
  readonly memory: MemoryConfig;
};

/** Long forms of sections given as a bare value. */
const shorthands = {
  environment: (id: string) => ({ id }),
  target: (value: number) => ({ return: value }),
  warmup: (policies: number) => ({ policies }),
  memory: (which: 'all' | 'none') => (which === 'all' ? {} : { best: 0, recent: 0 }),
};

/**
 * Expands the short form of a section that names a user's file: `{kind: ./my-policy.js}`, and `{provider:
 * ./my-model.js}` to `{provider: module, path: ./my-model.js}`, including a portfolio's members.
 */
export function withModules(content: Record<string, unknown>): Record<string, unknown> {
  const { adapt, critic, feedback, model, policy } = content;
  return {
    ...content,
    ...(isMapping(critic) &&
      isMapping(critic.model) && { critic: { ...critic, model: withModule(critic.model, 'provider') } }),
    ...(isMapping(feedback) &&
      isMapping(feedback.model) && {
        feedback: { ...feedback, model: withModule(feedback.model, 'provider') },
      }),
    ...(isMapping(policy) && { policy: withModule(policy, 'kind') }),
    ...(isMapping(model) && { model: withModule(model, 'provider') }),
    ...(isMapping(model) && Array.isArray(model.members) && { model: withMembers(model, model.members) }),
    ...(isMapping(adapt) &&
      isMapping(adapt.reward) && { adapt: { ...adapt, reward: rewardWithModules(adapt.reward) } }),
  };
}

const withMembers = (model: Record<string, unknown>, members: readonly unknown[]) => ({
  ...model,
  members: members.map((member) => (isMapping(member) ? withModule(member, 'provider') : member)),
});

function withModule(section: Record<string, unknown>, key: 'kind' | 'provider'): Record<string, unknown> {
  const { [key]: name, ...rest } = section;
  return typeof name === 'string' && isModulePath(name) ? { [key]: 'module', ...rest, path: name } : section;
}

export const experimentKind: SettingsKind<ParsedConfig> = {
  schema: configSchema,
  get json() {
    return jsonSchemaOf(configSchema);
  },
  example: 'iterations=50 or model.name=qwen3:8b',
  bound: { adapt: ['model.provider', 'local'] },
  expand: withModules,
  longForm(path, value) {
    const [section = ''] = path;
    if (path.length > 1 || !Object.hasOwn(shorthands, String(section))) return undefined;
    return (shorthands[section as keyof typeof shorthands] as (short: unknown) => Record<string, unknown>)(
      value,
    );
  },
};

const withPolicies = (warmup: WarmupConfig) => ({
  ...warmup,
  policies: warmup.policies ?? (warmup.from === undefined ? 20 : 0),
});

export function resolveConfig(parsed: ParsedConfig): Config {
  const {
    $schema: _schema,
    sweep: _sweep,
    slurm: _slurm,
    environment,
    target,
    warmup,
    memory,
    ...rest
  } = parsed;
  return {
    ...rest,
    environment:
      typeof environment === 'string'
        ? environmentSchema.parse(shorthands.environment(environment))
        : environment,
    target: typeof target === 'number' ? targetSchema.parse(shorthands.target(target)) : target,
    warmup: typeof warmup === 'number' ? shorthands.warmup(warmup) : withPolicies(warmup),
    memory: typeof memory === 'string' ? memorySchema.parse(shorthands.memory(memory)) : memory,
  };
}

/** Paths of the modules that determine the return of an episode. */
export function modulesPlayed({
  environment,
  evaluation,
  policy,
}: Pick<Config, 'environment' | 'evaluation' | 'policy'>): readonly string[] {
  return [
    ...(isModulePath(environment.id) ? [environment.id] : []),
    ...(policy?.kind === 'module' ? [policy.path] : []),
    ...(evaluation.reward === undefined ? [] : [evaluation.reward]),
  ];
}

/** Paths of all modules that a config names. */
export function modulesOf(config: Config): readonly string[] {
  const { adapt, critic, feedback, model, prompts } = config;
  const readers = [
    ...membersOf(model).map((member) => member.config),
    ...(critic?.model ? [critic.model] : []),
    ...(feedback?.model ? [feedback.model] : []),
  ];
  const rewards = adapt === undefined ? [] : termsOf(adapt.reward);
  return [
    ...modulesPlayed(config),
    ...rewards.flatMap((term) => (term.kind === 'module' ? [term.path] : [])),
    ...readers.flatMap((reader) => (reader.provider === 'module' ? [reader.path] : [])),
    ...(prompts.helpers === undefined ? [] : [prompts.helpers]),
  ];
}
