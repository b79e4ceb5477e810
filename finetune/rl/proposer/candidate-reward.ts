import { z } from 'zod';
import { isModulePath } from '../../../src/base/modules/user-module.js';
import { isMapping } from '../../../src/base/settings/schema.js';

const invalid = (fallback: number, of = 'an invalid reply') =>
  z
    .number()
    .default(fallback)
    .describe(`Reward of ${of}, capped at the lowest reward of the others in its group`);
/** For rewards that compare with other policies. */
const repeating = 'a reply that is invalid or repeats a policy of the history';
const file = z.string().min(1).describe('Path of your own module').meta({ format: 'path' });

const improvement = {
  kind: z
    .literal('improvement')
    .describe('Improvement of the mean return over the best policy in the memory'),
  scale: z
    .union([z.literal('run'), z.number().positive()])
    .default('run')
    .describe(
      'Divisor of the improvement; `run`: the standard deviation of the returns in the memory or, if that is 0, in the group',
    ),
  gainsOnly: z.boolean().default(false).describe("Policies that don't improve on the best one earn 0"),
  invalid: invalid(-1, repeating),
};
const scaledReturn = {
  kind: z.literal('return').describe('The mean return, scaled from `low` (0) to `high` (1) and clipped'),
  low: z.number().describe('Mean return that earns 0'),
  high: z.number().describe('Mean return that earns 1'),
  invalid: invalid(0),
};
const rank = {
  kind: z
    .literal('rank')
    .describe('Rank in the group, from 1/n (lowest of n returns) to 1 (highest); ties share their mean rank'),
  invalid: invalid(0, repeating),
};
const format = { kind: z.literal('format').describe('1 for a valid reply, otherwise 0') };
const module = {
  kind: z.literal('module').describe('Your own function that computes the rewards of a group of candidates'),
  path: file,
  invalid: invalid(0),
};
const weight = { weight: z.number().default(1).describe('Factor of this reward in the sum') };

const termSchema = z.discriminatedUnion('kind', [
  z.strictObject({ ...improvement, ...weight }),
  z.strictObject({ ...scaledReturn, ...weight }),
  z.strictObject({ ...rank, ...weight }),
  z.strictObject({ ...format, ...weight }),
  z.strictObject({ ...module, ...weight }),
]);

const shared = {
  shuffle: z
    .boolean()
    .default(false)
    .describe('Permute the rewards within each group: a control experiment in which nothing can be learnt'),
};

export const rewardSchema = z.discriminatedUnion('kind', [
  z.strictObject({ ...improvement, ...shared }),
  z.strictObject({ ...scaledReturn, ...shared }),
  z.strictObject({ ...rank, ...shared }),
  z.strictObject({ ...format, ...shared }),
  z.strictObject({ ...module, ...shared }),
  z.strictObject({
    kind: z.literal('sum').describe('A weighted sum of other rewards'),
    terms: z.array(termSchema).min(1).describe('Rewards to add up'),
    ...shared,
  }),
]);

export type CandidateReward = z.output<typeof rewardSchema>;
export type RewardTerm = z.output<typeof termSchema>;

export function termsOf(reward: CandidateReward): readonly RewardTerm[] {
  if (reward.kind === 'sum') return reward.terms;
  const { shuffle: _, ...term } = reward;
  return [{ ...term, weight: 1 }];
}

/** True if the reward contains no ranks and no improvements, which depend on other policies. */
export const isAbsolute = (reward: CandidateReward): boolean =>
  termsOf(reward).every(({ kind }) => kind === 'return' || kind === 'format' || kind === 'module');

/** Expands the short form of a module in a reward and in the terms of a sum: `{kind: ./my-reward.js}`. */
export function rewardWithModules(reward: Record<string, unknown>): Record<string, unknown> {
  const expanded = (term: unknown) => {
    if (!isMapping(term) || typeof term.kind !== 'string' || !isModulePath(term.kind)) return term;
    const { kind, ...rest } = term;
    return { kind: 'module', ...rest, path: kind };
  };
  const terms = Array.isArray(reward.terms) ? { terms: reward.terms.map(expanded) } : {};
  return { ...(expanded(reward) as Record<string, unknown>), ...terms };
}
