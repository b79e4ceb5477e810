/** How long runs took to reach a target that not all of them reached. */

import type { TargetConfig } from '../config/config.js';
import { evaluationsOf } from '../config/critic.js';
import type { ComparedRun } from './compared-runs.js';

/** When a run reached the target; a run that ended without reaching it is right-censored there. */
export interface TimeToTarget {
  readonly reached: boolean;
  /** 1-based. */
  readonly iteration: number;
  /** Evaluation within the budget, including the warm-up. */
  readonly evaluation: number;
}

/**
 * The iteration in which the best candidate's observed mean return had reached the target `hold` times in a
 * row, judged like a config's `target`. The warm-up doesn't count, as it doesn't there.
 */
export function timeToTarget(
  {
    config,
    scores,
    spent,
    warmup,
  }: Pick<ComparedRun, 'config' | 'scores' | 'warmup'> & Partial<Pick<ComparedRun, 'spent'>>,
  target: Pick<TargetConfig, 'return' | 'hold'>,
): TimeToTarget {
  let held = 0;
  for (const [i, score] of scores.entries()) {
    held = score !== null && score >= target.return ? held + 1 : 0;
    if (held >= target.hold) return at(true, i + 1);
  }
  return at(false, scores.length);

  function at(reached: boolean, iteration: number): TimeToTarget {
    const evaluation = spent?.[iteration] ?? warmup + evaluationsOf({ ...config, iterations: iteration });
    return { reached, iteration, evaluation };
  }
}

/**
 * The time by which half of all runs have reached the target, with the others censored where they ended
 * (Kaplan & Meier 1958); null if fewer than half are known to have reached it.
 */
export function medianTime(
  times: readonly { readonly at: number; readonly reached: boolean }[],
): number | null {
  let waiting = 1;
  const steps = [...new Set(times.filter(({ reached }) => reached).map(({ at }) => at))];
  for (const step of steps.toSorted((a, b) => a - b)) {
    const atRisk = times.filter(({ at }) => at >= step).length;
    const now = times.filter(({ at, reached }) => reached && at === step).length;
    waiting *= 1 - now / atRisk;
    if (waiting <= 0.5 + 1e-12) return step;
  }
  return null;
}
