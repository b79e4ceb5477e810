/** Statistics of stored rows: normalised returns, and paired differences over tasks with their uncertainty. */
import { groupBy } from '../../src/base/grouped.js';
import { type Interval, interval95 } from '../../src/statistics/bootstrap.js';
import { mean, quantile, sortAscending, sum } from '../../src/statistics/descriptive.js';
import { holmAdjusted, signFlipTest, significanceLevel } from '../../src/statistics/tests.js';
import { readRows } from './rows.js';

export interface Constants {
  readonly low: number;
  readonly high: number;
}

/** The arms without a falsified history or a filter, which have 40 runs on every task. */
const measured = ['random', 'hill', 'mix', 'cma', 'gp', 'model'];

interface Played {
  readonly task: string;
  readonly arm: string;
  readonly at: readonly number[];
}

/**
 * The scale of each task at a budget, from the runs of the embedded model and its baselines: `low` is the mean of
 * random search (40 runs), `high` the return that one in twenty of all runs exceeds (240 runs).
 */
export const scalesOf = (rows: readonly Played[], budget: number): Readonly<Record<string, Constants>> =>
  Object.fromEntries(
    [...groupBy(rows, ({ task }) => task)].map(([task, own]) => {
      const returns = (of: typeof own) => of.map(({ at }) => at[budget]!);
      const low = mean(returns(own.filter(({ arm }) => arm === 'random')));
      return [task, { low, high: quantile(sortAscending(returns(own)), 0.95) }];
    }),
  );

/** The scales of the tasks of the embedded model, at 100 evaluations. */
export const constants = scalesOf(
  readRows<Played>('embedded').filter(({ arm, task }) => measured.includes(arm) && !task.includes(':')),
  2,
);

/** Explains normalised returns on the pages that show them. */
export const scaleText = (evaluations: number) =>
  `0: the mean of random search at ${evaluations} evaluations, over 40 runs; 1: the return that one in twenty of 240 runs by all methods exceeds; clipped at −1 and 1`;

/** Maps `low` to 0 and `high` to 1. Clipped at −1 and 1, so that one run or one task doesn't decide a mean. */
export const normalised = (value: number, { high, low }: Constants): number =>
  Math.max(-1, Math.min(1, (value - low) / (high - low)));

/** Differences by task, one per seed. */
export type Pairs = ReadonlyMap<string, readonly number[]>;

export interface Difference {
  readonly tasks: number;
  readonly pairs: number;
  /** Mean over tasks of the means of their pairs. */
  readonly difference: number;
  /** 95% interval from the seeds within each task (`interval95`). */
  readonly interval: Interval;
  /** Share of pairs above 0, averaged over tasks; ties count half. */
  readonly wins: number;
  /** Two-sided p-value of `signFlipTest` over the pairs, weighted as in the mean; applies to these tasks only. */
  readonly p: number;
  /** The same over the tasks' means; shows whether the difference would hold for other tasks. */
  readonly pOverTasks: number;
}

/** Tasks with fewer runs are skipped, because they don't show how much their runs vary. */
export const fewestRuns = 5;

/** Returns undefined if no task has enough pairs. */
export function differenceOf(pairs: Pairs): Difference | undefined {
  const lists = [...pairs.values()].filter(({ length }) => length >= fewestRuns);
  if (lists.length === 0) return undefined;
  const means = lists.map(mean);
  return {
    tasks: lists.length,
    pairs: sum(lists.map(({ length }) => length)),
    difference: mean(means),
    interval: meanOverTasks95(lists)!,
    wins: mean(lists.map((list) => mean(list.map((value) => (Math.sign(value) + 1) / 2)))),
    p: signFlipTest(lists.flatMap((list) => list.map((value) => value / list.length))),
    pOverTasks: signFlipTest(means),
  };
}

/** 95% interval of the mean of the lists' means, from the values within lists; null below three values in a list. */
export const meanOverTasks95 = (lists: readonly (readonly number[])[]): Interval | null =>
  interval95(lists.map((values) => ({ values, weight: 1 / lists.length })));

/**
 * Finds the evident differences of a page: those whose interval excludes 0, with p < 0.05 after Holm's correction for
 * all of them.
 */
export function evident(all: readonly Pick<Difference, 'interval' | 'p'>[]): readonly boolean[] {
  const adjusted = holmAdjusted(all.map(({ p }) => p));
  return all.map(({ interval: [low, high] }, i) => adjusted[i]! < significanceLevel && (low > 0 || high < 0));
}

/** Marks the cell of a difference for `withBold`. */
export function bold(
  text: string,
  difference: Pick<Difference, 'interval' | 'p'>,
  tested: (typeof difference)[],
): string {
  return `{${tested.push(difference) - 1}|${text}}`;
}

/** Makes the marked cells of evident differences bold, corrected for all differences of the page. */
export function withBold(text: string, tested: readonly Pick<Difference, 'interval' | 'p'>[]): string {
  const isEvident = evident(tested);
  return text.replaceAll(/\{(\d+)\|(.*?)\}/g, (_, i, cell) => (isEvident[Number(i)] ? `**${cell}**` : cell));
}
