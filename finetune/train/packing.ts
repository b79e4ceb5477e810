/** Groups the examples of a step into families, and the families into parts that are read one at a time. */
import { append } from '../../src/base/append.js';
import { groupedBy } from '../../src/comparison/run-groups.js';
import {
  blockSizes,
  type Family,
  familyLength,
  type TokenExample,
  type TokenSequence,
} from '../engine/batch.js';

export const packings = ['none', 'rows', 'prompts', 'conversations'] as const;

export interface PackingSettings {
  /**
   * - `none`: each example reads its own prompt.
   * - `rows`: examples of a step with the same prompt share one copy of it.
   * - `prompts`: like `rows`; in addition, examples with the same prompt are put into the same step.
   * - `conversations`: examples that continue one another are joined (`joinedExamples`).
   * - `pairs`, for preferences: every two consecutive examples are the answers to one prompt.
   */
  readonly packing: (typeof packings)[number] | 'pairs';
  /**
   * Most tokens to read at once, including attention padding; limited by memory. A single example is always read whole.
   */
  readonly batchTokens: number;
}

/** Families that are read together. */
export type Part<E extends TokenSequence = TokenExample> = readonly Family<E>[];

/** Splits a step's examples into parts; each example is in exactly one. Deterministic. */
export function layOut<E extends TokenSequence>(
  examples: readonly E[],
  { packing, batchTokens }: PackingSettings,
): readonly Part<E>[] {
  // Attention pads, and families of similar size need little padding.
  const alike = familiesOf(examples, packing, batchTokens).toSorted(
    (a, b) => a.length - b.length || familyLength(a) - familyLength(b),
  );
  return filled(alike, (part, family) => placesOf([...part, family]) <= batchTokens);
}

/** Tokens in a part, including attention padding. */
export function placesOf(part: Part<TokenSequence>): number {
  const { families, promptTokens, answers, answerTokens } = blockSizes(part);
  return families * (promptTokens - 1 + answers * (answerTokens - 1));
}

function familiesOf<E extends TokenSequence>(
  examples: readonly E[],
  packing: PackingSettings['packing'],
  batchTokens: number,
): readonly Family<E>[] {
  switch (packing) {
    case 'none':
      return alone(examples);
    case 'pairs':
      return pairsOf(examples);
    default:
      return sharedPrompts(examples).flatMap((family) => divided(family, batchTokens));
  }
}

/** Splits examples into consecutive pairs. */
export function pairsOf<E>(examples: readonly E[]): readonly (readonly E[])[] {
  return examples.flatMap((first, place) => (place % 2 === 0 ? [[first, examples[place + 1]!]] : []));
}

/** Groups consecutive items; a group grows while the next item fits. */
function filled<T>(items: readonly T[], fits: (group: readonly T[], item: T) => boolean): readonly T[][] {
  const groups: T[][] = [];
  for (const item of items) {
    const last = groups.at(-1);
    if (last !== undefined && fits(last, item)) last.push(item);
    else groups.push([item]);
  }
  return groups;
}

/** One family per example. */
export function alone<E extends TokenSequence>(examples: readonly E[]): readonly Family<E>[] {
  return examples.map((example) => [example]);
}

/** Groups examples by prompt, ordered by first occurrence. */
export function sharedPrompts<E extends TokenSequence>(examples: readonly E[]): readonly Family<E>[] {
  return [...groupedBy(examples, ({ promptIds }) => promptIds.join()).values()];
}

/**
 * Joins examples whose prompt continues the prompt and answer of another, and trains on the answers' tokens:
 * each conversation is read once instead of once per answer. Only examples of equal weight are joined.
 * @param observationWeight relative weight of the tokens between the answers; 0 leaves them untrained
 */
export function joinedExamples(
  examples: readonly TokenExample[],
  observationWeight = 0,
): readonly TokenExample[] {
  const joined: { known: number[]; readonly first: TokenExample; readonly trained: boolean[] }[] = [];
  for (const example of examples.toSorted((a, b) => a.promptIds.length - b.promptIds.length)) {
    const { promptIds, completionIds, trained, weight } = example;
    const before = joined.find(({ known, first }) => first.weight === weight && beginsWith(promptIds, known));
    const flags = completionIds.map((_, i) => trained?.[i] ?? true);
    const known = [...promptIds, ...completionIds];
    if (before === undefined) joined.push({ known, first: example, trained: flags });
    else {
      append(before.trained, [...promptIds.slice(before.known.length).map(() => false), ...flags]);
      before.known = known;
    }
  }
  return joined.map(({ first: { promptIds, weight }, known, trained }) => ({
    ...{ promptIds, weight },
    ...(observationWeight === 0
      ? { trained }
      : { factors: trained.map((isAnswer) => (isAnswer ? 1 : observationWeight)) }),
    completionIds: known.slice(promptIds.length),
  }));
}

const beginsWith = (ids: readonly number[], first: readonly number[]): boolean =>
  ids.length >= first.length && first.every((id, i) => ids[i] === id);

/** Splits a family that exceeds the limit; each part repeats the prompt. */
function divided<E extends TokenSequence>(family: Family<E>, limit: number): readonly Family<E>[] {
  return filled(family, (part, example) => placesOf([[...part, example]]) <= limit);
}
