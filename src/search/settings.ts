/** The `model` section of a config for baselines. */
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
      'Initial standard deviation, in parameter units. Without it a third of the range, and 6 candidates a generation: tuned together',
    ),
  population: count(2).optional().describe('Candidates a generation (default beside a sigma: 4 + ⌊3 ln n⌋)'),
  start: z
    .enum(['best', 'centre'])
    .optional()
    .describe(
      'Where the search begins: at the `best` policy of the warm-up (default), or in the `centre` of the range',
    ),
});

export const onePlusOneEsSchema = z.strictObject({
  provider: z
    .literal('one-plus-one-es')
    .describe('Baseline: (1+1) evolution strategy with the one-fifth success rule'),
  sigma: positive
    .default(2)
    .describe('Initial standard deviation, in parameter units; of a table, entries that change on average'),
});
export const mixSchema = z.strictObject({
  provider: z
    .literal('mix')
    .describe('Baseline: from the best so far to corners of the box, or Gaussian steps of any size'),
});
export const gpSchema = z.strictObject({
  provider: z
    .literal('gp')
    .describe('Baseline: Bayesian optimisation with a Gaussian process and expected improvement'),
});
export const gridSchema = z.strictObject({
  provider: z.literal('grid').describe('Baseline: the points of a grid, whatever they return'),
  points: count(2)
    .optional()
    .describe(
      'Values of each parameter, evenly over its range (default: as many as keep the grid at 1000 points, at least 2). Of a table, all its actions',
    ),
  order: z
    .enum(['spread', 'rows'])
    .default('spread')
    .describe('`spread`: points far from one another come first. `rows`: the last parameter changes fastest'),
});
export const teacherSchema = z.strictObject({
  provider: z
    .literal('teacher')
    .describe('A mixture of the moves of evolutionary searches, to learn from the best of many candidates'),
});
/** Kept for previously recorded configs. */
export const mixtureSchema = z.strictObject({
  provider: z.literal('mixture').describe('The former name of `teacher`'),
});

/** The `screening` section of a config. */
export const screeningSchema = z.strictObject({
  evaluate: count(1)
    .default(1)
    .describe('Candidates of an iteration that are evaluated; the others cost a reply and no episode'),
});

/** Number of proposals evaluated per iteration. */
export const evaluatedEach = ({
  candidates,
  screening,
}: {
  readonly candidates: number;
  readonly screening?: z.output<typeof screeningSchema> | undefined;
}): number => screening?.evaluate ?? candidates;

/** The `novelty` section of a config. */
export const noveltySchema = z.strictObject({
  distance: z
    .number()
    .gt(0)
    .lt(1)
    .describe(
      'Least distance to every evaluation: the root mean square of the differences as a share of the range; of a table, the share of entries that differ',
    ),
  action: z
    .enum(['ask', 'jitter'])
    .default('ask')
    .describe('What becomes of a proposal that is closer: it is asked again, or moved away by a random step'),
});

export type HillClimbConfig = z.output<typeof hillClimbSchema>;
export type GridConfig = z.output<typeof gridSchema>;
export type CmaEsConfig = z.output<typeof cmaEsSchema>;
export type OnePlusOneEsConfig = z.output<typeof onePlusOneEsSchema>;
