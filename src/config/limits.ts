/** The section `limits`, of an experiment, an agent run or a sweep. */
import { z } from 'zod';

const count = z.int().min(1).optional();
const positive = z.number().positive().optional();

export const limitsSchema = z.strictObject({
  calls: count.describe('Model calls'),
  tokens: count.describe('Prompt and completion tokens'),
  cost: positive.describe('Cost, in the currency of `model.price`'),
  evaluations: count.describe(
    'Evaluations of warm-up policies, proposals and revisions; the confirmation is not counted',
  ),
  minutes: positive.describe('Running time; a call that is still pending at the limit is aborted'),
});

export type LimitsConfig = z.output<typeof limitsSchema>;
