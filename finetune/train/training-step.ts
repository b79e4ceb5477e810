/** One update of the weights: the gradients of all parts of a batch, and the step of the optimisers. */
import { deriveSeeds } from '../../src/random/generator.js';
import { makeBatch, totalWeight } from '../engine/batch.js';
import type { TrainingState } from '../engine/checkpoint.js';
import { type AdamWSettings, adamWStep, isDecayed, isMuonMatrix, type Muon } from '../engine/optimisers.js';
import { accumulate, type Gradients, type TrainingSession } from '../engine/training-session.js';
import type { Part } from './packing.js';

/**
 * Weighted mean over the answers' tokens of all parts, and its gradients.
 * @param seed of the training: the dropout masks follow from it and the step
 */
export async function lossAndGradients(
  session: TrainingSession,
  state: TrainingState,
  parts: readonly Part[],
  seed: number,
): Promise<{ loss: number; gradients: Gradients }> {
  const normalizer = totalWeight(parts.flat(3));
  const seeds = deriveSeeds(seed, [1, state.step], parts.length);
  let loss = 0;
  let gradients: Gradients | undefined;
  for (const [index, part] of parts.entries()) {
    const result = await session.run(state.parameters, makeBatch(part, normalizer), seeds[index]!);
    loss += result.loss;
    gradients = accumulate(gradients, result.gradients);
  }
  return { loss, gradients: gradients! };
}

/**
 * Makes the step: changes parameters and moments in place.
 * @param scale factor of the gradients (clipping)
 */
export async function update(
  state: TrainingState,
  gradients: Gradients,
  learningRate: number,
  scale: number,
  adamw: AdamWSettings,
  muon: Muon | undefined,
): Promise<void> {
  state.step++;
  for (const [index, parameter] of state.parameters.entries()) {
    const gradient = gradients.get(parameter.name)!;
    const moments = state.moments[index]!;
    if (muon !== undefined && isMuonMatrix(parameter))
      await muon.step(parameter, gradient, moments, learningRate, scale);
    else {
      const settings = isDecayed(parameter) ? adamw : { ...adamw, weightDecay: 0 };
      adamWStep(parameter.values, gradient, moments, learningRate, state.step, settings, scale);
    }
  }
}
