/** What a config's stages add to its iterations: evaluations, and calls of models of their own. */
import type { CriticConfig } from './critic.js';
import type { ModelConfig, SingleModelConfig } from './model.js';

interface StageConfig {
  readonly name: string;
  /** It runs in every Nth iteration, and adds at most one evaluation. */
  readonly every: number;
  /** Its own model; undefined if the run's model answers. */
  readonly model: SingleModelConfig | undefined;
}

interface Staged {
  readonly critic?: Pick<CriticConfig, 'every' | 'model'> | undefined;
}

export const stagesOf = ({ critic }: Staged): readonly StageConfig[] =>
  critic === undefined ? [] : [{ name: 'critic', every: critic.every, model: critic.model }];

/** The models that stages have of their own, by stage. */
export const stageModelsOf = (config: Staged): Readonly<Record<string, ModelConfig>> =>
  Object.fromEntries(stagesOf(config).flatMap(({ model, name }) => (model ? [[name, model]] : [])));

type Counted = Staged & { readonly candidates: number; readonly iterations: number };

/** Number of iterations in which a stage runs. */
export const timesOf = ({ every }: StageConfig, { iterations }: Pick<Counted, 'iterations'>): number =>
  Math.floor(iterations / every);

/** Maximum number of evaluations after the warm-up, without limits. */
export const evaluationsOf = (config: Counted): number =>
  stagesOf(config).reduce(
    (sum, stage) => sum + timesOf(stage, config),
    config.iterations * config.candidates,
  );

/**
 * Maximum number of evaluations in a run, given its limits.
 * @param warmup number of evaluations before the first proposal
 */
export const budgetOf = (
  config: Counted & { readonly limits: { readonly evaluations?: number | undefined } },
  warmup: number,
): number => Math.min(warmup + evaluationsOf(config), config.limits.evaluations ?? Number.POSITIVE_INFINITY);
