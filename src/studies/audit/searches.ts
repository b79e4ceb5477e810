/** Measures what searches without a model achieve with the same number of evaluations as a record. */
import { createGenerator } from '../../base/random/generator.js';
import { callSeed, evaluationSeeds, warmupGenerator } from '../../base/random/seeds.js';
import type { Progress } from '../../base/text/progress.js';
import type { BaselineName } from '../../config/baselines.js';
import { createBaseline } from '../../proposers/create-baseline.js';
import { type EvaluationSetup, evaluate } from '../../rollout/evaluation.js';
import { bestEntry, type ScoredParameters } from '../../rollout/replay-buffer.js';
import { type Interval, meanInterval95 } from '../../statistics/bootstrap.js';
import { largest, mean } from '../../statistics/descriptive.js';
import type { Audit } from './audit.js';

type SearchName = Exclude<BaselineName, 'genetic'>;

/** Mean returns, in fresh episodes, of the policies that the repeats of a search chose. */
export interface SearchOutcome {
  readonly search: SearchName;
  /** Maximum number of evaluations of each repeat. */
  readonly evaluations: number;
  readonly returns: readonly number[];
  readonly mean: number;
  /** 95% interval of the mean; null for too few repeats (see `interval95`). */
  readonly interval: Interval | null;
}

/** An audit with the searches that were allowed the same number of evaluations; a line of `audit --json`. */
export interface AuditResult extends Audit {
  readonly searches: readonly SearchOutcome[];
}

/** Number of random policies at the start of a search, like the warm-up of a run. */
const warmup = 20;

interface SearchOptions {
  readonly searches: readonly SearchName[];
  readonly repeats: number;
  /** Seed of the first repeat. */
  readonly seed: number;
  /** Episodes per evaluation. */
  readonly episodes: number;
  /** Range of possible returns. A search stops at a score in its top 1% or, without a lower bound, at its maximum. */
  readonly range: Interval;
  /** Seeds of the episodes that measure the policies found. */
  readonly measuringSeeds: readonly number[];
  readonly signal: AbortSignal;
  readonly progress: Pick<Progress, 'begin' | 'update'>;
}

/** Repeats each search, and measures its best policy after each number of evaluations in `budgets`. */
export async function repeatSearches(
  setup: EvaluationSetup,
  budgets: ReadonlySet<number>,
  { episodes, measuringSeeds, progress, range, repeats, searches, seed: firstSeed, signal }: SearchOptions,
): Promise<readonly SearchOutcome[]> {
  const { parameters: spec, initial } = setup.family;
  const maxBudget = largest(budgets);
  const [low, high] = range;
  const goodReturn = Number.isFinite(high - low) ? high - 0.01 * (high - low) : high;
  const rows: SearchOutcome[] = [];
  for (const search of repeats > 0 ? searches : []) {
    progress.begin({ label: `${search}: evaluation`, total: repeats * maxBudget });
    const histories: ScoredParameters[][] = [];
    for (let repeat = 0; repeat < repeats; repeat++) {
      const seed = firstSeed + repeat;
      const seeds = evaluationSeeds(seed, episodes);
      const random = warmupGenerator(seed);
      const { propose } = createBaseline({ provider: search });
      const history: ScoredParameters[] = [];
      for (let done = 0; done < maxBudget && !history.some(({ score }) => score >= goodReturn); done++) {
        const task = { parameters: spec, history, warmup };
        const parameters =
          done < warmup ? initial(random) : await propose(task, createGenerator(callSeed(seed, done, 0, 0)));
        const { score } = await evaluate(setup, parameters, seeds, signal);
        history.push({ parameters, score });
        progress.update(repeat * maxBudget + done + 1);
      }
      if (history.length < maxBudget) progress.update((repeat + 1) * maxBudget);
      histories.push(history);
    }
    for (const evaluations of budgets) {
      const returns: number[] = [];
      for (const history of histories) {
        const { parameters } = bestEntry(history.slice(0, evaluations))!;
        returns.push((await evaluate(setup, parameters, measuringSeeds, signal)).score);
      }
      const interval = meanInterval95(returns, range, 'student');
      rows.push({ search, evaluations, returns, mean: mean(returns), interval });
    }
  }
  return rows;
}
