/**
 * The single definition of an experiment config: its types, `configs/schema.json` and its pages in `docs/reference` are
 * derived from these schemas. `load.ts` reads files and reports errors by line and column.
 */
import { z } from 'zod';
import { maxStemLength } from '../base/files/regular-file.js';
import { isModulePath } from '../base/modules/user-module.js';
import { isMapping, settingsKind } from '../base/settings/schema.js';
import { environmentSchema } from '../environments/settings.js';
import { policySchema } from '../policies/families.js';
import { memorySchema, promptsSchema } from '../prompting/settings.js';
import { evaluationSchema } from '../rollout/settings.js';
import { limitsSchema } from './limits.js';
import { slurmSchema, sweepSchema } from './many-runs.js';
import { isBaseline, membersOf, modelSchema } from './model.js';
import { stageNames, stageSections, stagesForPrograms, stagesOf } from './stages.js';

const count = (minimum: number) => z.int().min(minimum);
const text = z.string().min(1);

const warmupSchema = z
  .strictObject({
    policies: count(0)
      .optional()
      .describe(
        'Number of random policies to evaluate before the first proposal (default: 20, or none with `from`)',
      ),
    from: text
      .optional()
      .describe("Directory of an earlier run, whose policies are evaluated first, on this run's episodes")
      .meta({ format: 'path' }),
  })
  .transform(({ policies, ...warmup }) => ({
    ...warmup,
    policies: policies ?? (warmup.from === undefined ? 20 : 0),
  }));

const confirmationSchema = z.strictObject({
  candidates: count(0)
    .default(6)
    .describe(
      'Maximum number of policies that are compared on fresh seeds at the end: those that act differently and are within the noise floor of the best; 1: only the best is confirmed; 0: no confirmation',
    ),
  episodes: count(2)
    .default(100)
    .describe(
      'Episodes for the confirmed return, on other fresh seeds; the comparison plays at most 3 times as many in total',
    ),
});

const targetSchema = z.strictObject({
  return: z.number().describe('Mean return to reach'),
  hold: count(1)
    .default(1)
    .describe('Number of consecutive iterations in which the best candidate must reach the target'),
});

/** Functions that expand sections given as a bare value. */
const shorthands = {
  environment: (id: string) => ({ id }),
  target: (value: number) => ({ return: value }),
  warmup: (policies: number) => ({ policies }),
  memory: (which: 'all' | 'none') => (which === 'all' ? {} : { best: 0, recent: 0 }),
};

/** A section that may be given as a bare value. */
const withShortForm = <Short extends z.ZodType, Long extends z.ZodType>(
  short: Short,
  expand: (value: z.output<Short>) => object,
  long: Long,
) => z.union([short.transform((value) => long.parse(expand(value))), long]);

/** A name that is also the name of a directory. */
export const nameSchema = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]*$/,
    'use letters, digits, dot, hyphen and underscore; begin with a letter or digit',
  )
  .max(maxStemLength, `use at most ${maxStemLength} characters`);

export const configSchema = z.strictObject({
  $schema: z.string().optional().describe('Schema for editors'),
  name: nameSchema.optional().describe('Name of the experiment; the run directory is named after it'),
  environment: withShortForm(environmentSchema.shape.id, shorthands.environment, environmentSchema)
    .describe('Environment id, your own module (`./my-env.js`), or `{id, options, …}`')
    .meta({ examples: ['CartPole-v1'] }),
  policy: policySchema
    .optional()
    .describe(
      'Kind and settings of the policies (default: `linear`, or `q-table` for discrete observations)',
    ),
  model: modelSchema
    .describe('Source of proposals: a language model, a baseline, or a portfolio or relay of several')
    .meta({ examples: [{ provider: 'ollama', name: 'qwen3:8b' }] }),
  seed: count(0)
    .default(0)
    .describe(
      'Seed for everything: environment, warm-up, baselines, and sampling if the provider supports it',
    ),
  iterations: count(1).default(100).describe('Number of iterations after the warm-up'),
  candidates: count(1).default(1).describe('Proposals per iteration, all from the same prompt'),
  corrections: count(0)
    .default(3)
    .describe(
      'Maximum number of retries per candidate, after replies that are invalid or repeat an earlier policy',
    ),
  repeats: z
    .enum(['parameters', 'behaviour'])
    .optional()
    .describe(
      'Proposals of a model that are rejected as repeats. `parameters`: those equal to an earlier policy; `behaviour`: also those that choose the same actions on observations of the warm-up, and in the episodes of the evaluation (default: `parameters`; for programs always `behaviour`)',
    ),
  ...stageSections,
  target: withShortForm(z.number(), shorthands.target, targetSchema)
    .optional()
    .describe('Mean return at which the run stops early, or `{return, hold}`'),
  limits: limitsSchema.prefault({}).describe('Limits that end the run'),
  warmup: withShortForm(count(0), shorthands.warmup, warmupSchema)
    .prefault({})
    .describe('Initial policies: a number of random ones, or `{policies, from}`'),
  evaluation: evaluationSchema.prefault({}).describe('Episodes that score a candidate'),
  confirmation: confirmationSchema
    .prefault({})
    .describe('Evaluation of the best policies on fresh seeds, at the end'),
  memory: withShortForm(z.enum(['all', 'none']), shorthands.memory, memorySchema)
    .prefault('all')
    .describe(
      'Evaluations in a prompt: `all` (as many as fit; of programs, a few), `none`, or `{best, recent, …}`',
    ),
  prompts: promptsSchema.prefault({}).describe('Content of the prompts'),
  record: z
    .enum(['none', 'first', 'all'])
    .default('first')
    .describe('Episodes of an evaluation that are recorded with their trajectories'),
  sweep: sweepSchema.optional().describe('Variants of this config to run with `policyloop sweep`'),
  slurm: slurmSchema.optional().describe('Resources to request from a cluster with `--slurm`'),
});

export type ConfigInput = z.input<typeof configSchema>;
type ParsedConfig = z.output<typeof configSchema>;

export type TargetConfig = z.output<typeof targetSchema>;
export type ConfirmationConfig = z.output<typeof confirmationSchema>;

/** A config with the defaults of its schema filled in and shorthands expanded. It is itself a valid config. */
export type Config = Omit<ParsedConfig, '$schema' | 'sweep'>;
export type ConfigWithPolicy = Config & { readonly policy: NonNullable<Config['policy']> };

/**
 * Expands short forms that name a user's file, in every section that allows one: `{provider: ./my-model.js}` becomes
 * `{provider: module, path: ./my-model.js}`, and so on for `policy.kind`. A model with a `relay` needs no provider.
 */
export function expandShortForms(content: Record<string, unknown>): Record<string, unknown> {
  const { model, policy } = content;
  const stages = stageNames.flatMap((name) => {
    const section = content[name];
    if (!isMapping(section) || !isMapping(section.model)) return [];
    return [[name, { ...section, model: withModule(section.model, 'provider') }]];
  });
  return {
    ...content,
    ...Object.fromEntries(stages),
    ...(isMapping(policy) && { policy: withModule(policy, 'kind') }),
    ...(isMapping(model) && { model: withModelModules(model) }),
  };
}

function withModelModules(model: Record<string, unknown>): Record<string, unknown> {
  const key = Array.isArray(model.relay) ? 'relay' : 'members';
  const members = model[key];
  if (!Array.isArray(members)) return withModule(model, 'provider');
  const expanded = members.map((one: unknown) => (isMapping(one) ? withModule(one, 'provider') : one));
  return { ...(key === 'relay' && { provider: key }), ...model, [key]: expanded };
}

function withModule(section: Record<string, unknown>, key: 'kind' | 'provider'): Record<string, unknown> {
  const { [key]: name, ...rest } = section;
  return typeof name === 'string' && isModulePath(name) ? { [key]: 'module', ...rest, path: name } : section;
}

export const experimentKind = settingsKind<ParsedConfig>({
  schema: configSchema,
  example: 'iterations=50 or model.name=qwen3:8b',
  expand: expandShortForms,
  longForm(path, value) {
    const [section = ''] = path;
    if (path.length > 1 || !Object.hasOwn(shorthands, String(section))) return undefined;
    return (shorthands[section as keyof typeof shorthands] as (short: unknown) => Record<string, unknown>)(
      value,
    );
  },
});

/** For programs: replaces the stages' defaults, and a prompt set that is the default, or built-in but unread. */
function withProgramPrompts({ prompts, ...config }: ParsedConfig) {
  const isUnread = membersOf(config.model).every((member) => isBaseline(member.config));
  const isReplaced = (isUnread ? /^(semantic|numeric|compact)$/ : /^semantic$/).test(prompts.set);
  return { prompts: { ...prompts, ...(isReplaced && { set: 'programs' }) }, ...stagesForPrograms(config) };
}

export function resolveConfig(parsed: ParsedConfig): Config {
  const { $schema: _schema, sweep: _sweep, slurm: _slurm, ...config } = parsed;
  return { ...config, ...(config.policy?.kind === 'program' && withProgramPrompts(parsed)) };
}

/** Settings for tuning the constants of programs; undefined if they aren't tuned. */
export const tuningOf = ({ policy }: Pick<Config, 'policy'>) =>
  policy?.kind === 'program' ? policy.tune : undefined;

/** Paths of the modules that determine the return of an episode. */
export function evaluationModules({
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

export function modulesOf(config: Config): readonly string[] {
  const { model, prompts } = config;
  const modelConfigs = [
    ...membersOf(model).map((member) => member.config),
    ...stagesOf(config).flatMap((stage) => stage.model ?? []),
  ];
  return [
    ...evaluationModules(config),
    ...modelConfigs.flatMap((modelConfig) => (modelConfig.provider === 'module' ? [modelConfig.path] : [])),
    ...(prompts.helpers === undefined ? [] : [prompts.helpers]),
  ];
}
