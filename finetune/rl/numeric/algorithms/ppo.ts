/** Proximal policy optimization with a clipped ratio (Schulman et al. 2017, arXiv:1707.06347). */
import { createGenerator, shuffled } from '../../../../src/base/random/generator.js';
import { dot } from '../../../../src/proposers/linear-algebra.js';
import { mean } from '../../../../src/statistics/descriptive.js';
import { adamWStep, type Moments } from '../../../engine/optimisers.js';
import { clipFactor } from '../../../engine/training-session.js';
import type { NumericNetwork } from '../network/network.js';
import type { HeadVector, NumericPolicy } from '../network/policy.js';
import { type NumericBatch, valueLoss } from './values.js';

export interface PpoSettings {
  /** ε: ratios are clipped to 1 ± ε. */
  readonly clip: number;
  /** Clips value estimates in the loss to ± this value around the previous ones; undefined disables clipping. */
  readonly valueClip?: number | undefined;
  readonly epochs: number;
  readonly minibatchSteps: number;
  readonly entropy: number;
  readonly valueFactor: number;
  readonly maxGradientNorm: number;
}

/** Adam in PyTorch's form, with the ε of OpenAI Baselines. */
const adamSettings = { betas: [0.9, 0.999], epsilon: 1e-5, weightDecay: 0 } as const;

export interface PpoState {
  readonly theta: Float64Array;
  readonly valueTheta: Float64Array;
  readonly moments: Moments;
  readonly valueMoments: Moments;
  adamSteps: number;
}

export interface PpoLoss {
  readonly loss: number;
  readonly policyLoss: number;
  readonly valueLoss: number;
  readonly entropy: number;
  /** Mean of (ratio − 1) − log ratio: a low-variance estimate of the KL divergence. */
  readonly kl: number;
  readonly clipShare: number;
  readonly gradient: Float64Array;
  readonly valueGradient: Float64Array;
}

/** Some steps of a batch, with their actions' log-probabilities under the policy that played them. */
export interface PpoMinibatch extends NumericBatch {
  readonly logProbabilities: Float64Array;
}

interface Networks {
  readonly policy: NumericPolicy;
  readonly value: NumericNetwork;
}

/** Computes −mean min(r·A, clip(r)·A) + `valueFactor`·(value loss) − `entropy`·(mean entropy), and its gradients. */
export async function ppoLoss(
  { policy, value }: Networks,
  state: Pick<PpoState, 'theta' | 'valueTheta'>,
  part: PpoMinibatch,
  settings: PpoSettings,
): Promise<PpoLoss> {
  const { head } = policy;
  const distributions = await policy.distributions(state.theta, part.observations);
  const count = part.advantages.length;
  let [policyLoss, kl, clipShare] = [0, 0, 0];
  const weights = head.logProbabilities(distributions, part.actions).map((logProbability, n) => {
    const ratio = Math.exp(logProbability - part.logProbabilities[n]!);
    const advantage = part.advantages[n]!;
    const clippedRatio = Math.min(1 + settings.clip, Math.max(1 - settings.clip, ratio));
    policyLoss -= Math.min(ratio * advantage, clippedRatio * advantage) / count;
    kl += (ratio - 1 - Math.log(ratio)) / count;
    if (clippedRatio !== ratio) clipShare += 1 / count;
    // If the clipped term is smaller, it is constant, so its gradient is 0.
    return clippedRatio * advantage < ratio * advantage ? 0 : (-ratio * advantage) / count;
  });
  const entropy = head.entropy(distributions);
  const slope = addScaled(
    head.slopeOfLogProbabilities(distributions, part.actions, weights),
    -settings.entropy,
    head.slopeOfEntropy(distributions),
  );
  const valueResult = await valueLoss(value, state.valueTheta, part, settings.valueClip);
  return {
    policyLoss,
    entropy,
    kl,
    clipShare,
    valueLoss: valueResult.loss,
    loss: policyLoss + settings.valueFactor * valueResult.loss - settings.entropy * entropy,
    gradient: await policy.backward(state.theta, part.observations, slope),
    valueGradient: valueResult.gradient.map((one) => settings.valueFactor * one),
  };
}

function addScaled(a: HeadVector, factor: number, b: HeadVector): HeadVector {
  const sum = (x: Float64Array, y: Float64Array) => x.map((one, i) => one + factor * y[i]!);
  return { outputs: sum(a.outputs, b.outputs), own: sum(a.own, b.own) };
}

/** Takes one Adam step for each network, in place. Returns the norm of the policy's gradient before clipping. */
export function ppoStep(
  state: PpoState,
  { gradient, valueGradient }: Pick<PpoLoss, 'gradient' | 'valueGradient'>,
  learningRate: number,
  maxGradientNorm: number,
): number {
  const { theta, valueTheta, moments, valueMoments } = state;
  const norm = Math.sqrt(dot(gradient, gradient));
  const valueNorm = Math.sqrt(dot(valueGradient, valueGradient));
  const step = ++state.adamSteps;
  const [scale, valueScale] = [clipFactor(norm, maxGradientNorm), clipFactor(valueNorm, maxGradientNorm)];
  adamWStep(theta, gradient, moments, learningRate, step, adamSettings, scale);
  adamWStep(valueTheta, valueGradient, valueMoments, learningRate, step, adamSettings, valueScale);
  return norm;
}

export type PpoUpdate = Pick<PpoLoss, 'valueLoss' | 'entropy' | 'kl' | 'clipShare'> & {
  readonly gradientNorm: number;
};

/** Runs all epochs; `seed` determines the order of the steps. Returns means over the last epoch. */
export async function ppoUpdate(
  networks: Networks,
  state: PpoState,
  batch: NumericBatch,
  settings: PpoSettings,
  learningRate: number,
  seed: number,
): Promise<PpoUpdate> {
  const { policy } = networks;
  const oldDistributions = await policy.distributions(state.theta, batch.observations);
  const logProbabilities = policy.head.logProbabilities(oldDistributions, batch.actions);
  const random = createGenerator(seed);
  let updates: PpoUpdate[] = [];
  for (let epoch = 0; epoch < settings.epochs; epoch++) {
    const order = shuffled(batch.observations.keys(), random);
    updates = [];
    for (let from = 0; from < order.length; from += settings.minibatchSteps) {
      const indices = order.slice(from, from + settings.minibatchSteps);
      const minibatch = selectSteps({ ...batch, logProbabilities }, indices, policy.head.width);
      const loss = await ppoLoss(networks, state, minibatch, settings);
      updates.push({ ...loss, gradientNorm: ppoStep(state, loss, learningRate, settings.maxGradientNorm) });
    }
  }
  const average = (key: keyof PpoUpdate) => mean(updates.map((one) => one[key]));
  return {
    valueLoss: average('valueLoss'),
    entropy: average('entropy'),
    kl: average('kl'),
    clipShare: average('clipShare'),
    gradientNorm: average('gradientNorm'),
  };
}

function selectSteps(part: PpoMinibatch, indices: readonly number[], width: number): PpoMinibatch {
  const select = (values: Float64Array) => Float64Array.from(indices, (n) => values[n]!);
  return {
    observations: indices.map((n) => part.observations[n]!),
    actions: Float64Array.from(
      { length: indices.length * width },
      (_, i) => part.actions[indices[Math.floor(i / width)]! * width + (i % width)]!,
    ),
    advantages: select(part.advantages),
    values: select(part.values),
    targets: select(part.targets),
    logProbabilities: select(part.logProbabilities),
  };
}
