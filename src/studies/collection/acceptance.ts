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
      'What the search must find beyond random policies, as a share of the way from their median to its best',
    ),
  largerGain: share.default(0.3).describe('The same for `larger` of the runs'),
  larger: share.default(0.5).describe('The share of runs whose task has to leave `largerGain` to be found'),
  warmup: share.default(0.9).describe('The warm-up must stay below this share of that way'),
  search: count(10)
    .default(400)
    .describe('Evaluations of the baseline `mix`, of which the warm-up is a part'),
  random: count(4).default(100).describe('Random policies'),
  episodes: count(1).default(2).describe('Episodes of an evaluation'),
});

export type Acceptance = z.output<typeof acceptanceSchema>;

/** Number of random policies with which `mix` starts. */
const warmup = 4;

/** Scores of a task's policies, all played on the same episodes. */
export interface Findings {
  readonly median: number;
  readonly warmup: number;
  readonly random: number;
  readonly search: number;
}

/**
 * Both results are shares of the improvement from the median random policy to the search's best: `left` is
 * what remains beyond the best random policies, `begun` what the warm-up already achieved. Undefined if the
 * search finds nothing better than the median.
 */
export function gainOf({ median: start, random, search, warmup: begun }: Findings) {
  const way = search - start;
  if (!(way > 1e-9 * Math.max(1, Math.abs(search)))) return undefined;
  return { left: (search - Math.max(random, begun)) / way, begun: (begun - start) / way };
}

/**
 * Plays random policies, half drawn as in the warm-up and half uniformly over the box, and a search with `mix`.
 * @param enough ends the search early if true; called after each new best
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
 * Whether search gains at least `gain` over random policies on the synthetic task of a config, and the
 * warm-up doesn't solve the task.
 * @param seed of the policies tried and their episodes
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
