/** A part of a plan, executed by its own process, perhaps on another machine. */
import { UserError } from '../base/errors.js';
import type { LimitsConfig } from '../config/limits.js';

/** Every `of`-th run of a plan, starting with run `index` (0-based). */
export interface PlanPart {
  readonly index: number;
  readonly of: number;
}

/** Creates a predicate for `filter` that accepts the runs of a part by their index; all runs if there is no part. */
export const isInPart = (part: PlanPart | undefined) => (_: unknown, runIndex: number) =>
  part === undefined || runIndex % part.of === part.index;

/** Parses a part such as `0/4`. @throws UserError if it is malformed or out of range */
export function parsePart(text: string | undefined): PlanPart | undefined {
  if (text === undefined) return undefined;
  const [, index, of] = /^(\d+)\/(\d+)$/.exec(text)?.map(Number) ?? [];
  if (index !== undefined && of !== undefined && index < of) return { index, of };
  throw new UserError({
    field: '--part',
    message: 'must be INDEX/PARTS, e.g. 0/4 to 3/4 for four processes',
    value: text,
  });
}

/**
 * Returns a part's share of the limits; calls, tokens and evaluations are rounded down.
 * @throws UserError if a part could make no call, use no token or evaluate nothing
 */
export function divideLimits(limits: LimitsConfig, { of }: Pick<PlanPart, 'of'>): LimitsConfig {
  const roundedShare = (key: 'calls' | 'evaluations' | 'tokens') => {
    const limit = limits[key];
    if (limit === undefined || limit >= of) return limit && Math.floor(limit / of);
    throw new UserError({
      field: `sweep.limits.${key}`,
      value: limit,
      message: `is divided between ${of} tasks, so each would get less than 1`,
      hint: `raise it to ${of} or more, or use fewer tasks`,
    });
  };
  return {
    ...limits,
    calls: roundedShare('calls'),
    tokens: roundedShare('tokens'),
    evaluations: roundedShare('evaluations'),
    cost: limits.cost && limits.cost / of,
    minutes: limits.minutes && limits.minutes / of,
  };
}
