/** Groups the examples of a step into families, and the families into parts that the model reads one at a time. */
import { append } from '../../src/base/append.js';
import { UserError } from '../../src/base/errors.js';
import { groupBy } from '../../src/base/grouped.js';
import { createGenerator, shuffled } from '../../src/base/random/generator.js';
import type { DecoderConfig } from '../../src/models/local/weights/decoder-config.js';
import { largest } from '../../src/statistics/descriptive.js';
import {
  blockSizes,
  exampleLength,
  type Family,
  familyLength,
  prefixLength,
  type TokenExample,
  type TokenSequence,
} from '../engine/batch.js';

export const packings = ['none', 'rows', 'prompts', 'conversations'] as const;

interface PackingSettings {
  /** `pairs`, for preferences: every two consecutive examples are the replies to one prompt. */
  readonly packing: (typeof packings)[number] | 'pairs';
  /** Maximum number of tokens read at once, including attention padding. A single example or pair is never split. */
  readonly batchTokens: number;
}

/** Families that are read together. */
export type Part<E extends TokenSequence = TokenExample> = readonly Family<E>[];

/** Distributes a step's examples over parts, always in the same way. */
export function layOut<E extends TokenSequence>(
  examples: readonly E[],
  { packing, batchTokens }: PackingSettings,
): readonly Part<E>[] {
  // Sort families by size, so that attention needs little padding within a part.
  const sortedFamilies = familiesOf(examples, packing, batchTokens).toSorted(
    (a, b) => a.length - b.length || familyLength(a) - familyLength(b),
  );
  return fillGroups(sortedFamilies, (part, family) => paddedLength([...part, family]) <= batchTokens);
}

/** Number of tokens in a part, including attention padding. */
export function paddedLength(part: Part<TokenSequence>): number {
  const { familyCount, promptTokens, replyCount, replyTokens } = blockSizes(part);
  return familyCount * (promptTokens - 1 + replyCount * (replyTokens - 1));
}

function familiesOf<E extends TokenSequence>(
  examples: readonly E[],
  packing: PackingSettings['packing'],
  batchTokens: number,
): readonly Family<E>[] {
  if (packing === 'none') return singleFamilies(examples);
  if (packing === 'pairs') return pairsOf(examples);
  // A family that exceeds the limit is split into smaller families, each of which repeats the prompt.
  return joinByPrefix(groupByPrompt(examples)).flatMap((family) =>
    fillGroups(family, (part, example) => paddedLength([[...part, example]]) <= batchTokens),
  );
}

export function pairsOf<E>(examples: readonly E[]): readonly (readonly E[])[] {
  return examples.flatMap((first, place) => (place % 2 === 0 ? [[first, examples[place + 1]!]] : []));
}

/** Groups consecutive items; a group grows while the next item fits. */
function fillGroups<T>(items: readonly T[], fits: (group: readonly T[], item: T) => boolean): readonly T[][] {
  const groups: T[][] = [];
  for (const item of items) {
    const last = groups.at(-1);
    if (last !== undefined && fits(last, item)) last.push(item);
    else groups.push([item]);
  }
  return groups;
}

export function singleFamilies<E extends TokenSequence>(examples: readonly E[]): readonly Family<E>[] {
  return examples.map((example) => [example]);
}

/** Groups examples by prompt, ordered by first occurrence. */
function groupByPrompt<E extends TokenSequence>(examples: readonly E[]): readonly Family<E>[] {
  return [...groupBy(examples, ({ promptIds }) => promptIds.join()).values()];
}

/** Families are joined only if at most this share of their tokens remains, because attention pads joined families. */
const maxJoinedShare = 0.8;

/** Joins families whose prompts have a long common prefix, for example the same system message. */
function joinByPrefix<E extends TokenSequence>(families: readonly Family<E>[]): readonly Family<E>[] {
  if (families.length <= 1) return families;
  const joinedFamily = families.flat();
  const length = prefixLength(joinedFamily);
  const parts = [...groupBy(families, ([first]) => first!.promptIds[length]).values()].flatMap(joinByPrefix);
  const tokens = parts.reduce((sum, part) => sum + familyLength(part), 0);
  return familyLength(joinedFamily) <= maxJoinedShare * tokens ? [joinedFamily] : parts;
}

/**
 * Joins an example with another whose prompt continues its prompt and reply, and trains on the replies' tokens: the
 * model reads a conversation once instead of once per reply. Joins only examples of equal weight.
 * @param observationWeight relative weight of the tokens between the replies; 0 leaves them untrained
 */
export function joinExamples(
  examples: readonly TokenExample[],
  observationWeight = 0,
): readonly TokenExample[] {
  const chains: { ids: number[]; readonly first: TokenExample; readonly trained: boolean[] }[] = [];
  for (const example of examples.toSorted((a, b) => a.promptIds.length - b.promptIds.length)) {
    const { promptIds, completionIds, trained, weight } = example;
    const chain = chains.find(({ ids, first }) => first.weight === weight && beginsWith(promptIds, ids));
    const flags = completionIds.map((_, i) => trained?.[i] ?? true);
    const ids = [...promptIds, ...completionIds];
    if (chain === undefined) chains.push({ ids, first: example, trained: flags });
    else {
      append(chain.trained, [...promptIds.slice(chain.ids.length).map(() => false), ...flags]);
      chain.ids = ids;
    }
  }
  return chains.map(({ first: { promptIds, weight }, ids, trained }) => ({
    promptIds,
    weight,
    ...(observationWeight === 0
      ? { trained }
      : { factors: trained.map((isReply) => (isReply ? 1 : observationWeight)) }),
    completionIds: ids.slice(promptIds.length),
  }));
}

const beginsWith = (ids: readonly number[], first: readonly number[]): boolean =>
  ids.length >= first.length && first.every((id, i) => ids[i] === id);

export interface OrderSettings extends PackingSettings {
  readonly seed: number;
  readonly batchExamples: number;
}

/** Indices of examples to keep together, and the length in tokens of the longest one. */
interface OrderUnit {
  readonly examples: readonly number[];
  readonly length: number;
}

/** Steps per bucket. Sorting units by length only within buckets reduces padding and keeps the order random. */
const bucketSteps = 16;

export function stepsPerEpoch(exampleCount: number, { batchExamples }: OrderSettings): number {
  return Math.ceil(exampleCount / batchExamples);
}

/** The units to shuffle: single examples, pairs, or, with packing `prompts`, all examples with the same prompt. */
export function unitsOf(
  examples: readonly TokenExample[],
  { packing }: Pick<OrderSettings, 'packing'>,
): readonly OrderUnit[] {
  const indexByExample = new Map(examples.map((example, place) => [example, place]));
  const toFamilies = packing === 'prompts' ? groupByPrompt : packing === 'pairs' ? pairsOf : singleFamilies;
  return toFamilies(examples).map((family) => ({
    examples: family.map((example) => indexByExample.get(example)!),
    length: largest(family.map(exampleLength)),
  }));
}

/** Returns the example indices of each step. Each example occurs once per epoch; a unit may be split between steps. */
export function planEpoch(
  units: readonly OrderUnit[],
  settings: OrderSettings,
  epoch: number,
): readonly (readonly number[])[] {
  const random = createGenerator(settings.seed, [0, epoch]);
  const order = shuffled(units, random).flatMap(({ examples, length }) =>
    shuffled(examples, random).map((example) => ({ example, length })),
  );
  const { batchExamples } = settings;
  // The sort is stable, so a unit's examples stay together.
  const steps = chunk(order, batchExamples * bucketSteps)
    .map((bucket) => bucket.toSorted((a, b) => a.length - b.length))
    .flatMap((bucket) => chunk(bucket, batchExamples));
  const stepIndices = steps.map((step) => step.map(({ example }) => example));
  return shuffled(stepIndices, random);
}

function chunk<T>(items: readonly T[], size: number): T[][] {
  const length = Math.ceil(items.length / size);
  return Array.from({ length }, (_, i) => items.slice(i * size, (i + 1) * size));
}

/** Keeps examples with a weight and a reply. @throws UserError if none is left, one is too long or a prompt is empty */
export function usableExamples(
  examples: readonly TokenExample[],
  config: DecoderConfig,
  field: string,
): readonly TokenExample[] {
  const tooLong = examples.filter((example) => exampleLength(example) > config.contextTokens);
  if (tooLong.length > 0)
    throw new UserError({
      field,
      value: largest(tooLong.map(exampleLength)),
      message: `examples longer than the context of ${config.contextTokens} tokens: ${tooLong.length} of ${examples.length}`,
      hint: `train a model with a longer context, or make the dataset again with --context ${config.contextTokens} (demonstrations: with a lower --history)`,
    });
  const usable = examples.filter(({ weight, completionIds }) => weight !== 0 && completionIds.length > 0);
  if (usable.length === 0)
    throw new UserError({ field, message: 'no example has a reply and a nonzero weight' });
  if (usable.some(({ promptIds }) => promptIds.length === 0))
    throw new UserError({ field, message: 'the chat template renders an empty prompt' });
  return usable;
}

/** Number of examples per group in validation; each group is read in parts, like a step. */
export const validationGroupSize = 64;

/** The parts of all steps of the first epoch. */
export function epochParts(examples: readonly TokenExample[], settings: OrderSettings): readonly Part[] {
  const steps = planEpoch(unitsOf(examples, settings), settings, 0);
  const stepExamples = steps.map((step) => step.map((index) => examples[index]!));
  return stepExamples.flatMap((own) => layOut(own, settings));
}
