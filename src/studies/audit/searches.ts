/** What searches without a model reach with as many evaluations as a record. */
import { createGenerator } from '../../base/random/generator.js';
import { callSeed, evaluationSeeds, warmupGenerator } from '../../base/random/seeds.js';
import type { BaselineName } from '../../config/baselines.js';
import { createBaseline } from '../../proposers/create-baseline.js';
import { type EvaluationSetting, evaluate } from '../../rollout/evaluation.js';
import type { Evaluated } from '../../rollout/replay-buffer.js';
import { mean } from '../../statistics/descriptive.js';
import { type Audit, freshSeeds } from './audit.js';

export const searches = ['random', 'gp'] as const satisfies readonly BaselineName[];

/** The means of the policies that repeats of a search chose, in fresh episodes. */
export interface Searched {
  readonly search: (typeof searches)[number];
  /** Number of evaluations of each repeat. */
  readonly evaluations: number;
  readonly returns: readonly number[];
}

/** An audit with the searches that had as many evaluations; a line of `audit --json`. */
export interface AuditResult extends Audit {
  readonly searches: readonly Searched[];
}

/** Number of random policies with which a search begins, as in a run. */
const warmup = 20;

interface SearchOptions {
  /** Root seed of the search; the fresh episodes have the audit's. */
  readonly seed: number;
  readonly audit: { readonly seed: number; readonly episodes: number };
  /** Episodes per evaluation. */
  readonly episodes: number;
  readonly signal: AbortSignal;
  readonly onEvaluated: () => void;
}

/**
 * Searches once, and measures the policy with the best score after each of the given numbers of evaluations.
 * @param budgets ascending
 * @returns the mean return of each in fresh episodes
 */
export async function searchOnce(
  setting: EvaluationSetting,
  provider: Searched['search'],
  budgets: readonly number[],
  { audit, episodes, onEvaluated, seed, signal }: SearchOptions,
): Promise<readonly number[]> {
  const { parameters: spec, initial } = setting.family;
  const baseline = createBaseline({ provider });
  const seeds = evaluationSeeds(seed, episodes);
  const random = warmupGenerator(seed);
  const history: Evaluated[] = [];
  const found: number[] = [];
  let best: Evaluated | undefined;
  for (const budget of budgets) {
    while (history.length < budget) {
      const task = { parameters: spec, history, warmup };
      const parameters =
        history.length < warmup
          ? initial(random)
          : await baseline.propose(task, createGenerator(callSeed(seed, history.length, 0, 0)));
      const { score } = await evaluate(setting, parameters, seeds, signal);
      const evaluated = { parameters, score };
      history.push(evaluated);
      if (best === undefined || score > best.score) best = evaluated;
      onEvaluated();
    }
    const { measuring } = freshSeeds(audit.seed, audit.episodes);
    const { returns } = await evaluate(setting, best!.parameters, measuring, signal);
    found.push(mean(returns));
  }
  return found;
}
