/** Reads configs and curves of runs on request, and caches them while their files are unchanged. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isSettingKey, itemFields } from '../runs/listing/fields.js';
import type { Item } from '../runs/listing/item.js';
import { type LocatedItem, type LocatedRun, unlessDamaged } from '../runs/listing/scan.js';
import type { RunSummary } from '../runs/summary.js';
import type { ExportedRun } from '../runs/tables/rows.js';
import { type ConfiguredRun, readComparedRun, withConfig } from '../studies/comparison/compared-runs.js';
import { cacheByRun, groupRuns, settingOf, settingsOf } from '../studies/comparison/run-groups.js';
import type { ConfigKeys } from '../web/messages.js';

function unlessUnreadable<T extends object>(read: () => T): T | undefined {
  const result = unlessDamaged(read);
  return typeof result === 'string' ? undefined : result;
}

const tryConfigure = cacheByRun((run: RunSummary) => unlessUnreadable(() => withConfig(run)));

/** Returns a run with its config; undefined for other items, such as agent runs, and if the config can't be read. */
export const configuredRun = ({ item, summary }: LocatedItem): ConfiguredRun | undefined =>
  item.kind !== 'training' && summary ? tryConfigure(summary) : undefined;

/** Returns a run with its curve; undefined if it can't be read. */
export const comparedRun = cacheByRun((run: ConfiguredRun) => unlessUnreadable(() => readComparedRun(run)));

/** Number of configs to read before yielding to other requests; reading one curve takes about as long. */
const configsAtOnce = 20;

/** Reads the configs of runs, and their curves if `withCurves`, yielding to other requests in between. */
export async function readAhead(
  places: readonly LocatedItem[],
  { withCurves = false } = {},
): Promise<readonly LocatedItem[]> {
  for (const [i, place] of places.entries()) {
    if (withCurves || i % configsAtOnce === configsAtOnce - 1) await nextTurn();
    const run = configuredRun(place);
    if (withCurves && run !== undefined) comparedRun(run);
  }
  return places;
}

/** Adds the values of these keys to an item, except for keys that its config doesn't have. */
export function withSettings(place: LocatedItem | undefined, item: Item, keys: readonly string[]): Item {
  const run = keys.length === 0 ? undefined : place && configuredRun(place);
  if (run === undefined) return item;
  const settings = settingsOf(run);
  const values = keys
    .map((key) => [key, settingOf(settings, key)] as const)
    .filter(([, value]) => value !== '–');
  return { ...item, settings: Object.fromEntries(values) };
}

/** Adds to each run all settings of its config, and the name of its group as in `policyloop compare`. */
export function runsToExport(places: readonly LocatedRun[]): readonly ExportedRun[] {
  const { keys } = configKeys(places);
  const tasks = groupRuns(
    places.flatMap((place) => configuredRun(place) ?? []),
    undefined,
  );
  const groupByPath = new Map(
    tasks.flatMap((task) => task.groups.flatMap(({ name, runs }) => runs.map(({ path }) => [path, name]))),
  );
  return places.map((place) => ({
    ...place,
    item: withSettings(place, place.item, keys),
    group: groupByPath.get(place.path) ?? null,
  }));
}

/** Returns the config keys of these runs, and those whose values differ. */
export function configKeys(places: readonly LocatedItem[]): ConfigKeys {
  const values = new Map<string, Set<string>>();
  let runCount = 0;
  for (const place of places) {
    const run = configuredRun(place);
    if (run === undefined) continue;
    runCount++;
    for (const [key, value] of settingsOf(run)) values.set(key, (values.get(key) ?? new Set()).add(value));
  }
  const fieldKeys = new Set(itemFields.map(({ key }) => key));
  const keys = [...values.keys()].filter((key) => !fieldKeys.has(key) && isSettingKey(key)).toSorted();
  return { keys, different: runCount < 2 ? [] : keys.filter((key) => values.get(key)!.size > 1) };
}
