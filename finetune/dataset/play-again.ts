/** Evaluates entries of a logged run again on fresh episodes, because the best of many was partly lucky. */
import { confirmationSeeds } from '../../src/random/seeds.js';
import { evaluate } from '../../src/rollout/evaluation.js';
import type { BufferEntry } from '../../src/rollout/replay-buffer.js';
import { openTask } from '../../src/rollout/task.js';
import { placeKey, type SourceRun } from './source-run.js';

/**
 * @param episodes episodes per evaluation; their seeds are the same for all entries and weren't used in the
 *   run
 * @param env environment variables, for environments outside this process
 * @returns mean returns by `placeKey`
 * @throws EnvironmentError if an external environment fails
 */
export async function playAgain(
  { config, family, manifest }: SourceRun,
  entries: readonly BufferEntry[],
  episodes: number,
  env: Readonly<Record<string, string | undefined>>,
): Promise<ReadonlyMap<string, number>> {
  const { maxSteps, reward } = config.evaluation;
  const environment = await openTask(config.environment, reward, env, 1);
  const seeds = confirmationSeeds(manifest.seed, 'selection', episodes);
  const found = new Map<string, number>();
  try {
    for (const entry of entries) {
      const setting = { environment, family, maxSteps, record: 'none' } as const;
      const { score } = await evaluate(setting, entry.parameters, seeds);
      found.set(placeKey(entry), score);
    }
  } finally {
    await environment.close?.();
  }
  return found;
}
