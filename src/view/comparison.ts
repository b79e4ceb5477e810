/** Groups and compares runs in the same way as `policyloop compare`. */
import { isMatch } from '../base/pattern.js';
import { fieldOf, isSettingKey } from '../runs/listing/fields.js';
import { parseFilter } from '../runs/listing/filter.js';
import type { Item } from '../runs/listing/item.js';
import { isInside, type LocatedItem } from '../runs/listing/scan.js';
import { summarizeMean } from '../statistics/paired.js';
import { confirmedBySeed, meanBySeed } from '../studies/comparison/comparability.js';
import { noRunsLeftError, selectUsable } from '../studies/comparison/compare.js';
import { commonRange } from '../studies/comparison/compared-runs.js';
import { comparisonPage } from '../studies/comparison/page.js';
import { compareGroups } from '../studies/comparison/run-comparison.js';
import { groupRuns } from '../studies/comparison/run-groups.js';
import { itemAddress } from '../web/address.js';
import type { GroupMeans } from '../web/messages.js';
import type { Page } from '../web/page.js';
import { type Group, groupsOf, sortGroups } from '../web/table/groups.js';
import { maxSingleRuns, stateOf } from '../web/table/state.js';
import { HttpError } from './http.js';
import { comparedRun, configKeys, configuredRun, readAhead, withSettings } from './run-data.js';

/** Returns the items that the query's `of` selects by name, directory or pattern; all items if there is no `of`. */
function namedItems(places: readonly LocatedItem[], query: URLSearchParams): readonly LocatedItem[] {
  const names = query.getAll('of');
  if (names.length === 0) return places;
  const named = names.flatMap((name) => {
    const matches = places.filter(
      ({ item }) => item.name === name || isInside(item, { name }) || isMatch(name, item.name),
    );
    if (matches.length === 0) throw new HttpError(404, `run ${name} not found`);
    return matches;
  });
  return [...new Set(named)];
}

/** Groups the items that the query's `of` and filter select. */
function filteredGroups(all: readonly LocatedItem[], query: URLSearchParams): readonly Group[] {
  const places = namedItems(all, query);
  const { by, filter } = stateOf(query);
  const { keys } = configKeys(places);
  const { accepts, settingKeys, problems } = parseFilter(filter, keys);
  if (problems[0] !== undefined) throw new HttpError(400, problems[0]);
  const wantedKeys = [...new Set([...by.filter(isSettingKey), ...settingKeys])];
  const items = places.map((place) => withSettings(place, place.item, wantedKeys));
  return groupsOf(items.filter(accepts), by);
}

/** Computes the statistics of the groups, by group id. */
export function meansByGroup(
  places: readonly LocatedItem[],
  query: URLSearchParams,
): Readonly<Record<string, GroupMeans>> {
  const locatedByName = new Map(places.map((place) => [place.item.name, place]));
  return Object.fromEntries(
    filteredGroups(places, query).map(({ id, items }) => {
      const runs = items.flatMap(({ name }) => configuredRun(locatedByName.get(name)!) ?? []);
      const { kept } = selectUsable(runs, false, (path) => path);
      const meanOver = (bySeed: ReadonlyMap<string, number>) =>
        summarizeMean([...bySeed.values()], commonRange(kept)) ?? null;
      return [
        id,
        {
          observed: meanOver(meanBySeed(kept, ({ observed }) => observed)),
          confirmed: meanOver(confirmedBySeed(kept)),
        },
      ];
    }),
  );
}

/**
 * Compares the runs that the query selects, in the order of their groups. Without keys, up to `maxSingleRuns` items are
 * compared one by one (`run`), and more are grouped by their configs without the seed (`config`).
 * @throws HttpError if the query is invalid; UserError if there is nothing to compare, or no run has a key
 */
export async function comparisonFor(places: readonly LocatedItem[], query: URLSearchParams): Promise<Page> {
  await readAhead(places);
  const ids = query.getAll('group');
  const groups = filteredGroups(places, query).filter(({ id }) => ids.length === 0 || ids.includes(id));
  const items = sortGroups(groups, 'name', () => undefined).flatMap((group) => group.items);
  const locatedByName = new Map(places.map((place) => [place.item.name, place]));
  const chosenItems = items.map((item) => ({ ...locatedByName.get(item.name)!, item }));
  const givenKeys = stateOf(query).by;
  const by = givenKeys.length > 0 ? givenKeys : [items.length <= maxSingleRuns ? 'run' : 'config'];
  await readAhead(chosenItems, { withCurves: true });
  const isByRun = by.join() === 'run';
  const itemByPath = new Map(chosenItems.map(({ item, path }) => [path, item]));
  const nameOf = (path: string) => itemByPath.get(path)!.name;
  const runs = chosenItems.flatMap((place) => configuredRun(place) ?? []);
  if (isByRun && runs.length > maxSingleRuns)
    throw new HttpError(400, `at most ${maxSingleRuns} single runs can be compared; group them by a key`);
  // Single runs are compared without statistical tests, so unfinished ones are kept.
  const { kept, leftOut: unusable } = isByRun
    ? { kept: runs, leftOut: [] }
    : selectUsable(runs, query.has('unfinished'), nameOf);
  const readPaths = new Set(runs.map(({ path }) => path));
  const unreadable = chosenItems.filter(({ item, path }) => item.kind === 'run' && !readPaths.has(path));
  const leftOut = [
    ...unusable,
    ...unreadable.map(({ item }) => ({ run: item.name, reason: item.fault ?? "its config can't be read" })),
  ];
  const comparedRuns = kept.flatMap((run) => comparedRun(run) ?? []);
  if (comparedRuns.length === 0) throw noRunsLeftError(leftOut, runs.length === 0);
  const keys = by.join() === 'config' ? undefined : by;
  const tasks = groupRuns(comparedRuns, keys, ({ path }) => valuesOf(itemByPath.get(path)!, by));
  const comparison = compareGroups(tasks, { by: keys, target: undefined, nameOf, leftOut });
  const untested = comparison.tasks.map((task) => ({ ...task, differences: [], pairings: [], cautions: [] }));
  const shownComparison = isByRun ? { ...comparison, by: null, tasks: untested } : comparison;
  return comparisonPage(shownComparison, tasks, { linkOf: itemAddress, isByRun, maxRuns: 200 });
}

/** Returns the values of keys that aren't part of a config, such as `run` or `status`. */
const valuesOf = (item: Item, by: readonly string[]): readonly (readonly [string, string])[] =>
  by.flatMap((key) => {
    if (key === 'run') return [[key, item.name] as const];
    const { kind, get } = fieldOf(key);
    return kind === 'setting' || key === 'model' || key === 'seed'
      ? []
      : [[key, String(get(item) ?? '–')] as const];
  });
