/**
 * Scores the policies of a record again, on fresh episodes that all of them share, and says what the record's best
 * policies and improvements are worth there.
 */
import { createGenerator } from '../../base/random/generator.js';
import { confirmationSeeds } from '../../base/random/seeds.js';
import type { ParameterVector } from '../../policies/policy.js';
import type { EvaluationSetting } from '../../rollout/evaluation.js';
import { type Played, played } from '../../rollout/played.js';
import { vectorKey } from '../../rollout/replay-buffer.js';
import { clipped, type Interval } from '../../statistics/bootstrap.js';
import { mean } from '../../statistics/descriptive.js';
import { meanInterval95 } from '../../statistics/distributions.js';
import { comparePairs, type PairedDifference } from '../../statistics/paired.js';
import {
  fewestForVerdict,
  holmAdjusted,
  type Judged,
  permutationTest,
  significance,
  type Tested,
  verdicts,
  welchTest,
} from '../../statistics/tests.js';
import type { Recorded, RecordedEvaluation } from './record.js';

/** The evaluations of one source, and what is needed to play their policies. */
export interface Source extends Recorded {
  /** Path of the run or file, for display. */
  readonly name: string;
  readonly setting: EvaluationSetting;
  /** Range of possible returns of an episode. */
  readonly range: Interval;
}

/** The mean return of a policy in fresh episodes, with its 95% interval. */
interface Fresh {
  /** The evaluation that first had this policy. */
  readonly at: string;
  readonly mean: number;
  readonly interval: Interval;
}

/** A new best: an evaluation that the record has as its best so far, compared with the best of the new bests before it. */
export interface Improvement extends Pick<PairedDifference, 'difference' | 'interval' | 'p'>, Judged {
  readonly at: string;
  /** Recorded mean return. */
  readonly recorded: number;
  /** Mean return in fresh episodes. */
  readonly fresh: number;
  /** The new best before it that is best in fresh episodes; null for recorded returns without a policy. */
  readonly before: string | null;
}

/** A recorded mean return that this environment doesn't reproduce within its noise. */
export interface Unreproduced {
  readonly at: string;
  readonly recorded: number;
  readonly fresh: number;
  /** p-value of a permutation test, after Holm's correction. */
  readonly adjusted: number;
}

export interface Audit {
  readonly name: string;
  readonly environment: string;
  /** Number of evaluations with known parameters. */
  readonly evaluations: number;
  /** Number of recorded evaluations without parameters, which are left out. */
  readonly unknown: number;
  /** Number of distinct parameter vectors. */
  readonly policies: number;
  /** Number of policies that differ in at least one action of the fresh episodes. */
  readonly behaviours: number;
  /** Number of fresh episodes per policy; decisions and figures come from as many other ones. */
  readonly episodes: number;
  readonly recorded: { readonly best: number; readonly at: string };
  readonly fresh: {
    /** Mean return of the best policy, which other fresh episodes chose. */
    readonly best: number;
    readonly bestInterval: Interval;
    readonly bestAt: string;
    /** Mean return of the policy with the best recorded mean. */
    readonly ofRecordedBest: number;
    readonly ofRecordedBestInterval: Interval;
  };
  /** How much the best recorded mean is higher than the policy's mean in fresh episodes. */
  readonly optimism: number;
  readonly improvements: {
    /** Number of new bests; the first evaluation is one only if something is recorded before it. */
    readonly recorded: number;
    /** How many of them are better than every new best before, after Holm's correction. */
    readonly confirmed: number;
    readonly list: readonly Improvement[];
  };
  readonly reproduced: {
    /** Number of recorded means that could be tested; it needs the return of each episode. */
    readonly tested: number;
    readonly not: readonly Unreproduced[];
  };
  /** After each evaluation: the best recorded mean, the mean of that policy in fresh episodes, and the best such mean. */
  readonly curves: {
    readonly recorded: readonly number[];
    readonly fresh: readonly number[];
    readonly best: readonly number[];
  };
}

interface Scored extends Played {
  readonly parameters: ParameterVector;
  /** The first evaluation of the policy. */
  readonly at: string;
  readonly mean: number;
}

interface AuditOptions {
  readonly episodes: number;
  readonly seed: number;
  readonly signal: AbortSignal;
  /** Called after each policy, with the number played so far. */
  readonly onPlayed?: (policies: number) => void;
}

/** Seeds of fresh episodes: some to choose by, others to measure with. */
export function freshSeeds(seed: number, episodes: number) {
  const seeds = confirmationSeeds(seed, 'inspection', 2 * episodes);
  return { choosing: seeds.slice(0, episodes), measuring: seeds.slice(episodes) };
}

/** @throws like `evaluate` */
export async function audit(source: Source, options: AuditOptions): Promise<Audit> {
  const { evaluations, name, range, setting, start, unknown } = source;
  const { episodes, onPlayed, seed, signal } = options;
  const { choosing, measuring } = freshSeeds(seed, episodes);
  const scored = new Map<string, Scored>();
  for (const { name: at, parameters } of evaluations) {
    const key = vectorKey(parameters);
    if (scored.has(key)) continue;
    const own = await played(setting, parameters, choosing, signal);
    scored.set(key, { ...own, parameters, at, mean: mean(own.returns) });
    onPlayed?.(scored.size);
  }
  const policyOf = ({ parameters }: RecordedEvaluation) => scored.get(vectorKey(parameters))!;
  const measured = new Map<Scored, Promise<readonly number[]>>();
  const measure = (policy: Scored) => {
    const known = measured.get(policy);
    const returns = known ?? played(setting, policy.parameters, measuring, signal).then((own) => own.returns);
    measured.set(policy, returns);
    return returns;
  };
  const freshOf = async (policy: Scored): Promise<Fresh> => {
    const returns = await measure(policy);
    const centre = mean(returns);
    return { at: policy.at, mean: centre, interval: clipped(meanInterval95(returns), range, centre) };
  };

  const walk = walked(evaluations, policyOf);
  const last = walk.at(-1)!;
  const compared: (Omit<Improvement, keyof Judged> & Tested)[] = [];
  let best: Scored | undefined;
  for (const { evaluation, isNew } of walk) {
    if (!isNew) continue;
    const own = policyOf(evaluation);
    const returns = await measure(own);
    const place = {
      at: evaluation.name,
      recorded: evaluation.score,
      fresh: mean(returns),
      before: best?.at ?? null,
    };
    if (best !== undefined)
      compared.push({ ...place, ...comparePairs(returns, await measure(best), range)! });
    else if (start !== undefined && evaluation.score > start.score)
      compared.push({ ...place, ...unpaired(returns, start) });
    if (best === undefined || own.mean > best.mean) best = own;
  }
  const list = verdicts(compared);
  const trueBest = await freshOf(last.best);
  const ofRecorded = await freshOf(policyOf(last.recorded));
  return {
    name,
    environment: setting.environment.id,
    evaluations: evaluations.length,
    unknown,
    policies: scored.size,
    behaviours: new Set([...scored.values()].map(({ actions }) => actions)).size,
    episodes,
    recorded: { best: last.recorded.score, at: last.recorded.name },
    fresh: {
      best: trueBest.mean,
      bestInterval: trueBest.interval,
      bestAt: trueBest.at,
      ofRecordedBest: ofRecorded.mean,
      ofRecordedBestInterval: ofRecorded.interval,
    },
    optimism: last.recorded.score - ofRecorded.mean,
    improvements: {
      recorded: list.length,
      confirmed: list.filter(({ verdict }) => verdict === 'higher').length,
      list,
    },
    reproduced: reproduction(evaluations, policyOf, seed),
    curves: {
      recorded: walk.map(({ recorded }) => recorded.score),
      fresh: walk.map(({ recorded }) => policyOf(recorded).mean),
      best: walk.map((step) => step.best.mean),
    },
  };
}

interface Step {
  readonly evaluation: RecordedEvaluation;
  /** True if this evaluation has the best recorded mean so far. */
  readonly isNew: boolean;
  /** The evaluation with the best recorded mean so far. */
  readonly recorded: RecordedEvaluation;
  /** The policy with the best mean in fresh episodes so far. */
  readonly best: Scored;
}

function walked(
  evaluations: readonly RecordedEvaluation[],
  policyOf: (evaluation: RecordedEvaluation) => Scored,
): readonly Step[] {
  const steps: Step[] = [];
  for (const evaluation of evaluations) {
    const [before, policy] = [steps.at(-1), policyOf(evaluation)];
    const isNew = before === undefined || evaluation.score > before.recorded.score;
    steps.push({
      evaluation,
      isNew,
      recorded: isNew ? evaluation : before.recorded,
      best: before === undefined || policy.mean > before.best.mean ? policy : before.best,
    });
  }
  return steps;
}

/** The difference to recorded returns, whose policy is unknown; without a test if only their mean is recorded. */
function unpaired(returns: readonly number[], start: Pick<RecordedEvaluation, 'returns' | 'score'>) {
  const difference = mean(returns) - start.score;
  const test = welchTest(returns, start.returns);
  const enough = start.returns.length >= fewestForVerdict && returns.length >= fewestForVerdict;
  return { difference, interval: test?.interval ?? null, p: enough ? test!.p : null };
}

/** Tests for each recorded mean whether its episodes and the fresh ones can have one distribution of returns. */
function reproduction(
  evaluations: readonly RecordedEvaluation[],
  policyOf: (evaluation: RecordedEvaluation) => Scored,
  seed: number,
): Audit['reproduced'] {
  const tested = evaluations.filter(({ returns }) => returns.length > 0);
  const random = createGenerator(seed);
  // Enough that the smallest possible p-value remains significant after the correction.
  const most = Math.ceil((2 * tested.length) / significance);
  const ps = tested.map((one) => permutationTest(one.returns, policyOf(one).returns, random, most));
  const adjusted = holmAdjusted(ps);
  const rows = tested.map(({ name, score, ...one }, i) => ({
    at: name,
    recorded: score,
    fresh: policyOf({ ...one, name, score }).mean,
    adjusted: adjusted[i]!,
  }));
  return { tested: tested.length, not: rows.filter((row) => row.adjusted < significance) };
}
