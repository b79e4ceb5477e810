import type { Batch } from './training-session.js';

/** A prompt and the answer to learn, as the model reads them. */
export interface TokenExample {
  readonly promptIds: readonly number[];
  /** The token that ends the answer included. */
  readonly completionIds: readonly number[];
  /** How much each token of the answer counts. */
  readonly weight: number;
}

export function exampleLength({ promptIds, completionIds }: TokenExample): number {
  return promptIds.length + completionIds.length;
}

/** Σ |weight| over the answers' tokens: what the loss is divided by to be a mean. */
export function totalWeight(examples: readonly TokenExample[]): number {
  return examples.reduce(
    (sum, { completionIds, weight }) => sum + Math.abs(weight) * completionIds.length,
    0,
  );
}

/**
 * One padded batch. The last token of a sequence is only predicted, never read.
 * @param normalizer divides the weights; that of all batches of a step makes their losses and gradients add up
 */
export function makeBatch(examples: readonly TokenExample[], normalizer: number): Batch {
  const tokens = Math.max(...examples.map(exampleLength)) - 1;
  const ids = new Int32Array(examples.length * tokens);
  const selected: number[] = [];
  const targets: number[] = [];
  const weights: number[] = [];
  examples.forEach(({ promptIds, completionIds, weight }, row) => {
    const sequence = [...promptIds, ...completionIds];
    ids.set(sequence.slice(0, -1), row * tokens);
    completionIds.forEach((id, place) => {
      selected.push(row * tokens + promptIds.length + place - 1);
      targets.push(id);
      weights.push(weight / normalizer);
    });
  });
  return {
    ids,
    rows: examples.length,
    tokens,
    selected: Int32Array.from(selected),
    targets: Int32Array.from(targets),
    weights: Float64Array.from(weights),
  };
}
