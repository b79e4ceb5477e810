/** Runs baseline searches over simple policies, with about as many episodes as the training run. */

import { createGenerator, deriveSeeds } from '../../../src/base/random/generator.js';
import type { BaselineName } from '../../../src/config/baselines.js';
import type { Environment } from '../../../src/environments/environment.js';
import { createPolicyFamily } from '../../../src/policies/families.js';
import { linearSchema, qTableSchema } from '../../../src/policies/settings.js';
import { evaluate } from '../../../src/rollout/evaluation.js';
import { searchWithBaseline } from '../learning/baseline-search.js';

export interface NumericBaseline {
  readonly name: BaselineName;
  /** Name shown in tables. */
  readonly label: string;
  /** Number of episodes that the search played. */
  readonly episodes: number;
  /** Returns of the search's best policy on the seeds of the final evaluation. */
  readonly returns: readonly number[];
}

const episodesPerCandidate = 5;

/** First spawn keys of the random streams: for candidates, and for the episodes that evaluate them. */
const streams = { candidates: 30, episodes: 31 } as const;

/** Searches linear policies for vector observations, and Q-tables for discrete ones; `episodes` is the budget. */
export async function playBaseline(
  name: BaselineName,
  environment: Environment,
  {
    seed,
    episodes,
    finalSeeds,
  }: {
    readonly seed: number;
    readonly episodes: number;
    readonly finalSeeds: readonly number[];
  },
): Promise<NumericBaseline> {
  const family = createPolicyFamily(
    environment.observationSpace.kind === 'discrete'
      ? qTableSchema.parse({ kind: 'q-table' })
      : linearSchema.parse({ kind: 'linear' }),
    environment,
  );
  const setup = { environment, family, maxSteps: Number.POSITIVE_INFINITY, record: 'none' } as const;
  const random = createGenerator(seed, [streams.candidates]);
  const seeds = deriveSeeds(seed, [streams.episodes], episodesPerCandidate);
  const { label, history } = await searchWithBaseline(name, {
    parameters: family.parameters,
    warmup: [],
    count: Math.max(1, Math.floor(episodes / episodesPerCandidate)),
    randomOf: () => random,
    evaluate: async (parameters) => (await evaluate(setup, parameters, seeds)).score,
  });
  const best = history.reduce((a, b) => (b.score > a.score ? b : a));
  const { returns } = await evaluate(setup, best.parameters, finalSeeds);
  return { name, label, episodes: history.length * episodesPerCandidate, returns };
}
