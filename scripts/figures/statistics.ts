/** Statistics of stored rows: normalised returns, and paired differences over tasks with their uncertainty. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../src/base/package.js';
import { createGenerator } from '../../src/base/random/generator.js';
import type { Interval } from '../../src/statistics/bootstrap.js';
import { mean, quantile, sum } from '../../src/statistics/descriptive.js';

/** Fixed before any comparison: `low` is random search's mean at 100 evaluations, `high` the best of a long search. */
export interface Constants {
  readonly low: number;
  readonly high: number;
}

/** The constants of tasks that several measurements share. */
export const constants = JSON.parse(
  readFileSync(join(packageRoot(), 'bench', 'embedded-constants.json'), 'utf8'),
) as Readonly<Record<string, Constants>>;

/** Maps `low` to 0 and `high` to 1; clipped above but not below. */
export const normalised = (value: number, { high, low }: Constants): number =>
  Math.min(1, (value - low) / (high - low));

/** Differences by task, one per seed. */
export type Pairs = ReadonlyMap<string, readonly number[]>;

export interface Difference {
  readonly tasks: number;
  readonly pairs: number;
  /** Mean over tasks of the means of their pairs. */
  readonly difference: number;
  /** 95% interval from resampling seeds within each task: the uncertainty due to the choice of seeds. */
  readonly interval: Interval;
  /** Share of pairs above 0, averaged over tasks; ties count half. */
  readonly wins: number;
  /** Two-sided p-value from flipping the signs of the tasks' means: whether the difference holds for other tasks. */
  readonly p: number;
}

const resamples = 10_000;

/** Tasks with fewer runs are skipped, because they don't show how much their runs vary. */
export const fewestRuns = 5;

/** Undefined if no task has enough pairs. */
export function differenceOf(pairs: Pairs): Difference | undefined {
  const lists = [...pairs.values()].filter(({ length }) => length >= fewestRuns);
  if (lists.length === 0) return undefined;
  const means = lists.map(mean);
  return {
    tasks: lists.length,
    pairs: sum(lists.map(({ length }) => length)),
    difference: mean(means),
    interval: bootstrapWithin(lists),
    wins: mean(lists.map((list) => mean(list.map((value) => (Math.sign(value) + 1) / 2)))),
    p: signFlip(means),
  };
}

/** Bootstrap percentiles of the mean of the lists' means, resampling within lists. Deterministic. */
export function bootstrapWithin(lists: readonly (readonly number[])[]): Interval {
  const random = createGenerator(0);
  const drawn = Array.from({ length: resamples }, () => {
    let total = 0;
    for (const list of lists) {
      let part = 0;
      for (let i = 0; i < list.length; i++) part += list[random.integers(0, list.length)]!;
      total += part / list.length;
    }
    return total / lists.length;
  }).toSorted((a, b) => a - b);
  return [quantile(drawn, 0.025), quantile(drawn, 0.975)];
}

/** Maximum number of values whose signs are flipped in all ways. */
const mostFlipped = 20;

/**
 * Of all ways to flip the values' signs, the share that gives a mean at least as far from 0 as the actual one.
 * @throws RangeError for more than 20 values
 */
export function signFlip(values: readonly number[]): number {
  const n = values.length;
  if (n > mostFlipped) throw new RangeError(`${n} values`);
  // Allow for rounding: a sum depends slightly on the order of its terms.
  const reached = Math.abs(sum(values)) * (1 - 1e-12);
  let asFar = 0;
  for (let flips = 0; flips < 2 ** n; flips++) {
    let total = 0;
    for (let i = 0; i < n; i++) total += flips & (1 << i) ? -values[i]! : values[i]!;
    if (Math.abs(total) >= reached) asFar++;
  }
  return asFar / 2 ** n;
}
