/** Finds the runs, training runs and directories of runs below some directories, as items of a list. */
import { lstatSync, type Stats } from 'node:fs';
import { basename, join } from 'node:path';
import { UserError } from '../../base/errors.js';
import { readOwnJson } from '../../base/files/files.js';
import { isLocked } from '../../base/files/lock.js';
import { groupBy } from '../../base/grouped.js';
import { type FoundItem, itemsBelow, planLock } from '../finder.js';
import { planFile, runFiles } from '../reader.js';
import { type RunSummary, summaryOf } from '../summary.js';
import { measurementText, type RecordedTraining, readTraining } from '../training/trainings.js';
import { trainingFiles } from '../training-files.js';
import { holdsRuns, type Item, type ItemKind } from './item.js';
import { labelsFile, readLabels } from './labels.js';

/** A directory to scan. The names of the items in it begin with `prefix`. */
export interface ScanRoot {
  readonly path: string;
  readonly prefix: string;
  /** Name of the item if the directory itself is one; default: the prefix and the directory's name. */
  readonly name?: string;
}

export interface LocatedItem {
  readonly item: Item;
  readonly path: string;
  /** Summary of a run that isn't damaged; the same object until the run is read again. */
  readonly summary?: RunSummary;
  /** The record of a training run that isn't damaged. */
  readonly training?: RecordedTraining;
}

export interface LocatedRun extends LocatedItem {
  readonly summary: RunSummary;
}

export interface ScannedItem extends LocatedItem {
  /** Changes with the run's manifest, the training run's record or metrics, and the labels; constant for a plan. */
  readonly version: string;
}

/**
 * Finds the items below the root directories; the result is keyed by name. Rereads a run or training run only if
 * it has changed or its process has ended.
 * @param cache the items that the last scan found
 */
export function scanItems(
  roots: readonly ScanRoot[],
  cache: ReadonlyMap<string, ScannedItem> = new Map(),
): ReadonlyMap<string, ScannedItem> {
  const items = new Map<string, ScannedItem>();
  for (const { path: root, prefix, name: rootName = prefix + basename(root) } of roots)
    for (const item of itemsBelow(root)) {
      const name = item.name === '' ? rootName : prefix + item.name;
      const within = item.within && prefix + item.within;
      items.set(name, rescan({ ...item, name, within }, cache.get(name)));
    }
  addTotals(items);
  return items;
}

function rescan(found: FoundItem, cached: ScannedItem | undefined): ScannedItem {
  const { kind, path } = found;
  if (kind === 'plan') return { path, version: '', item: holderItem(found) };
  const files = { run: [runFiles.manifest], training: [trainingFiles.about, trainingFiles.metrics] }[kind];
  const version = versionOf([...files, labelsFile].map((file) => join(path, file)));
  // Only the lock shows whether the process is still running.
  const lock = { run: runFiles.lock, training: trainingFiles.lock }[kind];
  const wasRunning = cached?.item.status === 'running';
  if (cached?.version === version && (!wasRunning || isLocked(join(path, lock)))) return cached;
  const ownFields = { name: found.name, within: found.within, tags: readLabels(path).tags };
  if (kind === 'training') {
    const training = unlessDamaged(() => readTraining(path));
    return typeof training === 'string'
      ? { path, version, item: damagedItem(found, 'training', training) }
      : { path, version, item: { ...trainingItem(training), ...ownFields }, training };
  }
  const summary = unlessDamaged(() => summaryOf(path));
  return typeof summary === 'string'
    ? { path, version, item: damagedItem(found, 'run', summary) }
    : { path, version, item: { ...runItem(summary), ...ownFields }, summary };
}

/** Changes whenever one of the files does. */
export const versionOf = (files: readonly string[]) =>
  files
    .map((file): Stats | undefined => lstatSync(file, { throwIfNoEntry: false }))
    .map((stats) => (stats === undefined ? '-' : `${stats.ino} ${stats.size} ${stats.mtimeMs}`))
    .join(' ');

const damagedItem = ({ name, within }: FoundItem, kind: ItemKind, fault: string): Item => ({
  ...unsetFields,
  kind,
  status: 'failed',
  name,
  within,
  fault,
});

function holderItem({ name, path, within }: FoundItem): Item {
  // The file may contain anything.
  const plan = Object(unlessDamaged(() => readOwnJson(join(path, planFile)))) as Record<string, unknown>;
  const kind = plan.kind === 'evaluation' ? plan.kind : 'sweep';
  const of = Number.isSafeInteger(plan.runs) ? (plan.runs as number) : 0;
  const isRunning = isLocked(join(path, planLock));
  return { ...unsetFields, name, within, kind, of, status: isRunning ? 'running' : 'completed' };
}

/** Fills in the totals of directories from the runs in them. */
function addTotals(scannedItems: Map<string, ScannedItem>): void {
  const leaves = [...scannedItems.values()].flatMap(({ item }) => (holdsRuns(item) ? [] : item));
  const itemsByFolder = groupBy(
    leaves.flatMap((item) => foldersOf(item).map((folder) => ({ folder, item }))),
    ({ folder }) => folder,
  );
  for (const [name, scanned] of scannedItems) {
    const items = itemsByFolder.get(name)?.map(({ item }) => item) ?? [];
    if (holdsRuns(scanned.item))
      scannedItems.set(name, { ...scanned, item: { ...scanned.item, ...holderTotals(scanned.item, items) } });
  }
}

/** Names of all directories that contain an item. */
const foldersOf = ({ name }: Item) => [...name.matchAll(/\//g)].map(({ index }) => name.slice(0, index));

/** True if an item is inside the directory of another item. */
export const isInside = ({ name }: Pick<Item, 'name'>, holder: Pick<Item, 'name'>): boolean =>
  name.startsWith(`${holder.name}/`);

function holderTotals(holder: Item, items: readonly Item[]): Partial<Item> {
  const total = totalsOf(items);
  const of = Math.max(holder.of, items.length);
  const isRunning = [holder, ...items].some(({ status }) => status === 'running');
  return { ...total, of, status: isRunning ? 'running' : total.done === of ? 'completed' : 'interrupted' };
}

/** The result of `read`; if the file is damaged or was removed, the reason as a string. */
export function unlessDamaged<T>(read: () => T): T | string {
  try {
    return read();
  } catch (error) {
    if (error instanceof UserError) return error.message.split('\n', 1)[0]!;
    // The file was removed during or after the scan.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'was removed';
    throw error;
  }
}

/** Values of an item about which nothing is known. */
export const unsetFields = {
  seed: null,
  calls: null,
  minutes: null,
  tags: [],
  environment: null,
  model: null,
  done: 0,
  of: 0,
  observed: null,
  confirmed: null,
  ci95: null,
  tokens: null,
  cost: null,
  started: null,
};

type RecordedItem = Omit<Item, 'name' | 'within' | 'tags'>;

function runItem({ confirmed, ended, manifest, observed, status, tokens }: RunSummary): RecordedItem {
  const { activeMs, created, environment, iterations, model, play, reason, seed, usage } = manifest;
  return {
    status,
    environment,
    seed,
    observed,
    tokens,
    done: iterations.done,
    of: iterations.of,
    kind: play === undefined ? 'run' : 'play',
    model: play === undefined || play.player === 'model' ? model : play.player,
    confirmed: confirmed?.mean ?? play?.meanReturn ?? null,
    ci95: confirmed?.ci95 ?? play?.ci95 ?? null,
    ...(status === 'failed' && reason?.kind === 'no-proposals' && { failure: ended }),
    calls: usage.calls,
    cost: usage.cost ?? null,
    minutes: activeMs / 60_000,
    started: created,
  };
}

function trainingItem(training: RecordedTraining): RecordedItem {
  const { best, model, on, seconds, started, status, steps, tokens, unit } = training;
  return {
    ...unsetFields,
    kind: 'training',
    status,
    started,
    tokens,
    ...steps,
    unit,
    environment: on === null ? null : basename(on),
    model: model === null ? null : basename(model),
    minutes: seconds / 60,
    observed: best?.kind === 'return' ? best.value : null,
    ...(best && { final: { value: measurementText(best), of: `${best.name} at ${unit} ${best.step}` } }),
  };
}

/** The totals of a directory of runs; if its environments or models differ, their number, such as `2 models`. */
export function totalsOf(items: readonly Item[]) {
  const valueOrCount = (get: (item: Item) => string | null, plural: string) => {
    const values = new Set(items.map(get));
    return values.size > 1 ? `${values.size} ${plural}` : ([...values][0] ?? null);
  };
  const total = (of: (item: Item) => number | null) => items.reduce((sum, item) => sum + (of(item) ?? 0), 0);
  return {
    done: items.filter(({ status }) => status === 'completed').length,
    of: items.length,
    tokens: total(({ tokens }) => tokens),
    cost: items.some(({ cost }) => cost !== null) ? total(({ cost }) => cost) : null,
    environment: valueOrCount(({ environment }) => environment, 'environments'),
    model: valueOrCount(({ model }) => model, 'models'),
    started: items.map(({ started }) => started ?? '').toSorted()[0] || null,
  };
}
