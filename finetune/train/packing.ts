/** Lays the examples of a step out in families, and these in parts that are read one after another. */
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
   * `none`: each example has its own prompt. `rows`: those of a step with the same prompt read one copy of it. `prompts`:
   * also, the order brings examples with the same prompt into the same step. `conversations`: examples that go on from one
   * another are one (`joinedExamples`). `pairs`, of preferences: the two answers of each pair, which follow one another,
   * behind their prompt.
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

/**
 * Examples whose prompt goes on from the prompt and answer of another one become one example, of which the tokens of the
 * answers are trained: a conversation is read once instead of once an answer. Only equal weights are joined.
 * @param observationWeight factor of the weight of the tokens between the answers; 0: they are not trained
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

/** A family that is longer than may be read at once, in parts that repeat the prompt. */
function divided<E extends TokenSequence>(family: Family<E>, limit: number): readonly Family<E>[] {
  return filled(family, (part, example) => placesOf([[...part, example]]) <= limit);
}
