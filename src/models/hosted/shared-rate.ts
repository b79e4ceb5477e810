/**
 * A request rate that processes on several machines share through a record of grants on a common file system. Its times
 * are on the file system's clock; each process only measures how much time has passed since it read that clock.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import process from 'node:process';
import { abortable } from '../../base/abortable.js';
import { createGenerator } from '../../random/generator.js';
import { makeDirectory } from '../../storage/files.js';
import { tryLease } from '../../storage/lease.js';
import { readSharedRecord, replaceSharedRecord } from '../../storage/shared-record.js';
import type { RequestRate, Turn } from '../language-model.js';
import { MinuteWindow, never, type RateClock, reportedWaitMs } from './rate.js';
import { waitOnClock } from './retry.js';

export interface SharedRateSettings {
  readonly directory: string;
  readonly perMinute: number;
  readonly clock: RateClock;
  readonly lease?: typeof tryLease;
}

/** No request is sent this close to the start or end of its cell, because clocks drift and sending takes time. */
const margin = { beginMs: 100, endMs: 500 } as const;

/** The first and the longest pause between attempts to take the lease. */
const pauses = { firstMs: 10, longestMs: 100 } as const;

/** Length of a cell. Longer cells waste more of the limit; shorter ones leave less time to send granted requests. */
const cellMs = 4000;

/** The number of requests sent within this time predicts how many will follow. */
const expectedMs = 2 * cellMs;

/** Number of recent requests per grant in advance; infrequent senders get none, because unused grants are lost. */
const sentForOneAhead = 4;

export class SharedRate {
  static #looks = 0;
  readonly #settings: SharedRateSettings;
  readonly #lease: typeof tryLease;
  /** Cells of the unused grants, in order. */
  #held: number[] = [];
  #waiting = 0;
  #look: Promise<void> | undefined;
  #sent: number[] = [];
  /** `fileMs` is the file system's time, read between the local times `beforeMs` and `afterMs`. */
  #read = { fileMs: 0, beforeMs: 0, afterMs: 0 };

  constructor(settings: SharedRateSettings) {
    this.#settings = settings;
    this.#lease = settings.lease ?? tryLease;
    makeDirectory(settings.directory);
  }

  async turn({ onWait, signal }: Turn): Promise<void> {
    let isReported = false;
    const tell = (leftMs: number) => {
      if (!isReported && leftMs >= reportedWaitMs) onWait?.(leftMs);
      isReported ||= leftMs >= reportedWaitMs;
    };
    for (;;) {
      const cell = await this.#next(signal);
      try {
        await this.#begin(cell, signal, tell);
      } catch (error) {
        this.#keep([cell]);
        throw error;
      }
      // A process that was busy may have missed the cell.
      if (!this.#isAhead(cell)) continue;
      this.#sent.push(this.#settings.clock.now());
      return;
    }
  }

  /** Waits until a cell has begun, even if timers fire early. */
  async #begin(cell: number, signal: AbortSignal | undefined, tell: (leftMs: number) => void): Promise<void> {
    for (;;) {
      const leftMs = cell * cellMs + margin.beginMs - this.#earliest();
      if (leftMs <= 0) return;
      tell(leftMs);
      await this.#settings.clock.wait(Math.ceil(leftMs), signal ?? never);
    }
  }

  /** Gives up unused grants for later cells, so that other processes can use them. */
  close(): void {
    const later = this.#held.filter((cell) => cell * cellMs > this.#latest());
    this.#held = [];
    if (later.length === 0) return;
    // If another process holds the lease, the grants simply expire.
    this.#lease(this.#leasePath, () => {
      const { directory } = this.#settings;
      const { content, version } = readSharedRecord(directory);
      replaceSharedRecord(directory, version, giveBack((content ?? {}) as Granted, later));
    });
  }

  get #leasePath(): string {
    return join(this.#settings.directory, 'lease');
  }

  /** The next cell in which this process may send a request. */
  async #next(signal: AbortSignal | undefined): Promise<number> {
    this.#waiting++;
    try {
      for (;;) {
        signal?.throwIfAborted();
        const cell = this.#held.shift();
        if (cell !== undefined && this.#isAhead(cell)) return cell;
        if (cell !== undefined) continue;
        this.#look ??= this.#lookForAll().finally(() => {
          this.#look = undefined;
        });
        await abortable(this.#look, signal);
      }
    } finally {
      this.#waiting--;
    }
  }

  /** Asks for grants for all waiting requests, as soon as the lease is free. */
  async #lookForAll(): Promise<void> {
    const { clock } = this.#settings;
    let pauseMs: number = pauses.firstMs;
    // Processes must not all retry at the same time.
    const random = createGenerator(process.pid, [SharedRate.#looks++]);
    while (this.#waiting > 0) {
      const beforeMs = clock.now();
      if (this.#lease(this.#leasePath, (fileMs) => this.#ask(fileMs, beforeMs))?.result) return;
      await clock.wait(pauseMs * random.uniform(0.5, 1.5), never);
      pauseMs = Math.min(2 * pauseMs, pauses.longestMs);
    }
  }

  /** @returns true if grants were recorded; false if another process has taken over the lease */
  #ask(fileMs: number, beforeMs: number): boolean {
    const { clock, directory, perMinute } = this.#settings;
    this.#read = { fileMs, beforeMs, afterMs: clock.now() };
    this.#sent = this.#sent.filter((time) => time > clock.now() - expectedMs);
    const { content, version } = readSharedRecord(directory);
    const latest = this.#latest();
    const present = Math.floor(fileMs / cellMs);
    const first = latest <= (present + 1) * cellMs - margin.endMs ? present : present + 1;
    const wanted = {
      perMinute,
      first,
      now: this.#waiting,
      ahead: Math.floor(this.#sent.length / sentForOneAhead),
    };
    const { cells, granted } = grant((content ?? {}) as Granted, wanted);
    if (!replaceSharedRecord(directory, version, granted)) return false;
    this.#keep(cells);
    return true;
  }

  #keep(cells: readonly number[]): void {
    this.#held = [...this.#held, ...cells].toSorted((a, b) => a - b);
  }

  /** Lower bound of the file system's current time. */
  #earliest(): number {
    return this.#read.fileMs + this.#settings.clock.now() - this.#read.afterMs;
  }

  /** Upper bound of the file system's current time; some file systems count in whole seconds. */
  #latest(): number {
    const { beforeMs, fileMs } = this.#read;
    return fileMs + this.#settings.clock.now() - beforeMs + (fileMs % 1000 === 0 ? 1000 : 0);
  }

  /** Whether there is still time to send a request in this cell. */
  #isAhead(cell: number): boolean {
    return this.#latest() <= (cell + 1) * cellMs - margin.endMs;
  }
}

/** Time is divided into cells. Each has room for a few requests, chosen so that no minute exceeds the limit. */

const minuteMs = 60_000;

/** Maximum number of cells that overlap a minute. */
const cellsOfWindow = minuteMs / cellMs + 1;

/** Number of requests granted per cell, for the current and later cells; cells are numbered since 1970. */
export type Granted = Readonly<Record<string, number>>;

/** Maximum number of requests in a cell. Any 16 consecutive cells have room for exactly the limit. */
export const roomOf = (cell: number, perMinute: number): number =>
  Math.floor(((cell + 1) * perMinute) / cellsOfWindow) - Math.floor((cell * perMinute) / cellsOfWindow);

export interface Wanted {
  readonly perMinute: number;
  /** The first cell in which a request can be sent. */
  readonly first: number;
  readonly now: number;
  readonly ahead: number;
}

/** Grants waiting requests the earliest free places, and expected requests up to half of the first cell. */
export function grant(
  granted: Granted,
  wanted: Wanted,
): { readonly cells: readonly number[]; readonly granted: Granted } {
  const { ahead, first, now, perMinute } = wanted;
  const after = new Map(
    Object.entries(granted)
      .map(([cell, count]) => [Number(cell), count] as const)
      .filter(([cell]) => cell >= first),
  );
  const taken = (cell: number) => after.get(cell) ?? 0;
  const cells: number[] = [];
  const take = (cell: number) => {
    after.set(cell, taken(cell) + 1);
    cells.push(cell);
  };
  for (let cell = first; cells.length < now; cell++)
    while (cells.length < now && taken(cell) < roomOf(cell, perMinute)) take(cell);
  while (cells.length < now + ahead && taken(first) + 1 <= roomOf(first, perMinute) / 2) take(first);
  return { cells: cells.toSorted((a, b) => a - b), granted: Object.fromEntries(after) };
}

/** Removes one grant for each of `cells`. */
export function giveBack(granted: Granted, cells: readonly number[]): Granted {
  const after: Record<string, number> = { ...granted };
  for (const cell of cells) {
    const left = (after[cell] ?? 0) - 1;
    if (left > 0) after[cell] = left;
    else delete after[cell];
  }
  return after;
}

const processClock: RateClock = { now: () => performance.now(), wait: waitOnClock };

/** Enforces `model.requestsPerMinute` per server, account and model, in one process or in all that share a folder. */
export function createRate(
  perMinute: number | undefined,
  server: readonly (string | undefined)[],
  clock: RateClock = processClock,
): RequestRate | undefined {
  if (perMinute === undefined) return undefined;
  const own = new MinuteWindow(perMinute, clock);
  let shared: SharedRate | undefined;
  return {
    turn: (turn) => (shared ?? own).turn(turn),
    share(directory) {
      const name = createHash('sha256').update(JSON.stringify(server)).digest('hex').slice(0, 16);
      shared = new SharedRate({ directory: join(directory, `rate-${name}`), perMinute, clock });
    },
    close: () => shared?.close(),
  };
}
