/**
 * Trust region policy optimization (Schulman et al. 2015, arXiv:1502.05477). Takes a step along the natural gradient,
 * with a KL divergence of at most `maxKl` to second order, and halves it until its gain and divergence are acceptable.
 * If they never are, the policy stays unchanged.
 */
import { axpy, dot } from '../../../../src/proposers/linear-algebra.js';
import type { Distributions, NumericPolicy } from '../network/policy.js';
import type { NumericBatch } from './values.js';

export interface TrpoSettings {
  /** δ, in nats. */
  readonly maxKl: number;
  /** Added to the diagonal of the Fisher matrix. */
  readonly damping: number;
  readonly conjugateGradientSteps: number;
  /** Maximum number of step halvings in the line search. */
  readonly backtracks: number;
}

/** A step's gain must exceed this fraction of the expected gain, as in Kostrikov's pytorch-trpo. */
const minGainShare = 0.1;
/** A step's KL divergence may be at most this many times δ, as in OpenAI Baselines. */
const klTolerance = 1.5;

export interface TrpoUpdate {
  readonly theta: Float64Array;
  /** Increase of the mean of ratio × advantage. */
  readonly gain: number;
  readonly kl: number;
  readonly entropy: number;
  readonly backtracks: number | undefined;
  readonly gradientNorm: number;
}

/** v ↦ Jᵀ·M·J·v + damping·v, where M is the head's Fisher matrix on the batch. */
export function fisherProduct(
  policy: NumericPolicy,
  theta: Float64Array,
  batch: Pick<NumericBatch, 'observations'>,
  before: Distributions,
  damping: number,
): (v: Float64Array) => Promise<Float64Array> {
  return async (v) => {
    const change = await policy.change(theta, batch.observations, v);
    const product = await policy.backward(theta, batch.observations, policy.head.fisher(before, change));
    return axpy(product, damping, v);
  };
}

/** Solves A·x = b for a positive definite A (Hestenes & Stiefel 1952), starting at x = 0. */
export async function conjugateGradient(
  product: (v: Float64Array) => Promise<Float64Array>,
  b: Float64Array,
  steps: number,
  tolerance = 1e-10,
): Promise<Float64Array> {
  let x: Float64Array = new Float64Array(b.length);
  let residual: Float64Array = b.slice();
  let direction: Float64Array = b.slice();
  let squaredNorm = dot(residual, residual);
  for (let step = 0; step < steps && squaredNorm > tolerance; step++) {
    const image = await product(direction);
    const length = squaredNorm / dot(direction, image);
    x = axpy(x, length, direction);
    residual = axpy(residual, -length, image);
    const newSquaredNorm = dot(residual, residual);
    direction = axpy(residual, newSquaredNorm / squaredNorm, direction);
    squaredNorm = newSquaredNorm;
  }
  return x;
}

/** Mean of π(a|s)/π_before(a|s) · advantage. */
function surrogateOf(
  { actions, advantages }: NumericBatch,
  { head }: NumericPolicy,
  oldLogProbs: Float64Array,
  after: Distributions,
): number {
  const logProbs = head.logProbabilities(after, actions);
  const sum = logProbs.reduce((total, log, n) => total + Math.exp(log - oldLogProbs[n]!) * advantages[n]!, 0);
  return sum / logProbs.length;
}

export function policyGradient(
  policy: NumericPolicy,
  theta: Float64Array,
  { actions, advantages, observations }: NumericBatch,
  before: Distributions,
): Promise<Float64Array> {
  const weights = advantages.map((advantage) => advantage / advantages.length);
  return policy.backward(theta, observations, policy.head.slopeOfLogProbabilities(before, actions, weights));
}

export async function trpoUpdate(
  policy: NumericPolicy,
  theta: Float64Array,
  batch: NumericBatch,
  settings: TrpoSettings,
): Promise<TrpoUpdate> {
  const { maxKl, damping, conjugateGradientSteps } = settings;
  const { head } = policy;
  const before = await policy.distributions(theta, batch.observations);
  const logProbs = head.logProbabilities(before, batch.actions);
  const gradient = await policyGradient(policy, theta, batch, before);
  const product = fisherProduct(policy, theta, batch, before, damping);
  const direction = await conjugateGradient(product, gradient, conjugateGradientSteps);
  const curvature = 0.5 * dot(direction, await product(direction));
  const oldSurrogate = surrogateOf(batch, policy, logProbs, before);
  const unchanged = {
    theta,
    gain: 0,
    kl: 0,
    entropy: head.entropy(before),
    backtracks: undefined,
    gradientNorm: Math.sqrt(dot(gradient, gradient)),
  };
  if (!(curvature > 0)) return unchanged;
  const fullStep = Math.sqrt(maxKl / curvature);
  const expectedGain = dot(gradient, direction) * fullStep;
  for (let backtracks = 0; backtracks <= settings.backtracks; backtracks++) {
    const share = 0.5 ** backtracks;
    const candidate = axpy(theta, share * fullStep, direction);
    const after = await policy.distributions(candidate, batch.observations);
    const gain = surrogateOf(batch, policy, logProbs, after) - oldSurrogate;
    const kl = head.divergence(before, after);
    if (gain > 0 && gain > minGainShare * share * expectedGain && kl <= klTolerance * maxKl)
      return { ...unchanged, theta: candidate, gain, kl, entropy: head.entropy(after), backtracks };
  }
  return unchanged;
}
