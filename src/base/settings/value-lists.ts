/** Parses a list of values where a sweep accepts several: `0.2,0.7,1`, `1..10`, `choice(4,8)`, `uniform(0,1)`. */
import { isNode, isSeq, parseDocument } from 'yaml';
import { UserError } from '../errors.js';
import { printableText } from './issues.js';

/** The values of a key: either a list, or a distribution to draw from. */
export type ValueSource =
  /** Strings as written in YAML; at least one. */
  | { readonly kind: 'list'; readonly items: readonly string[] }
  /** Numbers from `low` to `high`, drawn uniformly or log-uniformly. */
  | { readonly kind: 'uniform' | 'loguniform'; readonly low: number; readonly high: number };

const maxValues = 100_000;

/** Splits a string at the commas between the items of a YAML list. Text that isn't such a list is a single part. */
export function splitItems(text: string): readonly string[] {
  const { contents, errors } = parseDocument(`[${text}]`, { logLevel: 'silent' });
  if (errors.length > 0 || !isSeq(contents)) return [text];
  const ends = contents.items.slice(0, -1).map((item) => (isNode(item) ? item.range![1] - 1 : 0));
  const commas = ends.map((end) => text.indexOf(',', end));
  return [...commas, text.length].map((comma, i) => text.slice(i === 0 ? 0 : commas[i - 1]! + 1, comma));
}

const callPattern = /^(choice|uniform|loguniform)\((.*)\)$/s;
const rangePattern = /^([+-]?\d+(?:\.\d+)?)\.\.([+-]?\d+(?:\.\d+)?)$/;

/**
 * The values that a string lists; undefined if it is a single value.
 * @param name used in error messages
 * @throws UserError for an invalid range, or wrong arguments of `uniform` or `loguniform`
 */
export function parseValues(text: string, name: string): ValueSource | undefined {
  const trimmed = text.trim();
  const [, word, argumentText = ''] = callPattern.exec(trimmed) ?? [];
  if (word === 'uniform' || word === 'loguniform') return toDistribution(word, argumentText.split(','), name);
  const parts = splitItems(word === undefined ? trimmed : argumentText).map((part) => part.trim());
  if (word === undefined && parts.length === 1 && !rangePattern.test(trimmed)) return undefined;
  return {
    kind: 'list',
    items: parts.flatMap((part) => (rangePattern.test(part) ? expandRange(part, name) : [part])),
  };
}

function expandRange(part: string, name: string): readonly string[] {
  const [from, to] = rangePattern.exec(part)!.slice(1).map(Number) as [number, number];
  const fits = Number.isSafeInteger(from) && Number.isSafeInteger(to) && from <= to && to - from < maxValues;
  if (fits) return Array.from({ length: to - from + 1 }, (_, i) => String(from + i));
  throw new UserError({
    file: name,
    message: `${printableText(part)}: a range needs two whole numbers, the lower first, and may contain at most ${maxValues} values`,
    hint: 'list the values, or draw them with uniform(low,high)',
  });
}

function toDistribution(kind: 'uniform' | 'loguniform', parts: readonly string[], name: string): ValueSource {
  const [low = Number.NaN, high = Number.NaN, ...more] = parts.map((part) =>
    part.trim() === '' ? Number.NaN : Number(part),
  );
  const fits = low < high && Number.isFinite(high - low) && (kind === 'uniform' || low > 0);
  if (fits && more.length === 0) return { kind, low, high };
  throw new UserError({
    file: name,
    message: `${kind} takes two numbers${kind === 'uniform' ? '' : ' above 0'}, the lower first`,
    hint: `write, for example, ${kind}(0.01,1)`,
  });
}

/**
 * @param texts `key=value`
 * @throws UserError for an override that lists several values, which only a sweep accepts
 */
export function rejectLists(texts: readonly string[]): void {
  for (const text of texts) {
    const [key, value] = text.split(/=(.*)/s) as [string, string | undefined];
    if (
      value === undefined ||
      (splitItems(value).length === 1 && !rangePattern.test(value.trim()) && !callPattern.test(value.trim()))
    )
      continue;
    throw new UserError({
      field: key,
      message: 'lists several values for one run',
      hint: `use policyloop sweep to run each value (with --dry-run for an estimate), or put a string with a comma in quotes: '${key}="…"'`,
    });
  }
}
