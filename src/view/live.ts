/** Sends changes of items to the open pages, as server-sent events. */
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Item } from '../runs/listing/item.js';
import { newestRun } from '../runs/listing/names.js';
import { type LocatedItem, type ScanRoot, scanItems, versionOf } from '../runs/listing/scan.js';
import { logFilesIn, runFiles } from '../runs/reader.js';
import { trainingFiles } from '../runs/training-files.js';
import { resultFiles } from '../studies/plan.js';
import { HttpError } from './http.js';
import { withSettings } from './run-data.js';

/** Milliseconds between checks of watched files for changes; directories are scanned less often. */
const pollMs = 250;
const minScanPauseMs = 1000;

/** Maximum share of time to spend on scans. */
const scanShare = 0.1;

/** Maximum number of unsent bytes. If there are more, the connection is closed, and the page reconnects. */
const maxWaitingBytes = 8 * 2 ** 20;

/** Milliseconds between keep-alive messages. */
const keepAliveMs = 15_000;

export const maxWatchers = 64;

/** Maximum number of config keys whose values a page can request. */
export const maxKeys = 50;

interface Watcher {
  readonly response: ServerResponse;
  /** Name of the item that the page shows; undefined if it shows all. */
  readonly name: string | undefined;
  /** Config keys whose values the page shows. */
  readonly keys: readonly string[];
  /** Changes when one of the files of the shown item changes (`filesOf`). */
  version: string;
}

/** Returns the files whose changes make the page of an item out of date. */
function filesOf({ item: { kind }, path }: LocatedItem): readonly string[] {
  const { calls, episodes, evaluations, events } = logFilesIn(path);
  const manifest = join(path, runFiles.manifest);
  switch (kind) {
    case 'run':
      return [evaluations, events, calls, manifest];
    case 'training':
      return [trainingFiles.about, trainingFiles.metrics, trainingFiles.samples].map((name) =>
        join(path, name),
      );
    case 'play':
      return [manifest, episodes];
    default:
      return [join(path, resultFiles[kind])];
  }
}

/** Keeps a list of all items. While pages are connected, rescans directories and watches the files of shown items. */
export class LiveItems {
  readonly #roots: readonly ScanRoot[];
  readonly #watchers = new Set<Watcher>();
  readonly #milliseconds: () => number;
  #scanned: ReturnType<typeof scanItems> = new Map();
  #timer: NodeJS.Timeout | undefined;
  #nextScan = 0;
  #lastKeepAlive = 0;

  constructor(roots: readonly ScanRoot[], clock: () => number) {
    this.#roots = roots;
    this.#milliseconds = clock;
  }

  get watchers(): number {
    return this.#watchers.size;
  }

  /**
   * Finds an item by name, or the newest run (`latest`); scans again if the name is unknown. Never uses names as paths.
   * @throws HttpError if it is unknown or can't be read
   */
  locate(name: string): LocatedItem {
    const place = this.#find(name);
    if (place === undefined) throw new HttpError(404, `run ${name} not found`);
    if (place.item.fault !== undefined) throw new HttpError(422, place.item.fault);
    return place;
  }

  #find(name: string): LocatedItem | undefined {
    if (!this.#scanned.has(name)) this.refresh();
    return this.#scanned.get(name) ?? (name === 'latest' ? newestRun(this.#scanned.values())[0] : undefined);
  }

  /** Returns all items, from a recent scan. */
  locatedItems(): readonly LocatedItem[] {
    if (this.#milliseconds() >= this.#nextScan) this.refresh();
    return [...this.#scanned.values()];
  }

  watch(response: ServerResponse, of: string | undefined, keys: readonly string[]): void {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' });
    response.write('retry: 1000\n\n');
    const name = of && (this.#find(of)?.item.name ?? of);
    const items = this.locatedItems().map(({ item }) => item);
    const watcher = { response, name, keys, version: this.#versionOf(name) };
    this.#sendItems(watcher, items, [], true);
    this.#watchers.add(watcher);
    response.on('close', () => this.#removeWatcher(watcher));
    this.#timer ??= setInterval(() => this.#checkForChanges(), pollMs).unref();
  }

  close(): void {
    clearInterval(this.#timer);
    for (const { response } of this.#watchers) response.end();
  }

  #removeWatcher(watcher: Watcher): void {
    this.#watchers.delete(watcher);
    if (this.#watchers.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #versionOf(name = ''): string {
    const place = this.#scanned.get(name);
    return place === undefined ? '' : `${place.path} ${versionOf(filesOf(place))}`;
  }

  #checkForChanges(): void {
    const now = this.#milliseconds();
    if (now >= this.#nextScan) this.refresh();
    for (const watcher of this.#watchers) {
      const version = this.#versionOf(watcher.name);
      if (version !== watcher.version) send(watcher, 'stale', { of: watcher.name });
      watcher.version = version;
    }
    if (now - this.#lastKeepAlive < keepAliveMs) return;
    this.#lastKeepAlive = now;
    for (const { response } of this.#watchers) response.write(': \n\n');
  }

  /** Scans the directories and sends what has changed. */
  refresh(): void {
    const previous = this.#scanned;
    const startMs = this.#milliseconds();
    this.#scanned = scanItems(this.#roots, previous);
    const scanMs = this.#milliseconds() - startMs;
    this.#nextScan = startMs + Math.max(minScanPauseMs, scanMs / scanShare);
    const changed = [...this.#scanned].flatMap(([name, { item }]) =>
      isDeepStrictEqual(item, previous.get(name)?.item) ? [] : [item],
    );
    const removed = [...previous.keys()].filter((name) => !this.#scanned.has(name));
    for (const watcher of this.#watchers) this.#sendItems(watcher, changed, removed);
  }

  #sendItems(watcher: Watcher, items: readonly Item[], removed: readonly string[], whole = false): void {
    const { keys, name } = watcher;
    const changed = items
      .filter((item) => name === undefined || item.name === name)
      .map((item) => withSettings(this.#scanned.get(item.name), item, keys));
    if (whole || changed.length + removed.length > 0) send(watcher, 'items', { whole, changed, removed });
  }
}

function send({ response }: Watcher, event: string, data: object): void {
  if (response.destroyed) return;
  if (response.writableLength > maxWaitingBytes) response.destroy();
  else response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
}
