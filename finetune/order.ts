/** Which examples make up which step. Follows from the seed and the epoch alone, so that a resumed training repeats it. */
import { createGenerator, type RandomGenerator } from '../src/random.js';

export interface OrderSettings {
  readonly seed: number;
  /** Examples that one update of the weights is computed from. */
  readonly batchExamples: number;
  /** Most tokens, padding included, that are read at once: what memory allows. One example is always read whole. */
  readonly batchTokens: number;
}

/** Examples of one update, in parts that are read one after another; indices. */
export type StepPlan = readonly (readonly number[])[];

/** Steps whose examples are sorted by length together: similar lengths need little padding, and order stays random. */
const bucketSteps = 16;

export function stepsPerEpoch(examples: number, { batchExamples }: OrderSettings): number {
  return Math.ceil(examples / batchExamples);
}

/** @param lengths tokens of each example */
export function planEpoch(lengths: readonly number[], settings: OrderSettings, epoch: number): StepPlan[] {
  const random = createGenerator(settings.seed, [0, epoch]);
  const order = shuffled([...lengths.keys()], random);
  const steps: StepPlan[] = [];
  const size = settings.batchExamples * bucketSteps;
  for (let start = 0; start < order.length; start += size) {
    const bucket = order.slice(start, start + size).sort((a, b) => lengths[a]! - lengths[b]!);
    for (let from = 0; from < bucket.length; from += settings.batchExamples)
      steps.push(parts(bucket.slice(from, from + settings.batchExamples), lengths, settings.batchTokens));
  }
  return shuffled(steps, random);
}

/** Examples sorted by length, cut where the padded part would exceed the limit. */
export function parts(
  sorted: readonly number[],
  lengths: readonly number[],
  batchTokens: number,
): readonly number[][] {
  const result: number[][] = [];
  for (const index of sorted) {
    const last = result.at(-1);
    if (last !== undefined && (last.length + 1) * lengths[index]! <= batchTokens) last.push(index);
    else result.push([index]);
  }
  return result;
}

/** Fisher–Yates. */
function shuffled<T>(items: readonly T[], random: RandomGenerator): T[] {
  const result = [...items];
  for (let i = result.length - 1; i > 0; i--) {
    const j = random.integers(0, i + 1);
    [result[i], result[j]] = [result[j]!, result[i]!];
  }
  return result;
}
