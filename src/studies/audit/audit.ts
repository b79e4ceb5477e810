/**
 * Scores the policies of a record again, in fresh episodes that all of them share, and reports how well the record's
 * best policies and improvements hold up.
 */
import { createGenerator } from '../../base/random/generator.js';
import { confirmationSeeds } from '../../base/random/seeds.js';
import type { ParameterVector } from '../../policies/policy.js';
import { ProgramFault } from '../../policies/program/program.js';
import type { EvaluationSetup } from '../../rollout/evaluation.js';
import { type EpisodeResults, playSeeds } from '../../rollout/played.js';
import { vectorKey } from '../../rollout/replay-buffer.js';
import { type Interval, meanInterval95 } from '../../statistics/bootstrap.js';
import { mean, smallest } from '../../statistics/descriptive.js';
import { comparePairs, type PairedDifference } from '../../statistics/paired.js';
import {
  holmAdjusted,
  type Judgment,
  minForVerdict,
  permutationTest,
  significanceLevel,
  unpairedTest,
  withVerdicts,
} from '../../statistics/tests.js';
import type { AuditRecord, RecordedEvaluation } from './record.js';

/** A new best in the record, compared with the best among the first evaluation and the earlier new bests. */
export interface Improvement extends Pick<PairedDifference, 'difference' | 'interval' | 'p'>, Judgment {
  readonly at: string;
  /** Recorded mean return. */
  readonly recorded: number;
  /** Mean return in fresh episodes. */
  readonly fresh: number;
  /** Earlier evaluation to compare with, the best one in the `choosing` episodes; null if only returns are known. */
  readonly before: string | null;
}

/** A recorded mean return that this environment doesn't reproduce within its noise. */
export interface UnreproducedMean extends Pick<Improvement, 'at' | 'recorded' | 'fresh'> {
  /** p-value of a permutation test, after Holm's correction. */
  readonly adjusted: number;
}

export type Audit = Awaited<ReturnType<typeof audit>>;

interface AuditOptions {
  readonly episodes: number;
  readonly seed: number;
  /** Range of possible returns. */
  readonly range: Interval;
  readonly signal: AbortSignal;
  /** Called after each policy, with the number played so far. */
  readonly onPlayed?: (policies: number) => void;
}

/** Ratio of the episodes that measure the best policies to those that choose them. */
const measuringRatio = 10;

/** Returns seeds of fresh episodes: some to choose the best policies, others to measure them. */
export function freshSeeds(seed: number, episodes: number) {
  const seeds = confirmationSeeds(seed, 'inspection', (1 + measuringRatio) * episodes);
  return { choosing: seeds.slice(0, episodes), measuring: seeds.slice(episodes) };
}

/** A policy with its returns in fresh episodes, and the evaluation in which it first appeared. */
interface ScoredPolicy extends EpisodeResults {
  readonly parameters: ParameterVector;
  readonly evaluation: string;
  readonly mean: number;
}

/** @throws the same errors as `evaluate`, except if a program fails */
export async function audit(
  { evaluations, name, start, unknown }: AuditRecord & { readonly name: string },
  setup: EvaluationSetup,
  { episodes, onPlayed, range, seed, signal }: AuditOptions,
) {
  const { choosing, measuring } = freshSeeds(seed, episodes);
  const worstReturn = Number.isFinite(range[0]) ? range[0] : smallest(evaluations.map(({ score }) => score));
  const failedNames = new Set<string>();
  /** Plays a policy in fresh episodes; a program that fails gets the worst return in all of them. */
  const tryPlay = async (at: string, parameters: ParameterVector, seeds: readonly number[]) => {
    try {
      return await playSeeds(setup, parameters, seeds, signal);
    } catch (error) {
      if (!(error instanceof ProgramFault)) throw error;
      failedNames.add(at);
      return { returns: seeds.map(() => worstReturn), actionHash: `failed: ${at}` };
    }
  };
  const policies = new Map<string, ScoredPolicy>();
  for (const { name: evaluation, parameters } of evaluations) {
    const key = vectorKey(parameters);
    if (policies.has(key)) continue;
    const result = await tryPlay(evaluation, parameters, choosing);
    policies.set(key, { ...result, parameters, evaluation, mean: mean(result.returns) });
    onPlayed?.(policies.size);
  }
  const policyOf = ({ parameters }: RecordedEvaluation) => policies.get(vectorKey(parameters))!;
  const returnsByPolicy = new Map<ScoredPolicy, readonly number[]>();
  const measuredReturns = async (policy: ScoredPolicy) => {
    const returns =
      returnsByPolicy.get(policy) ?? (await tryPlay(policy.evaluation, policy.parameters, measuring)).returns;
    returnsByPolicy.set(policy, returns);
    return returns;
  };

  const [first] = evaluations;
  let [recordedBest, best, leader] = [first!, policyOf(first!), policyOf(first!)];
  const curves = { recorded: [] as number[], fresh: [] as number[], best: [] as number[] };
  const improvements: Omit<Improvement, keyof Judgment>[] = [];
  for (const evaluation of evaluations) {
    const policy = policyOf(evaluation);
    if (policy.mean > best.mean) best = policy;
    const isNew = evaluation.score > recordedBest.score;
    if (isNew) recordedBest = evaluation;
    const returns = await measuredReturns(policyOf(recordedBest));
    const [recorded, fresh] = [recordedBest.score, mean(returns)];
    curves.recorded.push(recorded);
    curves.fresh.push(fresh);
    curves.best.push(mean(await measuredReturns(best)));
    const figures = { at: evaluation.name, recorded, fresh };
    if (isNew) {
      const { difference, interval, p } = comparePairs(returns, await measuredReturns(leader), range)!;
      improvements.push({ ...figures, before: leader.evaluation, difference, interval, p });
      if (policy.mean > leader.mean) leader = policy;
    } else if (evaluation === first && start !== undefined && recorded > start.score)
      improvements.push({ ...figures, before: null, ...unpairedResult(returns, start) });
  }
  const list = withVerdicts(improvements);

  const meanAndInterval = async (policy: ScoredPolicy) => {
    const returns = await measuredReturns(policy);
    return [mean(returns), meanInterval95(returns, range, 'student')] as const;
  };
  const [bestMean, bestInterval] = await meanAndInterval(best);
  const [ofRecordedBest, ofRecordedBestInterval] = await meanAndInterval(policyOf(recordedBest));
  const returnsOf = (evaluation: RecordedEvaluation) => {
    const policy = policyOf(evaluation);
    return [...policy.returns, ...(returnsByPolicy.get(policy) ?? [])];
  };
  return {
    name,
    environment: setup.environment.id,
    /** Number of evaluations with known parameters. */
    evaluations: evaluations.length,
    /** Number of recorded evaluations without parameters, which are left out. */
    unknown,
    /** Number of distinct parameter vectors. */
    policies: policies.size,
    /** Evaluations whose programs failed in fresh episodes; they get the worst return. */
    failed: [...failedNames],
    /** Number of different behaviours. Policies with equal actions in the choosing episodes count once. */
    behaviors: new Set([...policies.values()].map(({ actionHash }) => actionHash)).size,
    /** Number of fresh episodes per policy for choosing the best. */
    episodes,
    /** Number of further fresh episodes per policy, from which figures and verdicts come. */
    measuring: measuring.length,
    recorded: { best: recordedBest.score, at: recordedBest.name },
    /** Mean returns in fresh episodes: of the best policy, and of the policy with the best recorded mean. */
    fresh: { best: bestMean, bestInterval, bestAt: best.evaluation, ofRecordedBest, ofRecordedBestInterval },
    /** The best recorded mean minus the mean of its policy in fresh episodes. */
    optimism: recordedBest.score - ofRecordedBest,
    improvements: {
      /** Number of new bests; the first evaluation counts only if it beats recorded returns before it. */
      recorded: list.length,
      /** Number of new bests that are better than what they are compared with, after Holm's correction. */
      confirmed: list.filter(({ verdict }) => verdict === 'higher').length,
      list,
    },
    reproduced: testReproduction(evaluations, returnsOf, seed),
    /** After each evaluation: the best recorded mean, that policy's mean in fresh episodes, and the best policy's. */
    curves,
  };
}

/** Compares fresh returns with recorded ones of an unknown policy; no test if there are too few, e.g. only a mean. */
function unpairedResult(returns: readonly number[], start: Pick<RecordedEvaluation, 'returns' | 'score'>) {
  const hasEnough = start.returns.length >= minForVerdict && returns.length >= minForVerdict;
  const test = hasEnough ? unpairedTest(returns, start.returns) : undefined;
  return { difference: mean(returns) - start.score, interval: test?.interval ?? null, p: test?.p ?? null };
}

/** Half of 5%: together, this test and the test for new bests that are worse flag at most 5% of sound records. */
const testLevel = significanceLevel / 2;

/** Tests for each recorded mean whether its episodes and the fresh ones could come from one distribution of returns. */
function testReproduction(
  evaluations: readonly RecordedEvaluation[],
  returnsOf: (evaluation: RecordedEvaluation) => readonly number[],
  seed: number,
) {
  const testable = evaluations.filter(({ returns }) => returns.length > 0);
  const random = createGenerator(seed);
  // With this many, the smallest possible p-value remains significant after the correction.
  const permutations = Math.ceil((4 * testable.length) / testLevel);
  const adjusted = holmAdjusted(
    testable.map((one) => permutationTest(one.returns, returnsOf(one), random, permutations)),
  );
  const unreproduced = testable.flatMap((one, i): readonly UnreproducedMean[] =>
    adjusted[i]! < testLevel
      ? [{ at: one.name, recorded: one.score, fresh: mean(returnsOf(one)), adjusted: adjusted[i]! }]
      : [],
  );
  /** `tested`: number of recorded means that could be tested, which needs the return of each episode. */
  return { tested: testable.length, not: unreproduced };
}
