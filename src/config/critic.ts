/** The `critic` section: a second call revises the best proposal of an iteration. */
import { z } from 'zod';
import { localSchema } from '../models/local/settings.js';
import { moduleModelSchema, ollamaSchema, openaiSchema } from '../models/settings.js';
import { baselines } from './baselines.js';
import { languageModelOf, type ModelConfig, schemasOf } from './model.js';

const count = (minimum: number) => z.int().min(minimum);

export const defaultDistance = 0.25;

export const criticSchema = z.strictObject({
  model: z
    .discriminatedUnion('provider', [
      openaiSchema,
      ollamaSchema,
      localSchema,
      moduleModelSchema,
      ...schemasOf(baselines),
    ])
    .optional()
    .describe(
      "Model that revises: a language model, or a baseline for comparison; same keys as `model` (default: the run's model)",
    )
    .meta({ like: 'model' }),
  every: count(1).default(1).describe('Revise every Nth iteration'),
  show: z
    .enum(['statistics', 'median-episode', 'both'])
    .default('both')
    .describe('What the critic sees: `statistics` over all episodes, the `median-episode`, or `both`'),
  rows: count(2).default(20).describe('Maximum number of steps sampled from the median episode'),
  distance: z
    .number()
    .gt(0)
    .max(1)
    .default(defaultDistance)
    .describe(
      'Maximum change; larger revisions are rejected. The change is the root mean square of the differences, relative to the range; for a table of actions, it is the share of changed entries. 1: no limit, as always for programs',
    ),
  prompts: z
    .string()
    .min(1)
    .default('critic')
    .describe(
      'Prompt set of the critic: `critic`, `programs-critic` (the default for programs), or the path of your own folder',
    )
    .meta({ format: 'name-or-path' }),
});

export type CriticConfig = z.output<typeof criticSchema>;

/** Config of the critic's language model; undefined if the critic is a baseline. */
export const criticModelOf = ({
  critic,
  model,
}: {
  readonly critic?: Pick<CriticConfig, 'model'> | undefined;
  readonly model: ModelConfig;
}) => languageModelOf(critic?.model ?? model);

/** The models that stages have of their own, by stage. */
export const stageModelsOf = ({
  critic,
}: {
  readonly critic?: Pick<CriticConfig, 'model'> | undefined;
}): Readonly<Record<string, ModelConfig>> => (critic?.model ? { critic: critic.model } : {});

export const revisionsOf = ({
  critic,
  iterations,
}: {
  readonly critic?: Pick<CriticConfig, 'every'> | undefined;
  readonly iterations: number;
}): number => (critic === undefined ? 0 : Math.floor(iterations / critic.every));

/**
 * Maximum number of evaluations in a run, given its limits.
 * @param warmup number of evaluations before the first proposal
 */
export const budgetOf = (
  config: Parameters<typeof evaluationsOf>[0] & {
    readonly limits: { readonly evaluations?: number | undefined };
  },
  warmup: number,
): number => Math.min(warmup + evaluationsOf(config), config.limits.evaluations ?? Number.POSITIVE_INFINITY);

export const evaluationsOf = (
  config: { readonly candidates: number } & Parameters<typeof revisionsOf>[0],
): number => config.iterations * config.candidates + revisionsOf(config);
