/** The section `limits`, of an experiment, an agent run or a sweep. */
import { z } from 'zod';

const count = z.int().min(1).optional();
const positive = z.number().positive().optional();

export const limitsSchema = z.strictObject({
  calls: count.describe('Maximum number of model calls; proposals of baselines count, too'),
  tokens: count.describe('Maximum number of prompt and completion tokens'),
  cost: positive.describe('Maximum cost, in the currency of `model.price`'),
  evaluations: count.describe(
    'Maximum number of evaluations (warm-up policies, proposals, revisions), not counting the confirmation',
  ),
  minutes: positive.describe('Minutes after which the run ends; a call that is still pending is aborted'),
});

export type LimitsConfig = z.output<typeof limitsSchema>;
