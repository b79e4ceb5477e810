/** Sampled completions, and the inputs of policy objectives that are computed from them. */

import { type GetInputs, type TokenSequence, trainedLength } from '../../engine/batch.js';
import type { Objective } from '../../engine/objective.js';
import type { CommonSettings } from './settings.js';

/** One number per token of a completion; entries of untrained tokens are ignored. */
export type ValuesPerToken = ArrayLike<number>;

/** A completion as sampled token ids. Untrained tokens are excluded from sums and divisors. */
export interface RlExample extends TokenSequence {
  /** Advantages: one number for all tokens, or one per token. */
  readonly advantages: number | ValuesPerToken;
  /** Log-probabilities before the update, at the sampling temperature. Required if an update takes several steps. */
  readonly oldLogp?: ValuesPerToken | undefined;
  /** Log-probabilities reported by the sampler. Required unless `maxImportance` is 0. */
  readonly samplerLogp?: ValuesPerToken | undefined;
  /** Log-probabilities under the reference policy. GRPO requires them if its KL coefficient isn't 0. */
  readonly referenceLogp?: ValuesPerToken | undefined;
  /** Targets of the value head; `oldValues` are its values before the update. PPO requires both. */
  readonly returns?: ValuesPerToken | undefined;
  readonly oldValues?: ValuesPerToken | undefined;
}

export interface PolicyObjective {
  readonly objective: Objective;
  /** Reads the tokens before an update: gives their log-probabilities, `entropy` and a value head's `values`. */
  readonly reading: Objective;
  /**
   * Returns the inputs of each example. Token weights are normalized over all examples, so that the losses and
   * gradients of the parts of an optimizer step add up.
   * @param update the examples of one optimizer step
   * @param progress fraction of training completed, in [0, 1], for scheduled coefficients
   * @throws Error if a completion lacks a number that the objective needs
   */
  inputs(update: readonly RlExample[], progress: number): GetInputs<RlExample>;
}

export interface PolicyContext {
  /** Sampling temperature; divides the logits. */
  readonly temperature: number;
  readonly constrained?: boolean;
  /** True if an update takes several steps; if false, the ratio is exactly 1 and `oldLogp` isn't needed. */
  readonly reused: boolean;
  /** Maximum length of a completion; `dr_grpo` divides by this constant. */
  readonly maxCompletionTokens: number;
}

/** 1 / (trained tokens of all examples), so that all tokens have equal weight. */
export function tokenMean(update: readonly TokenSequence[]): (example: TokenSequence) => number {
  const total = update.reduce((sum, example) => sum + trainedLength(example), 0);
  return () => 1 / Math.max(1, total);
}

/** 1 / (completions · tokens in this completion), so that all completions have equal weight. */
export function sequenceMean(update: readonly TokenSequence[]): (example: TokenSequence) => number {
  return (example) => 1 / (update.length * Math.max(1, trainedLength(example)));
}

export function policyInputs(
  update: readonly RlExample[],
  weightOf: (example: TokenSequence) => number,
  { entropy, maxImportance }: CommonSettings,
  reused: boolean,
  progress: number,
): GetInputs<RlExample> {
  const shareOf = tokenMean(update);
  const bonus = typeof entropy === 'number' ? entropy : entropy.from + progress * (entropy.to - entropy.from);
  return (example) => ({
    weights: weightOf(example),
    advantages: example.advantages,
    ...(reused && { old_logp: requireField(example, 'oldLogp') }),
    ...(maxImportance > 0 && { sampler_logp: requireField(example, 'samplerLogp') }),
    ...(entropy !== 0 && { entropy_weights: bonus * shareOf(example) }),
  });
}

/** @throws Error if the completion lacks this field */
export function requireField(
  example: RlExample,
  name: Exclude<keyof RlExample, keyof TokenSequence>,
): number | ValuesPerToken {
  const numbers = example[name];
  if (numbers === undefined) throw new Error(`a completion in the update has no ${name}`);
  return numbers;
}
