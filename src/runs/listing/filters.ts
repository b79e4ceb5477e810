/** Selects and sorts runs and training runs for `policyloop list`, e.g. with `environment=CartPole-v1 best=400..`. */

import { resolve } from 'node:path';
import { shownPath } from '../../base/context.js';
import { UserError } from '../../base/errors.js';
import type { RecordedTraining } from '../training/trainings.js';
import { fieldOf, sorted } from './fields.js';
import { isKnown, parseFilter, unknownKey } from './filter.js';
import type { Item } from './item.js';
import { trainingItem } from './items.js';
import {
  type Labels,
  type ListedRun,
  linesOf,
  listedItem,
  listRuns,
  type RunPlaces,
  readLabels,
  trainingLines,
} from './listing.js';

export interface Selection {
  /** Each is a word, or has the form `key=value`. */
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
  return {
    runs: selected(runs, listedItem, selection),
    trainings: selected(
      labelled,
      (one) => ({ within: null, ...trainingItem(one), ...one.labels, name: shownPath(one.path, places.cwd) }),
      selection,
    ),
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
  itemOf: (one: T) => Item,
  { filters, limit, sort }: Selection,
): readonly T[] {
  const { accepts, problems } = parseFilter(filters, []);
  if (problems[0] !== undefined) throw new UserError({ field: 'filters', message: problems[0] });
  const found = new Map(all.map((one) => [itemOf(one), one]));
  const kept = [...found.keys()].filter(accepts);
  const shown =
    sort !== undefined
      ? sorted(kept, sortOf(sort)).slice(0, limit)
      : limit === undefined
        ? kept
        : kept.slice(-limit);
  return shown.map((item) => found.get(item)!);
}

/** Numbers and times are sorted in descending order. */
function sortOf(key: string): string {
  const field = fieldOf(key);
  if (!isKnown(field, [])) throw new UserError({ field: '--sort', message: unknownKey(key, []) });
  return field.kind === 'text' ? key : `-${key}`;
}
