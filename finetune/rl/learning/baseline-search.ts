/** Runs a baseline search with a given number of evaluations. */
import type { RandomGenerator } from '../../../src/base/random/generator.js';
import { type BaselineName, baselineLabel, defaultBaseline } from '../../../src/config/baselines.js';
import type { ParameterSpec, ParameterVector } from '../../../src/policies/policy.js';
import { createBaseline } from '../../../src/proposers/create-baseline.js';
import type { ScoredParameters } from '../../../src/rollout/replay-buffer.js';

interface SearchSetup {
  readonly parameters: ParameterSpec;
  /** The evaluations of the warm-up, from which the search starts. */
  readonly warmup: readonly ScoredParameters[];
  readonly count: number;
  /** Returns the random generator for the proposal with this one-based number. */
  randomOf(number: number): RandomGenerator;
  evaluate(parameters: ParameterVector): Promise<number>;
}

/** @returns the name shown in tables, and all evaluations, starting with the warm-up */
export async function searchWithBaseline(
  name: BaselineName,
  { parameters, warmup, count, randomOf, evaluate }: SearchSetup,
): Promise<{ readonly label: string; readonly history: readonly ScoredParameters[] }> {
  const baseline = createBaseline(defaultBaseline(name));
  const history: ScoredParameters[] = [...warmup];
  for (let number = 1; number <= count; number++) {
    const request = { parameters, history, warmup: warmup.length };
    const proposed = await baseline.propose(request, randomOf(number));
    history.push({ parameters: proposed, score: await evaluate(proposed) });
  }
  return { label: baselineLabel(name), history };
}
