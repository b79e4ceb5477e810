/** A set of numbers that a reply holds, and what its place and words make of it. */
import type { Assignment, Naming } from './assignments.js';
import type { Value } from './values.js';

export interface NumberSet {
  /** The value of each index that is in the spec. */
  readonly values: ReadonlyMap<number, Value>;
  /** Indices that were given different values. */
  readonly conflicts: readonly number[];
  /** Indices beyond the spec, the first few. */
  readonly unknown: readonly number[];
  /** How many different indices it gives. */
  readonly found: number;
  /** Every index of the spec is there, and no other. */
  readonly complete: boolean;
  readonly naming: Naming | 'list';
  /**
   * `proposal`: the answer by its place and its words. `mention`: a quotation. `open`: it might be either.
   */
  readonly role: 'proposal' | 'mention' | 'open';
  /** How strongly its words call it the answer: 2 the final one, 1 a proposal, 0 not at all. */
  readonly rank: 0 | 1 | 2;
  /** Positions of its first sign and after its last one. */
  readonly start: number;
  readonly end: number;
}

export type Contents = Pick<NumberSet, 'values' | 'conflicts' | 'unknown' | 'found' | 'complete'>;

/** How many indices beyond the spec are named in a failure. */
const unknownLimit = 20;

export function sameValue(a: Value, b: Value): boolean {
  if (a.kind === 'number' && b.kind === 'number') return a.value === b.value;
  if (a.kind === 'placeholder' || b.kind === 'placeholder') return a.kind === b.kind;
  return a.kind === b.kind && a.text === b.text;
}

/** Values by index; an index may come twice. */
export function indexedContents(pairs: Iterable<readonly [number, Value]>, count: number): Contents {
  const values = new Map<number, Value>();
  const conflicts = new Set<number>();
  const unknown = new Set<number>();
  for (const [index, value] of pairs) {
    const earlier = values.get(index);
    if (index >= count) unknown.add(index);
    else if (earlier === undefined) values.set(index, value);
    else if (!sameValue(earlier, value)) conflicts.add(index);
  }
  return {
    values,
    conflicts: [...conflicts],
    unknown: [...unknown].slice(0, unknownLimit),
    found: values.size + unknown.size,
    complete: values.size === count && unknown.size === 0,
  };
}

/** Item i of a list is the value of index i. The last item of a list without end may be cut, and is left out. */
export function listContents(items: readonly Value[], count: number, closed = true): Contents {
  const kept = closed ? items : items.slice(0, -1);
  const contents = indexedContents(kept.slice(0, count + unknownLimit).entries(), count);
  return { ...contents, found: kept.length, complete: contents.complete && closed };
}

/**
 * Values by name. One stem counts through the parameters, and biases stand behind the weights: `w0, w1, b` or
 * `w0, w1, b0, b1`. Undefined for other mixtures of names.
 */
export function namedContents(assignments: readonly Assignment[], count: number): Contents | undefined {
  const isBias = ({ stem }: Assignment) => /^b(?:ias(?:es)?)?$/.test(stem);
  const weights = assignments.filter((item) => !isBias(item));
  const biases = assignments.filter(isBias);
  if (new Set(weights.map(({ stem }) => plainStem(stem))).size > 1) return undefined;
  const offset = weights.reduce((most, { index = 0 }) => Math.max(most, index + 1), 0);
  if (biases.length > 1 && biases.some(({ index }) => index === undefined)) return undefined;
  const pairs = assignments.map(
    (item) => [isBias(item) ? offset + (item.index ?? 0) : (item.index ?? 0), item.value] as const,
  );
  return indexedContents(pairs, count);
}

const plainStem = (stem: string) => stem.replace(/^(?:params?|parameters?)$/, 'params').replace(/s$/, '');

const allOf = ({ values }: Pick<NumberSet, 'values'>, kind: Value['kind']) =>
  values.size > 0 && [...values.values()].every((value) => value.kind === kind);

/** The example of the format: placeholders only. */
export const isExample = (set: Pick<NumberSet, 'values'>): boolean => allOf(set, 'placeholder');
/** Words only: a legend of the parameters, or names of actions instead of their numbers. */
export const isWorded = (set: Pick<NumberSet, 'values'>): boolean => allOf(set, 'word');
