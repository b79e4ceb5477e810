/** Baseline searches that play the held-out runs instead of the model. */

import type { Config } from '../../../src/config/config.js';
import { createGenerator } from '../../../src/random/generator.js';
import { callSeed } from '../../../src/random/seeds.js';
import { type BaselineName, findBaseline } from '../../../src/search/baselines.js';
import { largest } from '../../../src/statistics/descriptive.js';
import { openRun } from './run-underway.js';

export interface PlayedBaseline {
  /** Name shown in tables. */
  readonly label: string;
  /** Best return of each run. */
  readonly returns: readonly number[];
  /** Mean number of episodes per run. */
  readonly episodes: number;
}

/**
 * Runs each search with as many evaluations as the model has, on the same episodes and from the same random policies.
 */
export function playBaselines(
  names: readonly BaselineName[],
  configs: readonly Config[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<readonly PlayedBaseline[]> {
  return Promise.all(names.map((name) => playBaseline(name, configs, env)));
}

async function playBaseline(
  name: BaselineName,
  configs: readonly Config[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<PlayedBaseline> {
  const record = findBaseline(name)!;
  const returns: number[] = [];
  let episodes = 0;
  for (const config of configs) {
    const control = record.create(record.schema.parse({ provider: name }) as { provider: string });
    const run = await openRun(config, env);
    const warmup = run.state.entries.length;
    const history: { parameters: readonly number[]; score: number }[] = [...run.state.entries];
    for (let iteration = 1; iteration <= config.iterations; iteration++) {
      const random = createGenerator(callSeed(config.seed, iteration, 0, 0));
      const parameters = await control.propose({ parameters: run.parameters, history, warmup }, random);
      const { score } = await run.evaluate(parameters);
      history.push({ parameters, score });
    }
    returns.push(largest(history.map(({ score }) => score)));
    episodes += history.length * config.evaluation.episodes;
    await run.close();
  }
  return { label: record.label, returns, episodes: episodes / configs.length };
}
