/** Selects and sorts runs and training runs for `policyloop list`, e.g. with `environment=CartPole-v1 best=400..`. */

import { resolve } from 'node:path';
import { shownPath } from '../../base/context.js';
import { nearest, UserError } from '../../base/errors.js';
import { matches } from '../../base/pattern.js';
import type { RecordedTraining } from '../training/trainings.js';
import {
  type Labels,
  type ListedRun,
  linesOf,
  listRuns,
  type RunPlaces,
  readLabels,
  resultOfLine,
  trainingLines,
} from './listing.js';

/** The fields by which runs and training runs can be filtered and sorted; null if there is no value. */
export interface Listed {
  readonly name: string;
  readonly status: string;
  /** For a training run, its dataset or environment. */
  readonly environment: string | null;
  readonly model: string | null;
  readonly tag: readonly string[];
  readonly seed: number | null;
  readonly iterations: number;
  /** The highest observed mean return; for a training run, the held-out return of its result. */
  readonly best: number | null;
  readonly confirmed: number | null;
  readonly calls: number | null;
  readonly tokens: number | null;
  readonly cost: number | null;
  readonly minutes: number;
  /** ISO 8601. */
  readonly started: string | null;
}

function listedRun(run: ListedRun): Listed {
  const { labels, manifest, name, observed, status, tokens } = run;
  const { activeMs, created, environment, iterations, model, seed, usage } = manifest;
  return {
    ...{ name, status, environment, model, seed, tokens },
    tag: labels.tags,
    ...{ iterations: iterations.done, best: observed, confirmed: resultOfLine(run) ?? null },
    ...{ calls: usage.calls, cost: usage.cost ?? null, minutes: activeMs / 60_000, started: created },
  };
}

function listedTraining(training: RecordedTraining, name: string, labels: Labels): Listed {
  const { best, model, on, seconds, started, status, steps, tokens } = training;
  return {
    ...{ name, status, environment: on, model, started, tokens },
    tag: labels.tags,
    ...{ seed: null, confirmed: null, calls: null, cost: null },
    ...{ iterations: steps.done, minutes: seconds / 60 },
    best: best?.kind === 'return' ? best.value : null,
  };
}

type Key = keyof Listed;

const keys = [
  ...['name', 'status', 'environment', 'model', 'tag', 'started'],
  ...['seed', 'iterations', 'best', 'confirmed', 'calls', 'tokens', 'cost', 'minutes'],
] as readonly Key[];

const numbers: ReadonlySet<Key> = new Set<Key>([
  ...(['seed', 'iterations', 'best', 'confirmed', 'calls', 'tokens', 'cost', 'minutes'] as const),
]);

/**
 * @param texts each `key=value`, where the value is a word, a pattern, a number, a time, or a range like `400..`
 * @throws UserError for an unknown key or an invalid value
 */
function filterOf(texts: readonly string[]): (listed: Listed) => boolean {
  const filters = texts.map(parsed);
  return (listed) => filters.every((passes) => passes(listed));
}

function parsed(text: string): (listed: Listed) => boolean {
  const at = text.indexOf('=');
  if (at < 1)
    throw new UserError({
      ...{ field: 'filters', value: text, message: 'must have the form key=value' },
      remedy: `use filters such as environment=CartPole-v1, status=failed, best=400.. or tag=baseline`,
    });
  const key = keyOf(text.slice(0, at), 'filters');
  const value = text.slice(at + 1);
  if (key === 'started') return inRange(value, (listed) => listed.started, timeOf);
  if (numbers.has(key)) return inRange(value, (listed) => listed[key] as number | null, numberOf);
  const wanted = value.toLowerCase();
  const fits = (found: string) => matches(wanted, found.toLowerCase());
  return (listed) => {
    const own = listed[key] as string | readonly string[] | null;
    return typeof own === 'object' ? (own ?? []).some(fits) : fits(own);
  };
}

/** Parses a range: `a..b`, `a..`, `..b` or a single value, all inclusive. */
function inRange<V extends number | string>(
  text: string,
  of: (listed: Listed) => V | null,
  read: (text: string, end: 'low' | 'high') => V,
): (listed: Listed) => boolean {
  const [first = '', last = first, ...more] = text.split('..');
  if (more.length > 0 || (first === '' && last === ''))
    throw new UserError({
      ...{ field: 'filters', value: text, message: 'neither a value nor a range' },
      remedy: 'write a single value, or a range such as LOW.., ..HIGH or LOW..HIGH',
    });
  const low = first === '' ? undefined : read(first, 'low');
  const high = last === '' ? undefined : read(last, 'high');
  return (listed) => {
    const own = of(listed);
    return own !== null && (low === undefined || own >= low) && (high === undefined || own <= high);
  };
}

function numberOf(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isFinite(value)) return value;
  throw new UserError({ field: 'filters', value: text, message: 'not a number' });
}

/** Parses the beginning of an ISO 8601 time in UTC; as an upper bound, it includes every time that begins with it. */
function timeOf(text: string, end: 'low' | 'high'): string {
  if (/^\d{4}(-\d\d(-\d\d(T[\d:.Z]*)?)?)?$/.test(text)) return end === 'low' ? text : `${text}\uffff`;
  throw new UserError({
    ...{ field: 'filters', value: text, message: 'not a date or time' },
    alternatives: ['2026-01', '2026-01-31', '2026-01-31T12:00'],
  });
}

/**
 * Sorts numbers and times in descending order, words in ascending order, and missing values last.
 * @throws UserError for an unknown key
 */
function orderOf(key: string): (a: Listed, b: Listed) => number {
  const own = keyOf(key, '--sort');
  const falls = numbers.has(own) || own === 'started';
  return (a, b) => {
    const [x, y] = [sortable(a[own]), sortable(b[own])];
    if (x === y) return 0;
    if (x === null) return 1;
    if (y === null) return -1;
    return x < y === falls ? 1 : -1;
  };
}

const sortable = (value: Listed[Key]): string | number | null =>
  typeof value === 'object' ? value?.join(' ') || null : value;

function keyOf(text: string, field: string): Key {
  const key = keys.find((known) => known === text);
  if (key !== undefined) return key;
  const near = nearest(text, keys);
  throw new UserError({
    ...{ field, value: text, message: 'unknown key' },
    alternatives: keys,
    ...(near && { remedy: `did you mean ${near}?` }),
  });
}

export interface Selection {
  /** Each has the form `key=value`. */
  readonly filters: readonly string[];
  /** The key to sort by; if undefined, the oldest comes first. */
  readonly sort: string | undefined;
  /** Maximum number of runs, and of training runs: the first ones if `sort` is set, otherwise the newest. */
  readonly limit: number | undefined;
}

export interface ListedTraining extends RecordedTraining {
  readonly labels: Labels;
}

/** @throws UserError for an invalid filter or sort key, or if the runs directory is a file */
export function listed(selection: Selection, places: RunPlaces) {
  const root = resolve(places.cwd, places.runsDir);
  const { damaged, runs } = listRuns(root);
  const { damaged: damagedTrainings, trainings } = trainingLines(places);
  const lines = linesOf(runs, root);
  const numbers = new Map(lines.flatMap(([, own], i) => own.map(({ path }) => [path, i + 1])));
  const labelled = trainings.map((one): ListedTraining => ({ ...one, labels: readLabels(one.path) }));
  for (const [i, { path }] of trainings.entries()) numbers.set(path, lines.length + i + 1);
  const asRow = (one: ListedTraining) => listedTraining(one, shownPath(one.path, places.cwd), one.labels);
  return {
    runs: selected(runs, listedRun, selection),
    trainings: selected(labelled, asRow, selection),
    damaged,
    damagedTrainings,
    /** True if there are no runs or training runs at all, even without the filters. */
    isEmpty: runs.length + trainings.length + damaged.length + damagedTrainings.length === 0,
    /** The number that commands accept instead of the name. */
    numberOfRun: ({ path }: Pick<ListedRun, 'path'>) => numbers.get(path),
    numberOfTraining: ({ path }: Pick<RecordedTraining, 'path'>) => numbers.get(path),
  };
}

function selected<T>(
  all: readonly T[],
  row: (one: T) => Listed,
  { filters, limit, sort }: Selection,
): readonly T[] {
  const passes = filterOf(filters);
  const kept = all.filter((one) => passes(row(one)));
  if (sort === undefined) return limit === undefined ? kept : kept.slice(-limit);
  const order = orderOf(sort);
  return kept.toSorted((a, b) => order(row(a), row(b))).slice(0, limit);
}
