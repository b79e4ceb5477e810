/** The stages of a config, which add evaluations and model calls to its iterations. */
import type { MaybeProblem } from '../base/errors.js';
import { type CriticConfig, criticForPrograms, criticProblems, criticSchema } from './critic.js';
import { languageModelOf, type ModelConfig, type SingleModelConfig } from './model.js';

/** The stages' sections in a config; each stage runs after an iteration's proposals are evaluated. */
export const stageSections = {
  critic: criticSchema
    .optional()
    .describe('Revision of the best evaluated proposal of an iteration by a second call (default: off)'),
};

type StageName = keyof typeof stageSections;

export const stageNames = Object.keys(stageSections) as readonly StageName[];

interface StageConfig {
  readonly name: StageName;
  /** The stage runs in every Nth iteration, and adds at most one evaluation. */
  readonly every: number;
  /** The stage's own model; undefined to use the run's model. */
  readonly model?: SingleModelConfig | undefined;
  readonly prompts: string;
}

export type ConfigWithStages = { readonly [K in StageName]?: CriticConfig | undefined };

export const stagesOf = (config: ConfigWithStages): readonly StageConfig[] =>
  stageNames.flatMap((name) => (config[name] ? [{ ...config[name], name }] : []));

/** Changes the model of each stage that has its own. */
export const withStageModels = <C extends ConfigWithStages>(
  config: C,
  change: (model: SingleModelConfig, name: StageName) => SingleModelConfig,
): C => {
  const sections = stagesOf(config).flatMap(({ model, name }) =>
    model ? [[name, { ...config[name], model: change(model, name) }]] : [],
  );
  return { ...config, ...Object.fromEntries(sections) };
};

/** The stages' own models, with their fields. */
export const stageMembersOf = (config: ConfigWithStages) =>
  stagesOf(config).flatMap(({ model, name }) => (model ? [{ config: model, field: `${name}.model` }] : []));

/** The stages' own models, by stage. */
export const stageModelsOf = (config: ConfigWithStages): Readonly<Record<string, SingleModelConfig>> =>
  Object.fromEntries(stagesOf(config).flatMap(({ model, name }) => (model ? [[name, model]] : [])));

/** The stages' sections with the defaults that apply to programs. */
export const stagesForPrograms = ({ critic }: ConfigWithStages): ConfigWithStages => ({
  critic: critic && criticForPrograms(critic),
});

/** Finds stages that never run, or that no model can run, and settings that don't fit the policy. */
export function stageProblems(
  config: ConfigWithStages & { readonly iterations: number; readonly model: ModelConfig },
  arePrograms: boolean,
): readonly MaybeProblem[] {
  const { critic, iterations, model } = config;
  const hasNoModel = model.provider !== 'replayed' && languageModelOf(model) === undefined;
  return [
    ...stagesOf(config).flatMap(({ every, model: ownModel, name }) => [
      every > iterations && {
        field: `${name}.every`,
        value: every,
        message: `is greater than iterations (${iterations}), so the ${name} would never run`,
        hint: `lower ${name}.every or raise iterations`,
      },
      hasNoModel &&
        ownModel === undefined && {
          field: `${name}.model`,
          message: 'is missing, and the run has no language model',
          hint: `set ${name}.model to a language model, or to a baseline for comparison; or remove the ${name} with ${name}=`,
        },
    ]),
    ...(critic ? criticProblems(critic, arePrograms) : []),
  ];
}

type RunSize = ConfigWithStages & { readonly candidates: number; readonly iterations: number };

/** Number of iterations in which a stage runs. */
export const stageRunCount = ({ every }: StageConfig, { iterations }: Pick<RunSize, 'iterations'>): number =>
  Math.floor(iterations / every);

/** Maximum number of evaluations after the warm-up if there are no limits. */
export const plannedEvaluations = (config: RunSize): number =>
  stagesOf(config).reduce(
    (sum, stage) => sum + stageRunCount(stage, config),
    config.iterations * config.candidates,
  );

/**
 * Maximum number of evaluations in a run, given its limits.
 * @param warmup number of evaluations before the first proposal
 */
export const evaluationBudget = (
  config: RunSize & { readonly limits: { readonly evaluations?: number | undefined } },
  warmup: number,
): number =>
  Math.min(warmup + plannedEvaluations(config), config.limits.evaluations ?? Number.POSITIVE_INFINITY);
