/** Which examples make up which step. Follows from the seed and the epoch alone, so that a resumed training repeats it. */
import { createGenerator, type RandomGenerator } from '../src/random.js';
import { exampleLength, type TokenExample } from './batch.js';
import { type PackingSettings, sharedPrompts } from './packing.js';

export interface OrderSettings extends PackingSettings {
  readonly seed: number;
  /** Examples that one update of the weights is computed from. */
  readonly batchExamples: number;
}

/** Examples that stay together, as indices, and the tokens of the longest. */
export interface Unit {
  readonly examples: readonly number[];
  readonly length: number;
}

/** Steps whose units are sorted by length together: similar lengths need little padding, and order stays random. */
const bucketSteps = 16;

export function stepsPerEpoch(examples: number, { batchExamples }: OrderSettings): number {
  return Math.ceil(examples / batchExamples);
}

/** What is shuffled: examples, or with the packing `prompts` all those that have the same prompt. */
export function unitsOf(
  examples: readonly TokenExample[],
  { packing }: Pick<OrderSettings, 'packing'>,
): readonly Unit[] {
  const index = new Map(examples.map((example, place) => [example, place]));
  const families = packing === 'prompts' ? sharedPrompts(examples) : examples.map((example) => [example]);
  return families.map((family) => ({
    examples: family.map((example) => index.get(example)!),
    length: Math.max(...family.map(exampleLength)),
  }));
}

/**
 * Indices of the examples of each step: every example once, `batchExamples` a step and the rest in one. A unit is cut
 * where a step is full.
 */
export function planEpoch(
  units: readonly Unit[],
  settings: OrderSettings,
  epoch: number,
): readonly (readonly number[])[] {
  const random = createGenerator(settings.seed, [0, epoch]);
  const order = shuffled(units, random).flatMap(({ examples, length }) =>
    shuffled(examples, random).map((example) => ({ example, length })),
  );
  const { batchExamples } = settings;
  const steps = cut(order, batchExamples * bucketSteps).flatMap((bucket) =>
    // The sort is stable, so that the examples of a unit stay together.
    cut(
      bucket.toSorted((a, b) => a.length - b.length),
      batchExamples,
    ),
  );
  return shuffled(
    steps.map((step) => step.map(({ example }) => example)),
    random,
  );
}

function cut<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, i) =>
    items.slice(i * size, (i + 1) * size),
  );
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
