/** Tests whether a task rewards search: how much better a strong search does than random policies. */
import { z } from 'zod';
import type { Config } from '../../config/config.js';
import { makeSynthetic } from '../../environments/catalogue/synthetic.js';
import type { Environment } from '../../environments/environment.js';
import { createPolicyFamily, defaultPolicy } from '../../policies/families.js';
import type { ParameterVector, PolicyFamily } from '../../policies/policy.js';
import { createGenerator, deriveSeeds } from '../../random/generator.js';
import { playEpisode } from '../../rollout/episode.js';
import type { Evaluated } from '../../rollout/replay-buffer.js';
import { createMix, createRandomSearch } from '../../search/local-search.js';
import { largest, mean, median } from '../../statistics/descriptive.js';

const share = z.number().min(0).max(1);
const count = (minimum: number) => z.int().min(minimum);

export const acceptanceSchema = z.strictObject({
  gain: share
    .default(0.1)
    .describe(
      "Minimum improvement of the search over the best random policy, as a share of the search's improvement over the median one",
    ),
  largerGain: share.default(0.3).describe('Replaces `gain` for some of the runs, see `larger`'),
  larger: share
    .default(0.5)
    .describe('Expected share of runs whose tasks require `largerGain` instead of `gain`'),
  warmup: share
    .default(0.9)
    .describe("Share of the search's improvement over the median that the warm-up must not reach"),
  search: count(10)
    .default(400)
    .describe('Maximum number of evaluations by the baseline `mix`, including its warm-up'),
  random: count(4).default(100).describe('Number of random policies to which the search is compared'),
  episodes: count(1).default(2).describe('Episodes per evaluation'),
});

export type Acceptance = z.output<typeof acceptanceSchema>;

/** Number of random policies in the warm-up of `mix`. */
const warmup = 4;

/** Scores of a task's policies, all evaluated on the same episodes. */
export interface Findings {
  readonly median: number;
  readonly warmup: number;
  readonly random: number;
  readonly search: number;
}

/**
 * Both results are shares of the improvement from the median random policy to the search's best: `left` is the share
 * that no random policy achieves, not even in the warm-up; `begun` is the share that the warm-up achieves. Undefined if
 * the search finds nothing better than the median.
 */
export function gainOf({ median: start, random, search, warmup: begun }: Findings) {
  const way = search - start;
  if (!(way > 1e-9 * Math.max(1, Math.abs(search)))) return undefined;
  return { left: (search - Math.max(random, begun)) / way, begun: (begun - start) / way };
}

/**
 * Evaluates random policies, half drawn as in the warm-up and half uniformly over the range, and runs a search with
 * `mix`.
 * @param enough called for each new best after the warm-up; ends the search if it returns true
 */
export function findingsOf(
  { environment, family, maxSteps }: { environment: Environment; family: PolicyFamily; maxSteps: number },
  { episodes, random, search }: Pick<Acceptance, 'episodes' | 'random' | 'search'>,
  seed: number,
  enough: (findings: Findings) => boolean = () => false,
): Findings {
  const seeds = deriveSeeds(seed, [0], episodes).map((value) => value >>> 1);
  const score = (parameters: ParameterVector) => {
    const policy = family.build(parameters);
    return mean(
      seeds.map((own) => playEpisode(environment, policy, { seed: own, record: false }, maxSteps).return),
    );
  };
  const stream = createGenerator(seed, [1]);
  const task = { parameters: family.parameters, warmup };
  const evenly = createRandomSearch();
  const drawn = Array.from({ length: random }, (_, i) =>
    score(
      i % 2 === 0
        ? family.initial(stream)
        : (evenly.propose({ ...task, history: [] }, stream) as ParameterVector),
    ),
  );
  const mix = createMix();
  const history: Evaluated[] = [];
  const findings = {
    median: median(drawn),
    random: largest(drawn),
    warmup: 0,
    search: Number.NEGATIVE_INFINITY,
  };
  for (let i = 0; i < search; i++) {
    const parameters =
      i < warmup ? family.initial(stream) : (mix.propose({ ...task, history }, stream) as ParameterVector);
    const found = score(parameters);
    history.push({ parameters, score: found });
    if (i === warmup - 1) findings.warmup = largest(history.map((one) => one.score));
    if (found <= findings.search) continue;
    findings.search = found;
    if (i >= warmup && enough(findings)) break;
  }
  return findings;
}

/**
 * True if, on a config's synthetic task, search gains at least `gain` over random policies and the warm-up doesn't
 * already solve the task.
 * @param seed seed of the policies and their episodes
 */
export function paysToSearch(config: Config, accept: Acceptance, gain: number, seed: number): boolean {
  const environment = makeSynthetic(config.environment.id, config.environment.options);
  const policy = config.policy ?? defaultPolicy(environment);
  // Module policies are rejected when the config is read.
  if (policy.kind === 'module') return false;
  const family = createPolicyFamily(policy, environment);
  const task = { environment, family, maxSteps: config.evaluation.maxSteps };
  const enough = (findings: Findings) => {
    const found = gainOf(findings);
    return found !== undefined && found.left >= gain && found.begun < accept.warmup;
  };
  return enough(findingsOf(task, accept, seed, enough));
}
