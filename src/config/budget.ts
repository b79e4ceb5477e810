/** How many policies a run evaluates, including revisions and whoever proposes them. */
import { evaluatedEach } from '../search/settings.js';
import { revisionsOf } from './critic.js';

/**
 * Number of evaluations that a run's limits allow.
 * @param warmup number of evaluations before its first proposal
 */
export const budgetOf = (
  config: Parameters<typeof evaluationsOf>[0] & {
    readonly limits: { readonly evaluations?: number | undefined };
  },
  warmup: number,
): number => Math.min(warmup + evaluationsOf(config), config.limits.evaluations ?? Number.POSITIVE_INFINITY);

/** Evaluations of a run after its warm-up: its proposals and the critic's revisions. */
export const evaluationsOf = (
  config: Parameters<typeof evaluatedEach>[0] & Parameters<typeof revisionsOf>[0],
): number => config.iterations * evaluatedEach(config) + revisionsOf(config);
