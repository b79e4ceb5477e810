/** Measures trained models: how well they improve policies on held-out tasks, and how many of their answers are valid. */

import { createGenerator, deriveSeeds } from '../../../src/base/random/generator.js';
import { confirmationSeeds } from '../../../src/base/random/seeds.js';
import { makeEnvironment } from '../../../src/environments/catalogue/open.js';
import { evaluate } from '../../../src/rollout/evaluation.js';
import { comparePairs, type PairedDifference } from '../../../src/statistics/paired.js';
import { drawFamily } from './examples.js';
import { askedModel } from './proposers.js';
import { byScore, playRun, type RunPlan } from './runs.js';
import type { Recipe } from './settings.js';
import { drawTask, families } from './tasks/tasks.js';

/** Seed of the held-out tasks; differs from the seeds of the rounds. */
const seed = 1_000_003;
const freshEpisodes = 50;
const plan = { warmup: 4, episodes: 6, maxSteps: 200, candidates: 1 } as const satisfies Partial<RunPlan>;

/**
 * Compares two models on tasks that no training used: runs with one constrained answer per iteration, at temperature 1,
 * whose best policies are evaluated again on fresh episodes. The benchmark's tasks aren't used, because a choice based
 * on them would bias the benchmark.
 * @returns the share of tasks on which the first model's return is higher (ties count half), and its 95 % interval
 */
export async function heldOut(
  first: string,
  second: string,
  recipe: Recipe,
): Promise<Pick<PairedDifference, 'winRate' | 'winInterval'>> {
  return comparePairs(await confirmedReturns(first, recipe), await confirmedReturns(second, recipe))!;
}

async function confirmedReturns(directory: string, { heldOut, maxTokens }: Recipe): Promise<number[]> {
  const model = await askedModel(directory, { format: 'constrained', temperature: 1, maxTokens });
  const returns: number[] = [];
  for (let index = 0; index < heldOut.tasks; index++) {
    const family = drawFamily(createGenerator(seed, [index]));
    const [own, taskSeed] = deriveSeeds(seed, [index, 1], 2).map((value) => value >>> 1) as [number, number];
    const environment = drawTask(family, taskSeed);
    const given = { ...plan, ...('isFunction' in families[family] && { bias: false, episodes: 1 }) };
    const iterations = heldOut.evaluations - plan.warmup;
    const { assembly, memory } = await playRun(environment, { ...given, iterations, seed: own }, model);
    const setting = {
      environment,
      family: assembly.family,
      maxSteps: plan.maxSteps,
      record: 'none',
    } as const;
    const fresh = confirmationSeeds(own, 'final', freshEpisodes);
    returns.push((await evaluate(setting, byScore(memory)[0]!.parameters, fresh)).score);
  }
  await model.close();
  return returns;
}

/** Linear policies with 10 and 4 parameters, and a table with 16 entries. */
const environments = ['CartPole-v1', 'Pendulum-v1', 'FrozenLake-v1'];

/** Counts valid answers to 16 questions per prompt, at temperature 1, in runs on three environments. */
export async function validityOf(
  directory: string,
  format: 'text' | 'constrained',
  { maxTokens, prompts }: Recipe,
): Promise<{ readonly asked: number; readonly valid: number }> {
  const model = await askedModel(directory, { format, temperature: 1, maxTokens });
  for (const id of environments) {
    const given = { ...plan, candidates: 16, episodes: 2, iterations: prompts, seed: 1 };
    await playRun(await makeEnvironment(id, {}), given, model);
  }
  await model.close();
  return model.counts;
}
