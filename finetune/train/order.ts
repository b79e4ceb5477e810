/** Assigns examples to steps. The order depends only on seed and epoch, so a resumed run repeats it. */

import { UserError } from '../../src/base/errors.js';
import type { DecoderConfig } from '../../src/models/local/weights/decoder-config.js';
import { createGenerator, shuffled } from '../../src/random/generator.js';
import { largest } from '../../src/statistics/descriptive.js';
import { exampleLength, type TokenExample } from '../engine/batch.js';
import { layOut, type PackingSettings, type Part, pairsOf, sharedPrompts } from './packing.js';

export interface OrderSettings extends PackingSettings {
  readonly seed: number;
  /** Number of examples per weight update. */
  readonly batchExamples: number;
}

/** Indices of examples that stay together, and the token count of the longest. */
export interface Unit {
  readonly examples: readonly number[];
  readonly length: number;
}

/** Steps per bucket. Units are sorted by length within a bucket, which reduces padding while the order stays random. */
const bucketSteps = 16;

export function stepsPerEpoch(examples: number, { batchExamples }: OrderSettings): number {
  return Math.ceil(examples / batchExamples);
}

/** Units to shuffle: single examples, pairs, or (packing `prompts`) all examples with the same prompt. */
export function unitsOf(
  examples: readonly TokenExample[],
  { packing }: Pick<OrderSettings, 'packing'>,
): readonly Unit[] {
  const index = new Map(examples.map((example, place) => [example, place]));
  const families = unitsBy(packing, examples);
  return families.map((family) => ({
    examples: family.map((example) => index.get(example)!),
    length: largest(family.map(exampleLength)),
  }));
}

function unitsBy(
  packing: OrderSettings['packing'],
  examples: readonly TokenExample[],
): readonly (readonly TokenExample[])[] {
  if (packing === 'prompts') return sharedPrompts(examples);
  return packing === 'pairs' ? pairsOf(examples) : examples.map((example) => [example]);
}

/**
 * Indices of each step's examples. Every example occurs once per epoch, `batchExamples` per step; one step
 * takes the remainder. A unit may be split between steps.
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
  // The sort is stable, so a unit's examples stay together.
  const steps = cut(order, batchExamples * bucketSteps)
    .map((bucket) => bucket.toSorted((a, b) => a.length - b.length))
    .flatMap((bucket) => cut(bucket, batchExamples));
  const chosen = steps.map((step) => step.map(({ example }) => example));
  return shuffled(chosen, random);
}

function cut<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, i) =>
    items.slice(i * size, (i + 1) * size),
  );
}

/**
 * Returns the examples with a nonzero weight and a nonempty answer.
 * @throws UserError if there are none, any example exceeds the model's context, or one has an empty prompt
 */
export function usableExamples(
  examples: readonly TokenExample[],
  config: DecoderConfig,
  field: string,
): readonly TokenExample[] {
  const long = examples.filter((example) => exampleLength(example) > config.contextTokens);
  if (long.length > 0)
    throw new UserError({
      field,
      value: largest(long.map(exampleLength)),
      message: `${long.length} of ${examples.length} examples are longer than the context of ${config.contextTokens} tokens`,
      remedy: 'show less history in the examples, as serving would have to',
    });
  const weighted = examples.filter(({ weight, completionIds }) => weight !== 0 && completionIds.length > 0);
  if (weighted.length === 0)
    throw new UserError({
      field,
      message: 'no example has a weight other than 0 and an answer: there is nothing to learn',
    });
  if (weighted.some(({ promptIds }) => promptIds.length === 0))
    throw new UserError({
      field,
      message: 'the chat template makes no token of a prompt, so nothing comes before its answer',
      remedy: 'give the model a chat template that shows every message',
    });
  return weighted;
}

/** Number of validation examples laid out together. */
const validationGroup = 64;

/** The parts that an epoch reads, in order. */
export function epochParts(
  examples: readonly TokenExample[],
  units: readonly Unit[],
  settings: OrderSettings,
  epoch: number,
): readonly Part[] {
  return planEpoch(units, settings, epoch).flatMap((step) => {
    const chosen = step.map((index) => examples[index]!);
    return layOut(chosen, settings);
  });
}

/** The parts that every validation reads. */
export function validationParts(examples: readonly TokenExample[], settings: OrderSettings): readonly Part[] {
  const grouped = { ...settings, batchExamples: validationGroup };
  return epochParts(examples, unitsOf(examples, settings), grouped, 0);
}
