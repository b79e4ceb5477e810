/** Statistics of a policy update: how far the policy moved and how certain it is. */

import { largest, mean, standardDeviation, sum } from '../../src/statistics/descriptive.js';
import type { ExampleResult } from '../engine/batch.js';
import type { PolicyUpdateFigures } from './events.js';
import type { RlExample, ValuesPerToken } from './objectives/sampled.js';
import type { ObjectiveSettings } from './objectives/settings.js';

type Figures = Pick<
  PolicyUpdateFigures,
  'entropy' | 'mismatch' | 'largestMismatch' | 'kl' | 'explainedVariance' | 'clipShare'
>;

/** Statistics of the trained tokens of an optimizer step, mostly means. KL divergences are k3 estimates in nats. */
export function policyStatistics(
  examples: readonly ExampleResult<RlExample>[],
  settings: ObjectiveSettings,
): Figures {
  const tokens = examples.flatMap((result) => tokensOf(result, settings));
  const average = (figureOf: (token: TokenFigures) => number) => mean(tokens.map(figureOf));
  const hasAll = (name: 'reference' | 'sampler') => tokens.every((token) => token[name] !== undefined);
  const { low, high } = clipLimits(settings);
  const hasSampler = hasAll('sampler');
  return {
    entropy: average(({ entropy }) => entropy),
    mismatch: hasSampler ? average(({ oldLogp, sampler }) => k3Estimate(oldLogp - sampler!)) : 0,
    largestMismatch: hasSampler
      ? largest(tokens.map(({ oldLogp, sampler }) => Math.abs(oldLogp - sampler!)))
      : 0,
    ...(hasAll('reference') && { kl: average(({ logp, reference }) => k3Estimate(reference! - logp)) }),
    ...varianceFigures(examples),
    clipShare:
      average(({ ratio, advantage }) => Number(ratio < low && advantage < 0)) +
      average(({ ratio, advantage }) => Number(ratio > high && advantage > 0)),
  };
}

interface TokenFigures {
  readonly logp: number;
  readonly oldLogp: number;
  readonly sampler: number | undefined;
  readonly reference: number | undefined;
  readonly entropy: number;
  readonly advantage: number;
  /** π / π_old, per token or, for RLOO, per completion. */
  readonly ratio: number;
}

function tokensOf(
  { example, logp, outputs }: ExampleResult<RlExample>,
  { kind }: ObjectiveSettings,
): readonly TokenFigures[] {
  const { advantages, oldLogp = logp, samplerLogp, referenceLogp } = example;
  const tokens = [...example.completionIds.keys()].filter((token) => example.trained?.[token] !== false);
  const difference = (token: number) => logp[token]! - oldLogp[token]!;
  const total = kind === 'rloo' ? sum(tokens.map(difference)) : undefined;
  return tokens.map((token) => ({
    logp: logp[token]!,
    oldLogp: oldLogp[token]!,
    sampler: samplerLogp?.[token],
    reference: referenceLogp?.[token],
    entropy: outputs.entropy![token]!,
    advantage: numberAt(advantages, token),
    ratio: Math.exp(total ?? difference(token)),
  }));
}

const numberAt = (numbers: number | ValuesPerToken, token: number): number =>
  typeof numbers === 'number' ? numbers : numbers[token]!;

function clipLimits(settings: ObjectiveSettings): { readonly low: number; readonly high: number } {
  if (settings.kind === 'reinforce') return { low: 0, high: Number.POSITIVE_INFINITY };
  return { low: 1 - settings.clip.low, high: 1 + settings.clip.high };
}

/** eᵈ − d − 1 with d = log q − log p estimates KL(p ‖ q) from samples of p and is never negative (Schulman 2020). */
const k3Estimate = (difference: number): number => Math.expm1(difference) - difference;

function varianceFigures(examples: readonly ExampleResult<RlExample>[]): Pick<Figures, 'explainedVariance'> {
  const pairs = examples.flatMap(({ example: { returns, trained, completionIds }, outputs: { values } }) =>
    returns === undefined || values === undefined
      ? []
      : [...completionIds.keys()].flatMap((token) =>
          trained?.[token] === false ? [] : [{ target: returns[token]!, value: values[token]! }],
        ),
  );
  const variance = standardDeviation(pairs.map(({ target }) => target)) ** 2;
  if (variance === 0) return {};
  const residual = standardDeviation(pairs.map(({ target, value }) => target - value)) ** 2;
  return { explainedVariance: 1 - residual / variance };
}
