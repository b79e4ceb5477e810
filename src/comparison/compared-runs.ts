/** Reads the data that a comparison needs from each run. */

import { basename, isAbsolute, join } from 'node:path';
import { messageOf, UserError } from '../base/errors.js';
import type { Config } from '../config/config.js';
import { budgetOf, evaluationsOf } from '../config/critic.js';
import { loadConfig } from '../config/load.js';
import { returnRange } from '../environments/catalogue/known-bounds.js';
import { type BufferEntry, type RacingTotals, racingTotals } from '../rollout/replay-buffer.js';
import { requireConfig } from '../runs/open-run.js';
import { readEvaluations, runFiles } from '../runs/reader.js';
import { type RunSummary, summaryOf } from '../runs/summary.js';
import type { Interval } from '../statistics/bootstrap.js';
import { largest, smallest } from '../statistics/descriptive.js';

/** The results of a run, and how they developed. */
export interface ComparedRun extends RunSummary {
  readonly config: Config;
  /** Number of evaluated policies, including the warm-up. */
  readonly evaluations: number;
  /**
   * Number of evaluations that the config allows: `limits.evaluations`, or the warm-up plus every candidate
   * of every iteration.
   */
  readonly budget: number;
  /**
   * Highest score after each evaluation of the budget. A rejected candidate uses up one evaluation without changing the
   * score, unless the budget is a limit on evaluations. A completed run that ended early keeps its last value.
   */
  readonly curve: readonly number[];
  /** Highest score of each iteration from 1 on; null if all its candidates were rejected or cut short. */
  readonly scores: readonly (number | null)[];
  readonly warmup: number;
  /** Number of evaluations spent by the end of each iteration; index 0 is the warm-up. */
  readonly spent: readonly number[];
  /** Range of an episode's return. */
  readonly range: Interval;
  /** null if every evaluation was played in full. */
  readonly racing: RacingTotals | null;
}

export interface UnreadableRun {
  readonly path: string;
  readonly message: string;
}

export function readComparedRuns(paths: readonly string[]): {
  readonly runs: readonly ComparedRun[];
  readonly unreadable: readonly UnreadableRun[];
} {
  const runs: ComparedRun[] = [];
  const unreadable: UnreadableRun[] = [];
  for (const path of paths) {
    try {
      runs.push(readComparedRun(path));
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      unreadable.push({ path, message: messageOf(error).split('\n', 1)[0]! });
    }
  }
  return { runs, unreadable };
}

/** @throws UserError if the run is damaged */
function readComparedRun(path: string): ComparedRun {
  const facts = summaryOf(path);
  const { manifest, status } = facts;
  const { config } = loadConfig({ file: requireConfig(join(path, runFiles.config)), asWritten: true });
  const { done } = manifest.iterations;
  const entries = readEvaluations(path, manifest);
  const first = entries.filter(({ iteration }) => iteration === 0).length;
  const warmup = status === 'completed' ? first : Math.max(first, config.warmup.policies);
  const budget = budgetOf(config, warmup);
  const length = status === 'completed' ? budget : budgetOf({ ...config, iterations: done }, first);
  const spent = spentAfter(entries, first, { ...config, iterations: done });
  return {
    ...facts,
    config,
    evaluations: entries.length,
    budget,
    curve: bestSoFar(entries, spent, config, length),
    scores: Array.from({ length: done }, (_, i) => bestOf(entries, i + 1)),
    warmup: first,
    spent,
    range: returnRange(config.environment, config.evaluation),
    racing: config.evaluation.racing ? racingTotals(entries) : null,
  };
}

/** Evaluations spent after each iteration. Rejected candidates count, unless the budget is a limit on evaluations. */
function spentAfter(
  entries: readonly BufferEntry[],
  warmup: number,
  config: Parameters<typeof evaluationsOf>[0] & Pick<Config, 'limits'>,
): readonly number[] {
  let played = 0;
  return Array.from({ length: config.iterations + 1 }, (_, iterations) => {
    while (played < entries.length && entries[played]!.iteration <= iterations) played++;
    return config.limits.evaluations === undefined
      ? warmup + evaluationsOf({ ...config, iterations })
      : played;
  });
}

/** The best score after each evaluation of the budget; before the first score, equal to the first score. */
function bestSoFar(
  entries: readonly BufferEntry[],
  spent: readonly number[],
  config: Pick<Config, 'limits' | 'screening'>,
  length: number,
): readonly number[] {
  const first = entries[0];
  if (first === undefined) return [];
  const scores = new Map<number, number>();
  let begin = 0;
  for (const [i, { candidate, iteration, score }] of entries.entries()) {
    if (iteration !== entries[begin]!.iteration) begin = i;
    const before = iteration === 0 ? 0 : spent[iteration - 1]!;
    // A rejected candidate leaves a gap; candidates removed by screening don't.
    const place = iteration === 0 || config.screening ? i - begin : candidate;
    scores.set(config.limits.evaluations === undefined ? before + place : i, score);
  }
  let best = first.score;
  return Array.from({ length }, (_, i) => {
    best = Math.max(best, scores.get(i) ?? best);
    return best;
  });
}

function bestOf(entries: readonly BufferEntry[], iteration: number): number | null {
  const scores = entries
    .filter((entry) => entry.iteration === iteration && entry.planned === undefined)
    .map(({ score }) => score);
  return scores.length === 0 ? null : largest(scores);
}

export const commonRange = (runs: readonly Pick<ComparedRun, 'range'>[]): Interval => [
  smallest(runs.map(({ range }) => range[0])),
  largest(runs.map(({ range }) => range[1])),
];

/** The model's name without the `control/` prefix. */
export const shortModel = (id: string): string => id.replace(/^control\//, '');

/** The last part of an absolute path; other values are unchanged. */
export const shortPath = (value: string): string => (isAbsolute(value) ? basename(value) : value);
