/** Lays the examples of a step out in rows, and the rows in batches that are read one after another. */
import { groupedBy } from '../../src/comparison/run-groups.js';
import {
  exampleLength,
  type Family,
  familyLength,
  type Row,
  rowLength,
  type TokenExample,
  type TokenSequence,
} from '../engine/batch.js';

export const packings = ['none', 'rows', 'prompts', 'conversations'] as const;

export interface PackingSettings {
  /**
   * `none`: one example a row. `rows`: examples one after another in a row, those with the same prompt behind one copy
   * of it. `prompts`: also, the order brings examples with the same prompt into the same step. `conversations`: examples
   * that go on from one another are one (`joinedExamples`). `pairs`, of preferences: the two answers of each pair, which
   * follow one another, in a row behind their prompt.
   */
  readonly packing: (typeof packings)[number] | 'pairs';
  /** Most tokens, padding included, that are read at once: what memory allows. One example is always read whole. */
  readonly batchTokens: number;
}

/** Rows that are read at once. */
export type Part<E extends TokenSequence = TokenExample> = readonly Row<E>[];

/**
 * Answers to one prompt make a row of at most this many times the tokens of the longest example: attention costs the
 * square of a row's length in time and memory, and by then a copy of the prompt costs little.
 */
const familyStretch = 4;

/** The parts that a step's examples are read in: the same for the same examples, each of which is in one. */
export function layOut<E extends TokenSequence>(
  examples: readonly E[],
  { packing, batchTokens }: PackingSettings,
): readonly Part<E>[] {
  const rows = rowsOf(examples, packing, batchTokens);
  const byLength = rows.toSorted((a, b) => rowLength(a) - rowLength(b));
  return filled(byLength, (part, row) => (part.length + 1) * rowLength(row) <= batchTokens);
}

function rowsOf<E extends TokenSequence>(
  examples: readonly E[],
  packing: PackingSettings['packing'],
  batchTokens: number,
): readonly Row<E>[] {
  switch (packing) {
    case 'none':
      return ownRows(examples);
    case 'pairs':
      return pairsOf(examples).map((pair) => [pair]);
    default:
      return packedRows(examples, batchTokens);
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

/** One example a row. */
export function ownRows<E extends TokenSequence>(examples: readonly E[]): readonly Row<E>[] {
  return examples.map((example) => [[example]]);
}

/**
 * Rows of several families are no longer than the longest example, which has to be read anyway. They are the fewest,
 * evenly filled: the longest family goes to the emptiest row. A longer family is a row of its own.
 */
function packedRows<E extends TokenSequence>(examples: readonly E[], batchTokens: number): readonly Row<E>[] {
  const longest = Math.max(...examples.map(exampleLength));
  const families = sharedPrompts(examples)
    .flatMap((family) => divided(family, Math.min(familyStretch * longest, batchTokens)))
    .toSorted((a, b) => familyLength(b) - familyLength(a));
  const long = families.filter((family) => familyLength(family) > longest);
  const short = families.slice(long.length);
  for (let count = Math.ceil(rowLength(short) / longest); ; count++) {
    const rows = evenRows(short, count);
    if (rows.every((row) => rowLength(row) <= longest)) return [...long.map((family) => [family]), ...rows];
  }
}

/** @param families longest first */
function evenRows<E extends TokenSequence>(families: readonly Family<E>[], count: number): readonly Row<E>[] {
  const rows = Array.from({ length: count }, () => ({ families: [] as Family<E>[], tokens: 0 }));
  for (const family of families) {
    const emptiest = rows.reduce((a, b) => (b.tokens < a.tokens ? b : a));
    emptiest.families.push(family);
    emptiest.tokens += familyLength(family);
  }
  return rows.flatMap((row) => (row.families.length === 0 ? [] : [row.families]));
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
      before.trained.push(...promptIds.slice(before.known.length).map(() => false), ...flags);
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

/** A family that is longer than a row, in parts that repeat the prompt. */
function divided<E extends TokenSequence>(family: Family<E>, limit: number): readonly Family<E>[] {
  return filled(family, (part, example) => familyLength([...part, example]) <= limit);
}
