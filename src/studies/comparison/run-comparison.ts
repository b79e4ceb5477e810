/** Computes the figures of each group of runs and tests the differences between them. */
import { isDeepStrictEqual } from 'node:util';
import { packageVersion } from '../../base/package.js';
import type { TargetConfig } from '../../config/config.js';
import { type Interval, percentileInterval95 } from '../../statistics/bootstrap.js';
import { largest, mean, median, smallest } from '../../statistics/descriptive.js';
import { type SampleSummary, summarize } from '../../statistics/paired.js';
import {
  cautions,
  confirmedBySeed,
  differencesOf,
  type GroupDifference,
  meanBySeed,
  pairingNotes,
} from './comparability.js';
import { type ComparedRun, commonRange } from './compared-runs.js';
import type { RunGroup, TaskEnvironment, TaskGroups } from './run-groups.js';

/** The time at which a run reached the target; a run that didn't reach it is right-censored at its end. */
export interface TimeToTarget {
  readonly reached: boolean;
  /** Iteration (1-based) in which it reached the target, otherwise its last iteration. */
  readonly iteration: number;
  /** Number of evaluations by the end of that iteration, including the warm-up. */
  readonly evaluation: number;
}

/**
 * Finds the iteration in which the best candidate's observed mean return reaches the target for the `hold`-th time in a
 * row. The warm-up doesn't count, as for a config's `target`.
 */
export function timeToTarget(
  { scores, spent }: Pick<ComparedRun, 'scores' | 'spent'>,
  target: TargetConfig,
): TimeToTarget {
  let heldFor = 0;
  const reachedAt = scores.findIndex((score) => {
    heldFor = score !== null && score >= target.return ? heldFor + 1 : 0;
    return heldFor >= target.hold;
  });
  const iteration = reachedAt < 0 ? scores.length : reachedAt + 1;
  return { reached: reachedAt >= 0, iteration, evaluation: spent[iteration]! };
}

/**
 * Kaplan–Meier estimate (1958) of the time by which half of the runs reach the target; runs that don't reach it are
 * censored where they ended. Null if the estimated share stays below half.
 */
export function medianTime(
  times: readonly { readonly at: number; readonly reached: boolean }[],
): number | null {
  let waitingShare = 1;
  const eventTimes = [...new Set(times.filter(({ reached }) => reached).map(({ at }) => at))];
  for (const time of eventTimes.toSorted((a, b) => a - b)) {
    const atRisk = times.filter(({ at }) => at >= time).length;
    const reachedNow = times.filter(({ at, reached }) => reached && at === time).length;
    waitingShare *= 1 - reachedNow / atRisk;
    if (waitingShare <= 0.5 + 1e-12) return time;
  }
  return null;
}

interface ConfirmedSummary extends SampleSummary {
  readonly median: number;
  readonly medianInterval: Interval | null;
}

/** Number of runs that reached the target, and their times; the other runs are right-censored where they ended. */
export interface TargetFigures extends TargetConfig {
  readonly reached: number;
  readonly of: number;
  /** Kaplan–Meier median over all runs; null if the estimated share that reaches the target stays below half. */
  readonly medianIterations: number | null;
  readonly medianEvaluations: number | null;
  /** Number of iterations of the longest run that didn't reach the target; null if every run reached it. */
  readonly censoredAfter: number | null;
}

/** A run in the output of `compare --json`. */
interface RunFigures extends Pick<ComparedRun, 'status' | 'ended' | 'observed' | 'evaluations' | 'tokens'> {
  /** Path of the run directory. */
  readonly run: string;
  readonly seed: number;
  readonly confirmed: number | null;
  /** See `GroupFigures.area`. */
  readonly area: number | null;
  readonly iterations: number;
  readonly cost: number | null;
}

export interface GroupFigures {
  readonly name: string;
  readonly runs: readonly RunFigures[];
  readonly seeds: readonly number[];
  /** Distinct numbers of evaluations that the runs' configs allow. */
  readonly budgets: readonly number[];
  /** Confirmed (or imputed) returns, summarised over seeds; null if there are none. Intervals: 95% (`bootstrap.ts`). */
  readonly confirmed: ConfirmedSummary | null;
  /**
   * Mean of the learning curve (the best observed return so far) over the first `horizon` evaluations. It is biased
   * upwards, because the best of noisy returns is too high, and isn't the return of any policy.
   */
  readonly area: SampleSummary | null;
  readonly target: TargetFigures | null;
  /** Mean number of tokens per run, prompt plus completion. */
  readonly tokens: number;
  /** Mean cost per run, in the currency of `model.price`; null if a run has no price. */
  readonly cost: number | null;
}

export interface TaskComparison {
  readonly name: string;
  readonly environment: TaskEnvironment;
  /** Number of evaluations covered by the areas: the smallest budget of all runs. */
  readonly horizon: number;
  readonly groups: readonly GroupFigures[];
  readonly differences: readonly GroupDifference[];
  /** Sentences on which seeds are paired and, for unpaired groups, on how to get pairs. */
  readonly pairings: readonly string[];
  readonly cautions: readonly string[];
}

/** A requested run that was left out of the comparison. */
export interface OmittedRun {
  readonly run: string;
  readonly reason: string;
}

/** Output of `compare --json`. */
export interface RunComparison {
  readonly version: 1;
  readonly kind: 'comparison';
  readonly policyloop: string;
  /** Keys that define the groups; null means all settings that affect results, except the seed. */
  readonly by: readonly string[] | null;
  /** Number of differences that share Holm's correction. */
  readonly tested: number;
  readonly tasks: readonly TaskComparison[];
  readonly leftOut: readonly OmittedRun[];
}

/**
 * @param target mean return that runs must reach; if undefined, the target that all configs of a group share
 * @param nameOf formats a run's path for display
 */
export function compareGroups(
  tasks: readonly TaskGroups[],
  options: {
    readonly against?: string | undefined;
    readonly by: readonly string[] | undefined;
    readonly target: number | undefined;
    readonly leftOut: readonly OmittedRun[];
    readonly nameOf: (path: string) => string;
  },
): RunComparison {
  const differences = differencesOf(tasks, options.against);
  return {
    version: 1,
    kind: 'comparison',
    policyloop: packageVersion(),
    by: options.by ?? null,
    tested: differences.flat().filter(({ p }) => p !== null).length,
    tasks: tasks.map((task, i) => {
      const { name, environment, groups } = task;
      const horizon = smallest(groups.flatMap(({ runs }) => runs.map(({ budget }) => budget)));
      return {
        name,
        environment,
        horizon,
        groups: groups.map((group) => figuresOf(group, horizon, options.target, options.nameOf)),
        differences: differences[i]!,
        pairings: pairingNotes(groups, differences[i]!),
        cautions: cautions(task, options.by),
      };
    }),
    leftOut: options.leftOut,
  };
}

function figuresOf(
  group: RunGroup,
  horizon: number,
  target: number | undefined,
  nameOf: (path: string) => string,
): GroupFigures {
  const { name, runs } = group;
  const confirmed = [...confirmedBySeed(runs).values()];
  const costs = runs.flatMap(({ manifest }) => manifest.usage.cost ?? []);
  const range = commonRange(runs);
  const areas = runs.map((run) => areaOf(run, horizon));
  return {
    name,
    runs: runs.map((run, i) => ({
      run: nameOf(run.path),
      seed: run.manifest.seed,
      status: run.status,
      ended: run.ended,
      confirmed: run.confirmed?.mean ?? null,
      observed: run.observed,
      area: areas[i]!,
      iterations: run.manifest.iterations.done,
      evaluations: run.evaluations,
      tokens: run.tokens,
      cost: run.manifest.usage.cost ?? null,
    })),
    seeds: [...new Set(runs.map(({ manifest }) => manifest.seed))],
    budgets: [...new Set(runs.map(({ budget }) => budget))],
    confirmed: confirmedSummary(confirmed, range),
    area: summarize([...meanBySeed(runs, (run) => areaOf(run, horizon)).values()], range) ?? null,
    target: targetFigures(runs, target),
    tokens: mean(runs.map(({ tokens }) => tokens)),
    cost: costs.length === runs.length ? mean(costs) : null,
  };
}

function confirmedSummary(values: readonly number[], range: Interval): ConfirmedSummary | null {
  const summary = summarize(values, range);
  if (summary === undefined) return null;
  return { ...summary, median: median(values), medianInterval: percentileInterval95(values, 'median') };
}

/** Averages the curve up to `horizon`; null for a run without evaluations. */
function areaOf({ curve }: ComparedRun, horizon: number): number | null {
  const values = curve.slice(0, horizon);
  return values.length === 0 ? null : mean(values);
}

function targetFigures(runs: readonly ComparedRun[], targetReturn: number | undefined): TargetFigures | null {
  const target = targetReturn === undefined ? commonTarget(runs) : { return: targetReturn, hold: 1 };
  if (target === undefined) return null;
  const times = runs.map((run) => timeToTarget(run, target));
  const censored = times.filter(({ reached }) => !reached);
  return {
    ...target,
    reached: times.length - censored.length,
    of: times.length,
    medianIterations: medianTime(times.map(({ reached, iteration }) => ({ reached, at: iteration }))),
    medianEvaluations: medianTime(times.map(({ reached, evaluation }) => ({ reached, at: evaluation }))),
    censoredAfter: censored.length === 0 ? null : largest(censored.map(({ iteration }) => iteration)),
  };
}

/** Returns the target that all configs share; undefined if they have none or differ. */
function commonTarget(runs: readonly ComparedRun[]): TargetConfig | undefined {
  const target = runs[0]?.config.target;
  return runs.every(({ config }) => isDeepStrictEqual(config.target, target)) ? target : undefined;
}
