/** Completions that a policy's objective learns from, and their numbers for the graph. */

import type { CommonSettings } from '../../../src/config/learning/objective.js';
import { type InputsOf, type TokenSequence, trainedLength } from '../../engine/batch.js';
import type { Objective } from '../../engine/objective.js';

/** A number for each token of a completion; those of tokens that are not trained are ignored. */
export type PerToken = ArrayLike<number>;

/** A completion by the token ids that were sampled. Tokens with `trained: false` are in no sum and in no divisor. */
export interface Sampled extends TokenSequence {
  /** How much better than expected: one number for all tokens, or one for each. */
  readonly advantages: number | PerToken;
  /** Log-probabilities by the policy before the update, at the sampling's temperature; needed where batches are reused. */
  readonly oldLogp?: PerToken | undefined;
  /** Log-probabilities as the sampler had them; needed for importance weights. */
  readonly samplerLogp?: PerToken | undefined;
  /** Log-probabilities by the reference; needed where the KL term counts. */
  readonly referenceLogp?: PerToken | undefined;
  /** Targets of the value head, and its values before the update; needed for PPO. */
  readonly returns?: PerToken | undefined;
  readonly oldValues?: PerToken | undefined;
}

/** An objective for the updates of a policy. */
export interface PolicyObjective {
  readonly objective: Objective;
  /**
   * What is read before the updates, with `purpose: 'evaluate'` and without inputs: log-probabilities, `entropy`, and
   * `values` of a value head.
   */
  readonly reading: Objective;
  /**
   * The numbers of all completions of one update, however they are laid out in parts later: each normaliser counts the
   * whole update, so that the losses and gradients of the parts add up to it.
   * @param progress share of the learning that is done, in [0, 1]: what changes over it has its present value
   * @throws Error when a completion lacks a number that the objective needs
   */
  inputs(update: readonly Sampled[], progress: number): InputsOf<Sampled>;
}

/** What a session knows beside the settings of its objective. */
export interface PolicyContext {
  /** That of the sampling; it divides the logits. */
  readonly temperature: number;
  /** Whether a constraint left only some tokens to choose from. */
  readonly constrained?: boolean;
  /**
   * Whether more than one update is made from the same completions. Otherwise the policy before the update is the
   * present one: the ratio is exactly 1, and `oldLogp` isn't needed.
   */
  readonly reused: boolean;
  /** Longest completion that is sampled: the constant divisor of `dr_grpo`. */
  readonly maxCompletionTokens: number;
}

/** 1 / tokens of the update: each token counts alike. */
export function tokenMean(update: readonly TokenSequence[]): (example: TokenSequence) => number {
  const total = Math.max(
    1,
    update.reduce((sum, example) => sum + trainedLength(example), 0),
  );
  return () => 1 / total;
}

/** 1 / (completions · own tokens): each completion counts alike. */
export function sequenceMean(update: readonly TokenSequence[]): (example: TokenSequence) => number {
  return (example) => 1 / (update.length * Math.max(1, trainedLength(example)));
}

/** The numbers that policy objectives have in common. */
export function policyInputs(
  update: readonly Sampled[],
  weightOf: (example: TokenSequence) => number,
  { entropy, importance }: CommonSettings,
  reused: boolean,
  progress: number,
): InputsOf<Sampled> {
  const share = tokenMean(update);
  const bonus = typeof entropy === 'number' ? entropy : entropy.from + progress * (entropy.to - entropy.from);
  return (example) => ({
    weights: weightOf(example),
    advantages: example.advantages,
    ...(reused && { old_logp: required(example, 'oldLogp') }),
    ...(importance.kind !== 'none' && { sampler_logp: required(example, 'samplerLogp') }),
    ...(entropy !== 0 && { entropy_weights: bonus * share(example) }),
  });
}

/** @throws Error when a completion has no such numbers */
export function required(
  example: Sampled,
  name: Exclude<keyof Sampled, keyof TokenSequence>,
): number | PerToken {
  const numbers = example[name];
  if (numbers === undefined) throw new Error(`a completion of the update has no ${name}`);
  return numbers;
}
