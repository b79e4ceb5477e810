/** Plays a module's environment, because mistakes in `reset` and `step` appear only when they are called. */

import { EnvironmentError } from '../environments/remote/remote-environment.js';
import type { Assembly } from '../experiment/assemble.js';
import { isModulePath } from '../modules/user-module.js';
import { evaluationSeeds, warmupGenerator } from '../random/seeds.js';
import { evaluate } from '../rollout/evaluation.js';
import { type Finding, found, warning } from './findings.js';

/** Maximum number of steps in a trial episode: enough to find most mistakes, and quick even if steps are slow. */
const mostSteps = 100;

/**
 * Plays an episode of a random policy twice, with the same seed, if the environment is a module.
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
    if (one === other)
      return [
        found(
          'environment',
          'a trial episode works, and repeating it with the same seed gives the same result',
        ),
      ];
    return [
      warning({
        field: 'environment',
        message:
          'two episodes with the same seed differ, so runs are not reproducible and comparisons are noisier',
        remedy: 'use only the `random` that reset receives, and reset all state',
      }),
    ];
  } catch (error) {
    if (!(error instanceof EnvironmentError)) throw error;
    return [{ level: 'error', field: 'environment', message: error.message }];
  }
}
