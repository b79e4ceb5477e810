/** The runs and trainings that `list` shows: those that pass filters, in an order, each with its number. */
import { resolve } from 'node:path';
import { shownPath } from '../base/context.js';
import type { TrainingFacts } from '../runs/training/trainings.js';
import { filterOf, type Listed, listedRun, listedTraining, orderOf } from './filters.js';
import { type Labels, readLabels } from './labels.js';
import { type ListedRun, linesOf, listRuns, type RunPlaces, trainingLines } from './listing.js';

export interface Selection {
  /** `key=value` each. */
  readonly filters: readonly string[];
  /** A key; undefined: the oldest first. */
  readonly sort: string | undefined;
  /** Most runs and most trainings: the first by `sort`, the newest without. */
  readonly limit: number | undefined;
}

export interface ListedTraining extends TrainingFacts {
  readonly labels: Labels;
}

/** @throws UserError for a filter or an order that is none, and where the runs directory is a file */
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
    /** Whether nothing is there at all. */
    isEmpty: runs.length + trainings.length + damaged.length + damagedTrainings.length === 0,
    /** By which commands know the line that a run stands in. */
    numberOfRun: ({ path }: Pick<ListedRun, 'path'>) => numbers.get(path),
    numberOfTraining: ({ path }: Pick<TrainingFacts, 'path'>) => numbers.get(path),
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
