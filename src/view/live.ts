/** Sends changes of items to the open pages, as server-sent events. */
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import type { Item } from '../runs/listing/item.js';
import { logsIn, runFiles } from '../runs/reader.js';
import { trainingFiles } from '../runs/training-files.js';
import { resultFiles } from '../studies/plan.js';
import { type Items, type Place, versionOf } from './items.js';
import { withSettings } from './run-data.js';

/** Milliseconds between reads of watched files; directories are scanned less often. */
const lookEvery = 250;
const leastBetweenScans = 1000;

/** Maximum share of time to spend on scans. */
const scanShare = 0.1;

/** Maximum number of unsent bytes. If there are more, the connection is closed, and the page reconnects. */
const mostWaiting = 8 * 2 ** 20;

/** Milliseconds between keep-alive messages. */
const silence = 15_000;

export const mostWatchers = 64;

/** Maximum number of items that a page can watch, and of config keys whose values it can request. */
export const mostWatched = 16;
export const mostKeys = 50;

interface Watcher {
  readonly response: ServerResponse;
  readonly names: ReadonlySet<string>;
  /** True if the page receives all items, not just those it watches. */
  readonly all: boolean;
  /** Config keys whose values the page shows. */
  readonly keys: readonly string[];
}

interface Watched {
  readonly path: string;
  readonly files: readonly string[];
  /** Changes when a file changes. */
  version: string;
}

/** The files that the page of an item shows. */
function filesOf({ item: { kind }, path }: Place): readonly string[] {
  const { calls, episodes, evaluations, events } = logsIn(path);
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

/** Watches files only while pages are connected. */
export class Live {
  readonly #items: Items;
  readonly #watchers = new Set<Watcher>();
  readonly #watched = new Map<string, Watched>();
  readonly #milliseconds: () => number;
  #timer: NodeJS.Timeout | undefined;
  #nextScan = 0;
  #lastSign = 0;

  constructor(items: Items, milliseconds: () => number) {
    this.#items = items;
    this.#milliseconds = milliseconds;
  }

  get watchers(): number {
    return this.#watchers.size;
  }

  /** Finds an item by name; scans again if the name is unknown. */
  find(name: string): Place | undefined {
    const known = this.#items.find(name);
    if (known === undefined) this.#scan();
    return known ?? this.#items.find(name);
  }

  /** All items, from a recent scan. */
  places(): readonly Place[] {
    if (this.#milliseconds() >= this.#nextScan) this.#scan();
    return this.#items.all();
  }

  /** Scans immediately, so that pages show a change that was just made. */
  refresh(): void {
    this.#scan();
  }

  watch(
    response: ServerResponse,
    { names, ...shown }: Pick<Watcher, 'all' | 'keys'> & { readonly names: readonly string[] },
  ): void {
    const watcher = { response, names: new Set(names), ...shown };
    response.writeHead(200, { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' });
    response.write('retry: 1000\n\n');
    for (const name of watcher.names) {
      this.find(name);
      this.#open(name);
    }
    this.#watchers.add(watcher);
    response.on('close', () => this.#leave(watcher));
    this.#sendItems(
      watcher,
      this.places().map(({ item }) => item),
      [],
      true,
    );
    this.#timer ??= setInterval(() => this.#look(), lookEvery).unref();
  }

  close(): void {
    clearInterval(this.#timer);
    for (const { response } of this.#watchers) response.end();
  }

  #leave(watcher: Watcher): void {
    this.#watchers.delete(watcher);
    for (const name of this.#watched.keys()) {
      if (![...this.#watchers].some(({ names }) => names.has(name))) this.#watched.delete(name);
    }
    if (this.#watchers.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Starts to watch an item. If it has moved, its files have too. */
  #open(name: string): void {
    const place = this.#items.find(name);
    if (place === undefined || this.#watched.get(name)?.path === place.path) return;
    const files = filesOf(place);
    this.#watched.set(name, { path: place.path, files, version: versionOf(files) });
  }

  #look(): void {
    for (const [name, watched] of this.#watched) {
      const version = versionOf(watched.files);
      if (version !== watched.version) this.#sendStale(name);
      watched.version = version;
    }
    const now = this.#milliseconds();
    if (now >= this.#nextScan) this.#scan();
    if (now - this.#lastSign < silence) return;
    this.#lastSign = now;
    for (const { response } of this.#watchers) response.write(': \n\n');
  }

  #sendStale(name: string): void {
    for (const watcher of this.#watchers) if (watcher.names.has(name)) send(watcher, 'stale', { of: name });
  }

  /** Names of watched items that have just appeared or moved. */
  #awaited(): readonly string[] {
    const names = new Set([...this.#watchers].flatMap((watcher) => [...watcher.names]));
    return [...names].filter((name) => {
      const place = this.#items.find(name);
      return place !== undefined && place.path !== this.#watched.get(name)?.path;
    });
  }

  #scan(): void {
    const began = this.#milliseconds();
    const { changed, removed } = this.#items.look();
    const took = this.#milliseconds() - began;
    this.#nextScan = began + Math.max(leastBetweenScans, took / scanShare);
    for (const name of this.#awaited()) {
      this.#open(name);
      this.#sendStale(name);
    }
    if (changed.length + removed.length === 0) return;
    for (const watcher of this.#watchers) this.#sendItems(watcher, changed, removed);
  }

  #sendItems(watcher: Watcher, items: readonly Item[], removed: readonly string[], whole = false): void {
    const { all, keys, names } = watcher;
    const concerned = all ? items : items.filter(({ name }) => names.has(name));
    if (!whole && concerned.length + removed.length === 0) return;
    const changed =
      keys.length === 0
        ? concerned
        : concerned.map((item) => withSettings(this.#items.find(item.name), item, keys));
    send(watcher, 'items', { whole, changed, removed });
  }
}

function send({ response }: Watcher, event: string, data: object): void {
  if (response.destroyed) return;
  if (response.writableLength > mostWaiting) response.destroy();
  else response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
}
