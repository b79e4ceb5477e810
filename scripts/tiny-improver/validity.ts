/** Measures how many of a model's answers are valid, in runs like those it was trained for. */
import { loadConfig } from '../../src/config/load.js';
import { compactRun, firstAnswers, LoadedModels, localModel, play } from './play.js';

/** Linear policies with 10 and 4 parameters, and a table with 16 entries. */
const configs = ['cartpole-numeric', 'pendulum-numeric', 'frozenlake-numeric'];

export interface Validity {
  readonly asked: number;
  readonly valid: number;
  /** Number of refused answers, by kind of failure. */
  readonly failures: Readonly<Record<string, number>>;
}

/**
 * First answers at temperature 1.
 * @param prompts number of prompts per task; there are three tasks and 16 answers per prompt
 * @throws Error if a run doesn't finish
 */
export async function validityOf(
  directory: string,
  format: 'text' | 'constrained',
  prompts: number,
): Promise<Validity> {
  const models = new LoadedModels();
  const failures: Record<string, number> = {};
  let asked = 0;
  try {
    for (const config of configs) {
      const { calls, close, reason } = await play(
        loadConfig({
          file: config,
          overrides: [
            ...compactRun,
            ...localModel(directory),
            'model.temperature=1',
            `model.format=${format}`,
            'warmup=4',
            `iterations=${prompts}`,
            'candidates=16',
            'corrections=0',
            'limits.rejections=0',
            'evaluation={episodes: 2, workers: 1}',
            'seed=1',
          ],
        }).config,
        models,
        format,
      );
      await close();
      // A model without a single valid answer counts as measured, too.
      if (reason.kind !== 'iterations' && reason.kind !== 'no-proposals')
        throw new Error(`${config}: ${JSON.stringify(reason)}`);
      const first = firstAnswers(calls);
      asked += first.asked;
      for (const [kind, count] of Object.entries(first.failures))
        failures[kind] = (failures[kind] ?? 0) + count;
    }
  } finally {
    await models.close();
  }
  const refused = Object.values(failures).reduce((sum, count) => sum + count, 0);
  return { asked, valid: asked - refused, failures };
}
