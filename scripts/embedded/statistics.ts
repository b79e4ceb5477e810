/** What rows of the protocol say: normalised returns, paired differences over tasks, and how sure they are. */
import { createGenerator } from '../../src/random/generator.js';
import type { Interval } from '../../src/statistics/bootstrap.js';
import { mean, quantile, sum } from '../../src/statistics/descriptive.js';
import { budgets, type Row } from './plan.js';

/** Fixed before any comparison: `low` is the mean of random search at 100 evaluations, `high` the best of a long search. */
export interface Constants {
  readonly low: number;
  readonly high: number;
}

/** 0 at `low`, 1 at `high`; cut above, not below. */
export const normalised = (value: number, { high, low }: Constants): number =>
  Math.min(1, (value - low) / (high - low));

/** Differences of a task's pairs, a pair a seed. */
export type Pairs = ReadonlyMap<string, readonly number[]>;

const keyOf = (task: string, arm: string, seed: number) => `${task} ${arm} ${seed}`;

/**
 * Normalised differences `arm` − `control` by task.
 * @param budget position among the budgets
 * @param tasks tasks without a pair are skipped
 */
export function pairsOf(
  rows: readonly Row[],
  constants: Readonly<Record<string, Constants>>,
  compared: { readonly arm: string; readonly control: string; readonly budget: number },
  tasks: readonly string[],
): Pairs {
  const { arm, budget, control } = compared;
  const theirs = new Map(rows.map((row) => [keyOf(row.task, row.arm, row.seed), row]));
  const pairs = new Map<string, number[]>();
  for (const row of rows) {
    const other = theirs.get(keyOf(row.task, control, row.seed));
    if (row.arm !== arm || other === undefined || !tasks.includes(row.task)) continue;
    const own = constants[row.task];
    if (own === undefined) throw new Error(`${row.task} has no constants`);
    const difference = normalised(row.at[budget]!, own) - normalised(other.at[budget]!, own);
    pairs.set(row.task, [...(pairs.get(row.task) ?? []), difference]);
  }
  return pairs;
}

export interface Difference {
  readonly tasks: number;
  readonly pairs: number;
  /** Mean over tasks of the means of their pairs. */
  readonly difference: number;
  /** 95% interval from resampling seeds within each task: the spread over other seeds of these tasks. */
  readonly interval: Interval;
  /** Share of pairs above 0, ties half, mean over tasks. */
  readonly wins: number;
  /** Two-sided, from the signs of the tasks' means: whether it holds for other tasks. */
  readonly p: number;
}

const resamples = 10_000;

/** A task with fewer runs says nothing of how its runs differ: it is not counted yet. */
const fewestRuns = 5;

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

/** Percentiles of the mean over lists of the means of resampled lists; the same lists give the same interval. */
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

/** The most values whose signs are flipped in all ways. */
const mostFlipped = 20;

/**
 * The share of all ways to flip the signs of the values that bring their mean at least as far from 0 as it is.
 * @throws RangeError for more than 20 values
 */
export function signFlip(values: readonly number[]): number {
  const n = values.length;
  if (n > mostFlipped) throw new RangeError(`${n} values`);
  // The same numbers in another order have a differently rounded sum.
  const reached = Math.abs(sum(values)) * (1 - 1e-12);
  let asFar = 0;
  for (let flips = 0; flips < 2 ** n; flips++) {
    let total = 0;
    for (let i = 0; i < n; i++) total += flips & (1 << i) ? -values[i]! : values[i]!;
    if (Math.abs(total) >= reached) asFar++;
  }
  return asFar / 2 ** n;
}

export interface Reached {
  readonly runs: number;
  /** By budget: mean return, mean normalised return, and the normalised mean of the lowest tenth of the runs. */
  readonly returns: readonly number[];
  readonly means: readonly number[];
  readonly lowest: readonly number[];
}

/** An arm's result on a task; undefined if there are too few runs. */
export function reachedOf(
  rows: readonly Row[],
  constants: Constants,
  task: string,
  arm: string,
): Reached | undefined {
  const own = rows.filter((row) => row.task === task && row.arm === arm);
  if (own.length < fewestRuns) return undefined;
  const at = budgets.map((_, b) => own.map((row) => row.at[b]!));
  const scaled = at.map((values) => values.map((value) => normalised(value, constants)));
  const tenth = Math.max(1, Math.round(own.length / 10));
  return {
    runs: own.length,
    returns: at.map(mean),
    means: scaled.map(mean),
    lowest: scaled.map((values) => mean(values.toSorted((a, b) => a - b).slice(0, tenth))),
  };
}
