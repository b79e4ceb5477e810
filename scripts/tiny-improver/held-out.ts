/**
 * Compares how well two models improve policies, on synthetic tasks that no training used. The benchmark's tasks aren't
 * used either, because a selection based on them would bias the benchmark.
 */

import { confirmationSeeds } from '../../src/random/seeds.js';
import { evaluate } from '../../src/rollout/evaluation.js';
import { bestEntries } from '../../src/rollout/replay-buffer.js';
import { comparePairs, type PairedDifference } from '../../src/statistics/paired.js';
import { loadCollection } from '../../src/studies/collection/collection-config.js';
import { configOfRun, drawRun } from '../../src/studies/collection/collection-plan.js';
import { LoadedModels, play } from './play.js';
import { type HeldOutPlan, recipeFile } from './recipe.js';

/** Seed of the collection from which tasks are drawn; differs from the seeds of the recipe's runs. */
const seed = 1_000_003;
const [warmup, freshEpisodes] = [4, 50];

export interface HeldOut {
  readonly tasks: number;
  /** Share of tasks on which the first model's confirmed return is higher (ties count half), and its 95 % interval. */
  readonly winRate: number;
  readonly winInterval: PairedDifference['winInterval'];
}

/**
 * Plays runs with one constrained answer per iteration, at temperature 1, and evaluates the best policy again on 50
 * fresh episodes. Counts wins, because returns of different tasks have no common scale.
 * @throws Error if a run doesn't finish
 */
export async function heldOut(first: string, second: string, plan: HeldOutPlan): Promise<HeldOut> {
  const returns: number[][] = [];
  for (const directory of [first, second]) returns.push(await confirmedReturns(directory, plan));
  const { winRate, winInterval } = comparePairs(returns[0]!, returns[1]!)!;
  return { tasks: plan.tasks, winRate, winInterval };
}

async function confirmedReturns(
  directory: string,
  { evaluations, maxTokens, tasks }: HeldOutPlan,
): Promise<number[]> {
  const model = `{provider: local, path: ${JSON.stringify(directory)}, temperature: 1, format: constrained, threads: 1, device: cpu, maxTokens: ${maxTokens}}`;
  const collection = loadCollection(recipeFile('collect.yaml'), [
    `seed=${seed}`,
    'experiment.candidates=1',
    `experiment.iterations=${evaluations - warmup}`,
    `experiment.warmup=${warmup}`,
    `proposers=[{weight: 1, model: ${model}}]`,
  ]);
  const models = new LoadedModels();
  try {
    const returns: number[] = [];
    for (let index = 0; index < tasks; index++) {
      const config = configOfRun(collection, drawRun(collection, index));
      const { close, entries, reason, setting } = await play(config, models, directory);
      if (reason.kind !== 'iterations') throw new Error(`task ${index}: ${JSON.stringify(reason)}`);
      const [best] = bestEntries(entries, 1);
      const { score } = await evaluate(
        setting,
        best!.parameters,
        confirmationSeeds(config.seed, 'final', freshEpisodes),
      );
      returns.push(score);
      await close();
    }
    return returns;
  } finally {
    await models.close();
  }
}
