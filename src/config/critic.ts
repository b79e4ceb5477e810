/** The `critic` section: a second call revises the best proposal of an iteration. */
import { z } from 'zod';
import type { MaybeProblem } from '../base/errors.js';
import { localSchema } from '../models/local/settings.js';
import { moduleModelSchema, ollamaSchema, openaiSchema } from '../models/settings.js';
import { baselines } from './baselines.js';
import { schemasOf } from './model.js';
import { modelUnionOptions } from './providers.js';

const count = (minimum: number) => z.int().min(minimum);

const defaultDistance = 0.25;

export const criticSchema = z.strictObject({
  model: z
    .discriminatedUnion(
      'provider',
      [openaiSchema, ollamaSchema, localSchema, moduleModelSchema, ...schemasOf(baselines)],
      modelUnionOptions,
    )
    .optional()
    .describe(
      "Model that revises: a language model, or a baseline for comparison; same keys as `model` (default: the run's model)",
    )
    .meta({ like: 'model' }),
  every: count(1).default(1).describe('Interval between revisions, in iterations'),
  show: z
    .enum(['statistics', 'median-episode', 'both'])
    .default('both')
    .describe('Content of the prompts: `statistics` over all episodes, the `median-episode`, or `both`'),
  rows: count(2).default(20).describe('Maximum number of steps sampled from the median episode'),
  distance: z
    .number()
    .gt(0)
    .max(1)
    .default(defaultDistance)
    .describe(
      'Maximum change; larger revisions are rejected. The change is the root mean square of the differences, relative to the range; for a table of actions, it is the share of changed entries (one may always change). 1 means no limit (programs never have one)',
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

/** Replaces the default prompts and the default distance, which apply only to parameters. */
export const criticForPrograms = (critic: CriticConfig): CriticConfig => ({
  ...critic,
  distance: critic.distance === defaultDistance ? 1 : critic.distance,
  prompts: critic.prompts === 'critic' ? 'programs-critic' : critic.prompts,
});

export const criticProblems = ({ distance }: CriticConfig, arePrograms: boolean): readonly MaybeProblem[] => [
  arePrograms &&
    distance < 1 && {
      field: 'critic.distance',
      value: distance,
      message: "can't be combined with policy.kind: program, because no distance between programs is defined",
      hint: 'remove critic.distance',
    },
];
