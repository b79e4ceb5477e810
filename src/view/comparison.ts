/** Groups and compares runs in the same way as `policyloop compare`. */
import { UserError } from '../base/errors.js';
import { matches } from '../base/pattern.js';
import { compareValues, fieldOf, isAsked } from '../runs/listing/fields.js';
import { parseFilter } from '../runs/listing/filter.js';
import type { Item } from '../runs/listing/item.js';
import { isBelow, type Place } from '../runs/listing/scan.js';
import { summarizeMean } from '../statistics/paired.js';
import { meanBySeed } from '../studies/comparison/comparability.js';
import { selected } from '../studies/comparison/compare.js';
import { type ConfiguredRun, commonRange } from '../studies/comparison/compared-runs.js';
import { comparisonPage } from '../studies/comparison/page.js';
import { compareGroups } from '../studies/comparison/run-comparison.js';
import { groupRuns } from '../studies/comparison/run-groups.js';
import type { GroupFigures, GroupMean } from '../web/messages.js';
import type { Page } from '../web/page.js';
import { type Group, groupsOf } from '../web/table/groups.js';
import { mostCompared, stateOf } from '../web/table/state.js';
import { HttpError } from './http.js';
import { comparedRun, configKeys, configuredRun, readAhead, withSettings } from './run-data.js';
import { pageAddress } from './shown-run.js';

/** The items that the query's `of` selects by name, directory or pattern; all items if there is no `of`. */
function namedPlaces(places: readonly Place[], query: URLSearchParams): readonly Place[] {
  const names = query.getAll('of');
  if (names.length === 0) return places;
  const named = names.flatMap((name) => {
    const found = places.filter(
      ({ item }) => item.name === name || isBelow(item, { name }) || matches(name, item.name),
    );
    if (found.length === 0) throw new HttpError(404, `run ${name} not found`);
    return found;
  });
  return [...new Set(named)];
}

/** Groups the items that match the query's filter. */
function filteredGroups(places: readonly Place[], query: URLSearchParams): readonly Group[] {
  const { by, filter } = stateOf(query);
  const { keys } = configKeys(places);
  const { accepts, asked, problems } = parseFilter(filter, keys);
  if (problems[0] !== undefined) throw new HttpError(400, problems[0]);
  const wanted = [...new Set([...by.filter(isAsked), ...asked])];
  const items = places.map((place) => withSettings(place, place.item, wanted));
  return groupsOf(items.filter(accepts), by);
}

/** The statistics of the groups, by group id. */
export function groupFigures(
  places: readonly Place[],
  query: URLSearchParams,
): Readonly<Record<string, GroupFigures>> {
  const byName = new Map(places.map((place) => [place.item.name, place]));
  return Object.fromEntries(
    filteredGroups(namedPlaces(places, query), query).map(({ id, items }) => {
      const runs = items.flatMap(({ name }) => configuredRun(byName.get(name)!) ?? []);
      const { kept } = selected(runs, false, (path) => path);
      return [
        id,
        {
          observed: groupMean(kept, ({ observed }) => observed),
          confirmed: groupMean(kept, ({ confirmed }) => confirmed?.mean ?? null),
        },
      ];
    }),
  );
}

function groupMean(
  runs: readonly ConfiguredRun[],
  of: (run: ConfiguredRun) => number | null,
): GroupMean | null {
  const found = summarizeMean([...meanBySeed(runs, of).values()], commonRange(runs));
  return found ? { count: found.count, mean: found.mean, interval: found.meanInterval } : null;
}

/** The items that the query selects by `of` and `filter`; if it also has `group`, only items in those groups. */
function chosenPlaces(places: readonly Place[], query: URLSearchParams): readonly Place[] {
  const named = namedPlaces(places, query);
  const ids = query.getAll('group');
  const groups = filteredGroups(named, query);
  const wanted = ids.length === 0 ? groups : groups.filter(({ id }) => ids.includes(id));
  const kept = new Set(wanted.flatMap(({ items }) => items.map(({ name }) => name)));
  return named.filter(({ item }) => kept.has(item.name));
}

/**
 * Keys to group by. If the query has none: `run` for up to `mostCompared` items, otherwise `config`, which ignores the
 * seed.
 */
function groupingOf(query: URLSearchParams, chosen: readonly Place[]): readonly string[] {
  const { by } = stateOf(query);
  if (by.length > 0) return by;
  return chosen.length <= mostCompared ? ['run'] : ['config'];
}

/**
 * Compares runs.
 * @throws HttpError if the query is invalid; UserError if there is nothing to compare
 */
export async function comparedPage(places: readonly Place[], query: URLSearchParams): Promise<Page> {
  await readAhead(places);
  const chosen = chosenPlaces(places, query);
  const by = groupingOf(query, chosen);
  await readAhead(chosen, { areCurves: true });
  const isByRun = by.join() === 'run';
  const byPath = new Map(chosen.map((place) => [place.path, place.item]));
  const itemOf = ({ path }: { readonly path: string }): Item => byPath.get(path)!;
  const named = (path: string) => itemOf({ path }).name;
  const runs = inOrder(chosen, by).flatMap((place) => configuredRun(place) ?? []);
  if (isByRun && runs.length > mostCompared)
    throw new HttpError(400, `at most ${mostCompared} single runs can be compared; group them by a key`);
  // Single runs are compared without statistical tests, so unfinished ones are kept.
  const { kept, leftOut } = isByRun
    ? { kept: runs, leftOut: [] }
    : selected(runs, query.has('unfinished'), named);
  const unreadable = chosen.filter(
    ({ item, path }) => item.kind === 'run' && !runs.some((run) => run.path === path),
  );
  const readable = kept.flatMap((run) => comparedRun(run) ?? []);
  if (readable.length === 0) throw nothingToCompare(runs.length, kept.length);
  const keys = by.join() === 'config' ? undefined : by;
  const tasks = groupRuns(readable, keys, (run) => valuesOf(itemOf(run), by));
  const comparison = compareGroups(tasks, {
    by: keys,
    target: undefined,
    named,
    leftOut: [
      ...leftOut,
      ...unreadable.map(({ item }) => ({ run: item.name, reason: item.fault ?? "its config can't be read" })),
    ],
  });
  const untested = comparison.tasks.map((task) => ({ ...task, differences: [], cautions: [] }));
  const shown = isByRun ? { ...comparison, by: null, tasks: untested } : comparison;
  return comparisonPage(shown, tasks, {
    hrefOf: (path) => pageAddress(named(path)),
    isByRun,
    mostRuns: 200,
  });
}

/** Sorts runs by the values of the keys, so that groups appear in this order too. */
function inOrder(places: readonly Place[], by: readonly string[]): readonly Place[] {
  if (by.join() === 'run' || by.join() === 'config') return places;
  const values = new Map(
    places.map((place) => {
      const item = withSettings(place, place.item, by.filter(isAsked));
      return [place, by.map((key) => fieldOf(key).of(item))] as const;
    }),
  );
  const order = (a: Place, b: Place) =>
    by.reduce((sign, _, i) => sign || compareValues(values.get(a)![i]!, values.get(b)![i]!), 0);
  return places.toSorted(order);
}

/** Values of the keys that aren't part of a config, such as `run` or `status`. */
const valuesOf = (item: Item, by: readonly string[]): readonly (readonly [string, string])[] =>
  by.flatMap((key) => {
    if (key === 'run') return [[key, item.name] as const];
    const { kind, of } = fieldOf(key);
    return kind === 'setting' || key === 'model' || key === 'seed'
      ? []
      : [[key, String(of(item) ?? '–')] as const];
  });

/** @param kept number of the `found` runs that may be compared */
const nothingToCompare = (found: number, kept: number) =>
  found > 0 && kept === 0
    ? new UserError({
        message: 'none of these runs is complete',
        hint: 'include unfinished runs to compare them as they are',
      })
    : new UserError({
        message: found === 0 ? 'there are no runs to compare' : 'none of these runs can be read',
        hint: 'choose other runs in the list',
      });
