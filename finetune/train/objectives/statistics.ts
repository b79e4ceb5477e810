/** Statistics of a policy update: how far the policy moved and how certain it is. */

import { largest, mean, standardDeviation, sum } from '../../../src/statistics/descriptive.js';
import { type ReadExample, trainedLength } from '../../engine/batch.js';
import type { PerToken, Sampled } from './sampled.js';
import type { ObjectiveSettings } from './settings.js';

/** Statistics of the trained tokens of an update, mostly means. Optional fields are missing without their inputs. */
export interface PolicyStatistics {
  readonly tokens: number;
  /** Mean, in nats per token. */
  readonly entropy: number;
  /** Fraction of tokens with ratio < 1 − low and A < 0; `clippedHigh`: ratio > 1 + high (or cap) and A > 0. */
  readonly clippedLow: number;
  readonly clippedHigh: number;
  /** KL(π_old ‖ π). `referenceKl` is KL(π ‖ π_ref), `samplerKl` KL(π_sampler ‖ π_old). All are k3 estimates in nats. */
  readonly kl: number;
  readonly referenceKl?: number;
  readonly samplerKl?: number;
  /** Largest absolute difference between the trainer's and the sampler's log-probability of a token. */
  readonly largestSamplerDifference?: number;
  /**
   * Fraction of the returns' variance explained by the values, at most 1; negative if worse than a constant. Missing
   * without a value head, or if all returns are equal.
   */
  readonly explainedVariance?: number;
}

export function policyStatistics(
  examples: readonly ReadExample<Sampled>[],
  settings: ObjectiveSettings,
): PolicyStatistics {
  const tokens = examples.flatMap((read) => tokensOf(read, settings));
  const average = (of: (token: Token) => number) => mean(tokens.map(of));
  const given = (name: 'reference' | 'sampler') => tokens.every((token) => token[name] !== undefined);
  const limits = limitsOf(settings);
  return {
    tokens: tokens.length,
    entropy: average(({ entropy }) => entropy),
    clippedLow: average(({ ratio, advantage }) => Number(ratio < limits.low && advantage < 0)),
    clippedHigh: average(({ ratio, advantage }) => Number(ratio > limits.high && advantage > 0)),
    kl: average(({ logp, old }) => k3(logp - old)),
    ...(given('reference') && { referenceKl: average(({ logp, reference }) => k3(reference! - logp)) }),
    ...(given('sampler') && {
      samplerKl: average(({ old, sampler }) => k3(old - sampler!)),
      largestSamplerDifference: largest(tokens.map(({ old, sampler }) => Math.abs(old - sampler!))),
    }),
    ...explained(examples),
  };
}

interface Token {
  readonly logp: number;
  readonly old: number;
  readonly sampler: number | undefined;
  readonly reference: number | undefined;
  readonly entropy: number;
  readonly advantage: number;
  /** π / π_old, per token or per completion, as the objective clips it. */
  readonly ratio: number;
}

function tokensOf(
  { example, logp, outputs }: ReadExample<Sampled>,
  settings: ObjectiveSettings,
): readonly Token[] {
  const { advantages, oldLogp = logp, samplerLogp, referenceLogp } = example;
  const places = [...example.completionIds.keys()].filter((token) => example.trained?.[token] !== false);
  const difference = (token: number) => logp[token]! - oldLogp[token]!;
  const total = sum(places.map(difference));
  const whole = settings.kind === 'rloo' ? total : total / Math.max(1, trainedLength(example));
  const level = settings.kind === 'rloo' || (settings.kind === 'grpo' && settings.ratio === 'sequence');
  return places.map((token) => ({
    logp: logp[token]!,
    old: oldLogp[token]!,
    sampler: samplerLogp?.[token],
    reference: referenceLogp?.[token],
    entropy: outputs.entropy![token]!,
    advantage: numberAt(advantages, token),
    ratio: Math.exp(level ? whole : difference(token)),
  }));
}

const numberAt = (numbers: number | PerToken, token: number): number =>
  typeof numbers === 'number' ? numbers : numbers[token]!;

function limitsOf(settings: ObjectiveSettings): { readonly low: number; readonly high: number } {
  if (settings.kind === 'reinforce') return { low: 0, high: Number.POSITIVE_INFINITY };
  if (settings.kind === 'grpo' && settings.variant === 'cispo') return { low: 0, high: settings.cap };
  return { low: 1 - settings.clip.low, high: 1 + settings.clip.high };
}

/** eᵈ − d − 1 with d = log q − log p estimates KL(p ‖ q) from samples of p and is never negative (Schulman 2020). */
const k3 = (difference: number): number => Math.expm1(difference) - difference;

function explained(examples: readonly ReadExample<Sampled>[]): Pick<PolicyStatistics, 'explainedVariance'> {
  const pairs = examples.flatMap(({ example: { returns, trained, completionIds }, outputs: { values } }) =>
    returns === undefined || values === undefined
      ? []
      : [...completionIds.keys()].flatMap((token) =>
          trained?.[token] === false ? [] : [{ target: returns[token]!, value: values[token]! }],
        ),
  );
  const spread = standardDeviation(pairs.map(({ target }) => target)) ** 2;
  if (spread === 0) return {};
  const rest = standardDeviation(pairs.map(({ target, value }) => target - value)) ** 2;
  return { explainedVariance: 1 - rest / spread };
}
