/** The baselines: their config sections and names. `proposers/` implements them. */
import { z } from 'zod';
import { UserError } from '../base/errors.js';

const count = (minimum: number) => z.int().min(minimum);
const positive = z.number().positive();

const randomSchema = z.strictObject({
  provider: z.literal('random').describe('Baseline: uniform random search, or random programs'),
});
const hillClimbSchema = z.strictObject({
  provider: z
    .literal('hill-climb')
    .describe('Baseline: Gaussian steps from the best policy so far; for an action table, a few changes'),
  sigma: positive
    .optional()
    .describe('Standard deviation of a step, in parameter units (default: a sixth of the range)'),
});
const cmaEsSchema = z.strictObject({
  provider: z.literal('cma-es').describe('Baseline: covariance matrix adaptation evolution strategy'),
  sigma: positive
    .optional()
    .describe('Initial standard deviation, in parameter units (default: a third of the range)'),
  population: count(2)
    .optional()
    .describe('Candidates per generation (default: 6), rounded up to whole iterations'),
  start: z
    .enum(['best', 'centre'])
    .optional()
    .describe('Start of the search: the `best` policy of the warm-up (default) or the `centre` of the range'),
});

const mixSchema = z.strictObject({
  provider: z
    .literal('mix')
    .describe(
      'Baseline: moves some parameters of the best policy so far to an end of their range, or takes Gaussian steps of widely varying size; for an action table, like `hill-climb`',
    ),
});
const gpSchema = z.strictObject({
  provider: z
    .literal('gp')
    .describe('Baseline: Bayesian optimisation with a Gaussian process and expected improvement'),
});
const geneticSchema = z.strictObject({
  provider: z.literal('genetic').describe('Baseline for programs: genetic programming over a small grammar'),
  population: count(2)
    .default(10)
    .describe('Number of best programs that can be parents; until there are this many, programs are random'),
  tournament: count(1)
    .default(3)
    .describe('Number of programs drawn at random for each choice of a parent; the best of them is chosen'),
});

export type GeneticConfig = z.output<typeof geneticSchema>;
export type HillClimbConfig = z.output<typeof hillClimbSchema>;
export type CmaEsConfig = z.output<typeof cmaEsSchema>;

export const baselines = [
  { name: 'random', label: 'random search', schema: randomSchema },
  { name: 'hill-climb', label: 'hill climbing', schema: hillClimbSchema },
  { name: 'cma-es', label: 'CMA-ES', schema: cmaEsSchema },
  { name: 'mix', label: 'boundary and Gaussian steps', schema: mixSchema },
  { name: 'gp', label: 'Gaussian process', schema: gpSchema },
  { name: 'genetic', label: 'genetic programming', schema: geneticSchema },
] as const;

export type BaselineName = (typeof baselines)[number]['name'];
export type BaselineConfig = z.output<(typeof baselines)[number]['schema']>;

export const baselineNames: readonly BaselineName[] = baselines.map(({ name }) => name);

/** True if a provider is a baseline rather than a language model. */
export const isBaselineName = (provider: string): provider is BaselineName =>
  baselines.some(({ name }) => name === provider);

export const baselineLabel = (name: BaselineName): string =>
  baselines.find((baseline) => baseline.name === name)!.label;

/** A baseline's config with default settings. */
export const defaultBaseline = (name: BaselineName): BaselineConfig =>
  baselines.find((baseline) => baseline.name === name)!.schema.parse({ provider: name });

/** @throws UserError if the baseline is unknown */
export function requireBaseline(field: string, name: string): BaselineName {
  if (isBaselineName(name)) return name;
  throw new UserError({ field, message: 'unknown baseline', value: name, alternatives: [...baselineNames] });
}

/** The arm of a study that runs a baseline with its default settings. */
export const baselineArm = <Name extends BaselineName>(name: Name) => ({
  name,
  label: baselineLabel(name),
  provider: name,
  overrides: [`model.provider=${name}`],
});
