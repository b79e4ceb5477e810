/** Runs a baseline on a synthetic task in memory, for measurements of many short runs. */
import type { Config } from '../../src/config/config.js';
import { makeSynthetic } from '../../src/environments/catalogue/synthetic.js';
import type { Environment } from '../../src/environments/environment.js';
import { createPolicyFamily, defaultPolicy } from '../../src/policies/families.js';
import type { ParameterVector, PolicyFamily } from '../../src/policies/policy.js';
import { createGenerator } from '../../src/random/generator.js';
import { confirmationSeeds, evaluationSeeds, warmupGenerator } from '../../src/random/seeds.js';
import { playEpisode } from '../../src/rollout/episode.js';
import type { Evaluated } from '../../src/rollout/replay-buffer.js';
import type { Baseline } from '../../src/search/baseline.js';
import { mean } from '../../src/statistics/descriptive.js';

/** Numbers of evaluations, including the warm-up, after which the best policy so far is evaluated again. */
export const budgets = [20, 50, 100] as const;
export const warmup = 4;
/** Number of fresh episodes, which no search has used. */
const fresh = 20;

export interface PlayedTask {
  readonly environment: Environment;
  readonly family: PolicyFamily;
  readonly maxSteps: number;
  readonly episodes: number;
  /** Determines warm-up, episodes and random stream; the same for all baselines of a task. */
  readonly seed: number;
}

/** The parts of a run's config that define its task. */
interface TaskConfig extends Pick<Config, 'policy' | 'seed'> {
  readonly environment: Pick<Config['environment'], 'id' | 'options'>;
  readonly evaluation: Pick<Config['evaluation'], 'episodes' | 'maxSteps'>;
}

/** The synthetic task of a run's config. */
export function taskOf({ environment, evaluation, policy, seed }: TaskConfig): PlayedTask {
  const made = makeSynthetic(environment.id, environment.options);
  const searched = policy ?? defaultPolicy(made);
  if (searched.kind === 'module') throw new Error("this script can't play policies from modules");
  const family = createPolicyFamily(searched, made);
  return { environment: made, family, maxSteps: evaluation.maxSteps, episodes: evaluation.episodes, seed };
}

/** Mean return over one episode per seed. */
export function scoreOf(
  { environment, family, maxSteps }: Pick<PlayedTask, 'environment' | 'family' | 'maxSteps'>,
  parameters: ParameterVector,
  seeds: readonly number[],
): number {
  const policy = family.build(parameters);
  return mean(
    seeds.map((seed) => playEpisode(environment, policy, { seed, record: false }, maxSteps).return),
  );
}

/** The best policy's return on fresh episodes at each of ascending budgets; of equal policies, the newest counts. */
export async function reachedBy(
  task: PlayedTask,
  control: Baseline,
  at: readonly number[] = budgets,
): Promise<readonly number[]> {
  const { episodes, family, seed } = task;
  const seeds = evaluationSeeds(seed, episodes);
  const confirming = confirmationSeeds(seed, 'final', fresh);
  const start = warmupGenerator(seed);
  const history: Evaluated[] = [];
  const reached: number[] = [];
  let best: Evaluated | undefined;
  const searched = { parameters: family.parameters, history, warmup };
  for (let i = 0; i < at.at(-1)!; i++) {
    const parameters =
      i < warmup ? family.initial(start) : await control.propose(searched, createGenerator(seed, [7, i]));
    const evaluated = { parameters, score: scoreOf(task, parameters, seeds) };
    history.push(evaluated);
    if (best === undefined || evaluated.score >= best.score) best = evaluated;
    if (at.some((budget) => budget === i + 1)) reached.push(scoreOf(task, best.parameters, confirming));
  }
  return reached;
}
