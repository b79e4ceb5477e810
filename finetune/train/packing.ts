/** Lays the examples of a step out in families, and these in parts that are read one after another. */
import { groupedBy } from '../../src/comparison/run-groups.js';
import {
  blockSizes,
  type Family,
  familyLength,
  type TokenExample,
  type TokenSequence,
} from '../engine/batch.js';

export const packings = ['none', 'rows', 'prompts'] as const;

export interface PackingSettings {
  /**
   * `none`: each example has its own prompt. `rows`: those of a step with the same prompt read one copy of it. `prompts`:
   * also, the order brings examples with the same prompt into the same step. `pairs`, of preferences: the two answers of
   * each pair, which follow one another, behind their prompt.
   */
  readonly packing: (typeof packings)[number] | 'pairs';
  /** Most tokens, padding of attention included, that are read at once: what memory allows. One example is always read whole. */
  readonly batchTokens: number;
}

/** Families that are read at once. */
export type Part<E extends TokenSequence = TokenExample> = readonly Family<E>[];

/** The parts that a step's examples are read in: the same for the same examples, each of which is in one. */
export function layOut<E extends TokenSequence>(
  examples: readonly E[],
  { packing, batchTokens }: PackingSettings,
): readonly Part<E>[] {
  // Attention pads: families that are alike need little of it.
  const alike = familiesOf(examples, packing, batchTokens).toSorted(
    (a, b) => a.length - b.length || familyLength(a) - familyLength(b),
  );
  return filled(alike, (part, family) => placesOf([...part, family]) <= batchTokens);
}

/** Tokens that are read for a part, padding of attention included. */
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

/** Each two examples that follow one another. */
export function pairsOf<E>(examples: readonly E[]): readonly (readonly E[])[] {
  return examples.flatMap((first, place) => (place % 2 === 0 ? [[first, examples[place + 1]!]] : []));
}

/** Consecutive items in groups; a group takes the next item as long as it fits. */
function filled<T>(items: readonly T[], fits: (group: readonly T[], item: T) => boolean): readonly T[][] {
  const groups: T[][] = [];
  for (const item of items) {
    const last = groups.at(-1);
    if (last !== undefined && fits(last, item)) last.push(item);
    else groups.push([item]);
  }
  return groups;
}

/** Each example with its own prompt. */
export function alone<E extends TokenSequence>(examples: readonly E[]): readonly Family<E>[] {
  return examples.map((example) => [example]);
}

/** Examples by their prompts, in the order of the first of each. */
export function sharedPrompts<E extends TokenSequence>(examples: readonly E[]): readonly Family<E>[] {
  return [...groupedBy(examples, ({ promptIds }) => promptIds.join()).values()];
}

/** A family that is longer than may be read at once, in parts that repeat the prompt. */
function divided<E extends TokenSequence>(family: Family<E>, limit: number): readonly Family<E>[] {
  return filled(family, (part, example) => placesOf([[...part, example]]) <= limit);
}
