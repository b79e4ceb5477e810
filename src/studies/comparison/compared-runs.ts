/** Reads the data that a comparison needs from each run. */

import { basename, isAbsolute, join } from 'node:path';
import { messageOf, UserError } from '../../base/errors.js';
import { readOwnText } from '../../base/files/regular-file.js';
import type { Config } from '../../config/config.js';
import { loadConfig } from '../../config/load.js';
import { evaluationBudget, plannedEvaluations } from '../../config/stages.js';
import { returnRange } from '../../environments/catalogue/known-bounds.js';
import type { BufferEntry } from '../../rollout/replay-buffer.js';
import { requireConfig } from '../../runs/open-run.js';
import { readEvaluations, runFiles } from '../../runs/reader.js';
import { type RunSummary, summaryOf } from '../../runs/summary.js';
import type { Interval } from '../../statistics/bootstrap.js';
import { largest, smallest } from '../../statistics/descriptive.js';
import { hasFailed } from './failures.js';

/** The result of a run, with its config. */
export interface ConfiguredRun extends RunSummary {
  readonly config: Config;
  /** Range of possible returns of an episode. */
  readonly range: Interval;
  /** True if the run failed, or its policies failed in fresh episodes (see `hasFailed`). */
  readonly failed: boolean;
  /** The return that a failed run without a confirmed return gets in a comparison (see `worstReturn`). */
  readonly imputedReturn?: number | null;
}

/** The results of a run, with its learning curve. */
export interface ComparedRun extends ConfiguredRun {
  /** Number of evaluations, including the warm-up. */
  readonly evaluations: number;
  /**
   * Number of evaluations that the config allows: the warm-up plus the candidates and revisions of all iterations, but
   * at most `limits.evaluations`.
   */
  readonly budget: number;
  /**
   * Highest score so far after each evaluation of the budget. A rejected candidate uses up one evaluation without
   * changing the score, unless the budget is a limit on evaluations. A completed run that ended early keeps its last
   * value; the curve of an unfinished run ends with its last complete iteration.
   */
  readonly curve: readonly number[];
  /** Highest score of each iteration from 1 on; null if all candidates of the iteration were rejected. */
  readonly scores: readonly (number | null)[];
  /** Number of evaluations spent by the end of each iteration; index 0 is the warm-up. */
  readonly spent: readonly number[];
}

export function readComparedRuns(paths: readonly string[]) {
  const runs: ComparedRun[] = [];
  const unreadable: { readonly path: string; readonly message: string }[] = [];
  for (const path of paths) {
    try {
      runs.push(readComparedRun(withConfig(summaryOf(path))));
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      unreadable.push({ path, message: messageOf(error).split('\n', 1)[0]! });
    }
  }
  return { runs, unreadable };
}

/** Caches configs by their text without the seed, because the runs of a setting differ only in the seed. */
const configs = new Map<string, Config>();
const maxConfigs = 2000;

function configOf(file: string, seed: number): Config {
  const text = readOwnText(requireConfig(file)).replace(/^seed: \d+$/m, '');
  const config = configs.get(text) ?? loadConfig({ file, asWritten: true }).config;
  if (configs.size >= maxConfigs) configs.clear();
  configs.set(text, config);
  return config.seed === seed ? config : { ...config, seed };
}

/** @throws UserError if the run's config is damaged */
export function withConfig(summary: RunSummary): ConfiguredRun {
  const config = configOf(join(summary.path, runFiles.config), summary.manifest.seed);
  const failed = hasFailed(summary, config.confirmation.candidates);
  return { ...summary, config, failed, range: returnRange(config.environment, config.evaluation) };
}

/** @throws UserError if the run is damaged */
export function readComparedRun(run: ConfiguredRun): ComparedRun {
  const { config, manifest, path, status } = run;
  const { done } = manifest.iterations;
  const entries = readEvaluations(path, manifest);
  const warmupCount = entries.filter(({ iteration }) => iteration === 0).length;
  const warmupSize = status === 'completed' ? warmupCount : Math.max(warmupCount, config.warmup.policies);
  const budget = evaluationBudget(config, warmupSize);
  const curveLength =
    status === 'completed' ? budget : evaluationBudget({ ...config, iterations: done }, warmupCount);
  const spent = spentByIteration(entries, warmupCount, { ...config, iterations: done });
  return {
    ...run,
    evaluations: entries.length,
    budget,
    curve: bestSoFar(entries, spent, config, curveLength),
    scores: bestScores(entries, done),
    spent,
  };
}

/** Counts evaluations up to each iteration, with rejected candidates unless `limits.evaluations` sets the budget. */
function spentByIteration(
  entries: readonly BufferEntry[],
  warmupCount: number,
  config: Parameters<typeof plannedEvaluations>[0] & Pick<Config, 'limits'>,
): readonly number[] {
  let evaluated = 0;
  return Array.from({ length: config.iterations + 1 }, (_, iterations) => {
    while (evaluated < entries.length && entries[evaluated]!.iteration <= iterations) evaluated++;
    return config.limits.evaluations === undefined
      ? warmupCount + plannedEvaluations({ ...config, iterations })
      : evaluated;
  });
}

/** Returns the best score so far at each of `length` evaluations; before the first score, the first score. */
function bestSoFar(
  entries: readonly BufferEntry[],
  spent: readonly number[],
  config: Pick<Config, 'limits'>,
  length: number,
): readonly number[] {
  const firstEntry = entries[0];
  if (firstEntry === undefined) return [];
  const scores = new Map<number, number>();
  for (const [i, { candidate, iteration, score }] of entries.entries()) {
    // A rejected candidate leaves a gap.
    const hasGaps = iteration > 0 && config.limits.evaluations === undefined;
    scores.set(hasGaps ? spent[iteration - 1]! + candidate : i, score);
  }
  let best = firstEntry.score;
  return Array.from({ length }, (_, i) => {
    best = Math.max(best, scores.get(i) ?? best);
    return best;
  });
}

/** Returns the best score of each iteration from 1 on; null for an iteration without a score. */
function bestScores(entries: readonly BufferEntry[], iterations: number): readonly (number | null)[] {
  const best = new Array<number | null>(iterations).fill(null);
  for (const { iteration, score } of entries)
    if (iteration > 0) best[iteration - 1] = Math.max(best[iteration - 1] ?? Number.NEGATIVE_INFINITY, score);
  return best;
}

export const commonRange = (runs: readonly Pick<ComparedRun, 'range'>[]): Interval => [
  smallest(runs.map(({ range }) => range[0])),
  largest(runs.map(({ range }) => range[1])),
];

/** Returns the model's name without the `baseline/` prefix. */
export const shortModelName = (id: string): string => id.replace(/^baseline\//, '');

/** Shortens an absolute path to its last part; returns other values unchanged. */
export const shortPath = (value: string): string => (isAbsolute(value) ? basename(value) : value);
