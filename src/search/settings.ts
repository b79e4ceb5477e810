/** Config sections for baselines. */
import { z } from 'zod';

const count = (minimum: number) => z.int().min(minimum);
const positive = z.number().positive();

export const randomSchema = z.strictObject({
  provider: z.literal('random').describe('Baseline: uniform random search'),
});
export const hillClimbSchema = z.strictObject({
  provider: z.literal('hill-climb').describe('Baseline: Gaussian steps from the best so far'),
  sigma: positive
    .optional()
    .describe('Standard deviation of a step, in parameter units (default: a sixth of the range)'),
});
export const cmaEsSchema = z.strictObject({
  provider: z.literal('cma-es').describe('Baseline: covariance matrix adaptation evolution strategy'),
  sigma: positive
    .optional()
    .describe(
      'Initial standard deviation, in parameter units (default: a third of the range, with 6 candidates per generation)',
    ),
  population: count(2)
    .optional()
    .describe('Candidates per generation (default if sigma is set: 4 + ⌊3 ln n⌋ for n parameters)'),
  start: z
    .enum(['best', 'centre'])
    .optional()
    .describe(
      'Where the search starts: at the `best` policy of the warm-up (default) or the `centre` of the range',
    ),
});

export const mixSchema = z.strictObject({
  provider: z
    .literal('mix')
    .describe(
      'Baseline: changes the best point so far by setting some parameters to an end of their range, or by Gaussian steps of widely varying size',
    ),
});
export const gpSchema = z.strictObject({
  provider: z
    .literal('gp')
    .describe('Baseline: Bayesian optimisation with a Gaussian process and expected improvement'),
});
export const geneticSchema = z.strictObject({
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
