/** Whether a module's environment plays: mistakes in `reset` and `step` show only then. */

import { EnvironmentError } from '../environments/remote/remote-environment.js';
import type { Assembly } from '../experiment/assemble.js';
import { isModulePath } from '../modules/user-module.js';
import { evaluationSeeds, warmupGenerator } from '../random/seeds.js';
import { evaluate } from '../rollout/evaluation.js';
import { type Finding, found, warning } from './findings.js';

/** Steps of a trial episode: enough for most mistakes, and short where a step takes long. */
const mostSteps = 100;

/**
 * Plays an episode of a random policy twice, with the same seed. Empty for an environment that isn't a module.
 * @throws the signal's reason if aborted
 */
export async function trialFindings(
  { config, environment, family }: Assembly,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const { evaluation, seed } = config;
  if (!isModulePath(config.environment.id)) return [];
  const [first] = evaluationSeeds(seed, 1);
  const maxSteps = Math.min(evaluation.maxSteps, mostSteps);
  try {
    const { episodes } = await evaluate(
      { environment, family, maxSteps, record: 'all' },
      family.initial(warmupGenerator(seed)),
      [first!, first!],
      signal,
    );
    const [one, other] = episodes.map(({ episode, ...played }) => JSON.stringify(played));
    if (one === other) return [found('environment', `plays, and repeats an episode with the same seed`)];
    return [
      warning({
        field: 'environment',
        message:
          'two episodes with the same seed differ, so runs are not reproducible and comparisons are noisier',
        remedy: 'draw from the `random` that reset receives alone, and reset all state',
      }),
    ];
  } catch (error) {
    if (!(error instanceof EnvironmentError)) throw error;
    return [{ level: 'error', field: 'environment', message: error.message }];
  }
}
