/**
 * A rate of requests that processes of several machines keep together, by a record of grants on their file system. Times are
 * those of its clock; a process knows them by when it wrote there last, and its own clock only tells how long that is ago.
 */
import { join } from 'node:path';
import process from 'node:process';
import { abortable } from '../../base/abortable.js';
import { createGenerator } from '../../random/generator.js';
import { makeDirectory } from '../../storage/files.js';
import { tryLease } from '../../storage/lease.js';
import { readSharedRecord, replaceSharedRecord } from '../../storage/shared-record.js';
import type { Turn } from '../language-model.js';
import { never, type RateClock, toldMs } from './rate.js';
import { cellMs, type Granted, giveBack, grant } from './rate-cells.js';

export interface SharedRateSettings {
  /** Its own. */
  readonly directory: string;
  readonly perMinute: number;
  readonly clock: RateClock;
  /** See `tryLease`. */
  readonly lease?: typeof tryLease;
}

/** No request is sent so shortly after the beginning and before the end of its cell: clocks drift, and sending takes time. */
const margin = { beginMs: 100, endMs: 500 } as const;

/** The first and the longest pause before the lease is tried again. */
const pauses = { firstMs: 10, longestMs: 100 } as const;

/** Requests of so long ago tell how many are expected. */
const expectedMs = 2 * cellMs;

/** Only a task that asks often soon uses what it is granted ahead: what it does not use is lost to all. */
const sentForOneAhead = 4;

export class SharedRate {
  static #looks = 0;
  readonly #settings: SharedRateSettings;
  readonly #lease: typeof tryLease;
  /** Cells of grants that no request has taken, in their order. */
  #held: number[] = [];
  #waiting = 0;
  #look: Promise<void> | undefined;
  /** Times of own requests. */
  #sent: number[] = [];
  /** When the time of the file system was read: at `fileMs`, between the two. */
  #read = { fileMs: 0, beforeMs: 0, afterMs: 0 };

  constructor(settings: SharedRateSettings) {
    this.#settings = settings;
    this.#lease = settings.lease ?? tryLease;
    makeDirectory(settings.directory);
  }

  async turn({ onWait, signal }: Turn): Promise<void> {
    let isTold = false;
    const tell = (leftMs: number) => {
      if (!isTold && leftMs >= toldMs) onWait?.(leftMs);
      isTold ||= leftMs >= toldMs;
    };
    for (;;) {
      const cell = await this.#next(signal);
      try {
        await this.#begin(cell, signal, tell);
      } catch (error) {
        this.#keep([cell]);
        throw error;
      }
      // A process that was busy meanwhile may have missed it.
      if (!this.#isAhead(cell)) continue;
      this.#sent.push(this.#settings.clock.now());
      return;
    }
  }

  /** Waits until a cell has begun; a timer may come early. */
  async #begin(cell: number, signal: AbortSignal | undefined, tell: (leftMs: number) => void): Promise<void> {
    for (;;) {
      const leftMs = cell * cellMs + margin.beginMs - this.#earliest();
      if (leftMs <= 0) return;
      tell(leftMs);
      await this.#settings.clock.wait(Math.ceil(leftMs), signal ?? never);
    }
  }

  /** Gives back what was granted for later: others take it. */
  close(): void {
    const later = this.#held.filter((cell) => cell * cellMs > this.#latest());
    this.#held = [];
    if (later.length === 0) return;
    // Where others hold the lease, the grants expire by themselves.
    this.#lease(this.#leasePath, () => {
      const { directory } = this.#settings;
      const { content, version } = readSharedRecord(directory);
      replaceSharedRecord(directory, version, giveBack((content ?? {}) as Granted, later));
    });
  }

  get #leasePath(): string {
    return join(this.#settings.directory, 'lease');
  }

  /** The next cell in which a request may be sent. */
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

  /** Asks for all requests that wait, as soon as nobody else does. */
  async #lookForAll(): Promise<void> {
    const { clock } = this.#settings;
    let pauseMs: number = pauses.firstMs;
    // Not all come back at once.
    const random = createGenerator(process.pid, [SharedRate.#looks++]);
    while (this.#waiting > 0) {
      const beforeMs = clock.now();
      if (this.#lease(this.#leasePath, (fileMs) => this.#ask(fileMs, beforeMs))?.result) return;
      await clock.wait(pauseMs * random.uniform(0.5, 1.5), never);
      pauseMs = Math.min(2 * pauseMs, pauses.longestMs);
    }
  }

  /** @returns whether it was granted; another may have taken the lease over */
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

  /** The time of the file system is this at least. */
  #earliest(): number {
    return this.#read.fileMs + this.#settings.clock.now() - this.#read.afterMs;
  }

  /** It is this at most; some file systems count seconds. */
  #latest(): number {
    const { beforeMs, fileMs } = this.#read;
    return fileMs + this.#settings.clock.now() - beforeMs + (fileMs % 1000 === 0 ? 1000 : 0);
  }

  /** Whether a request may still be sent in that cell. */
  #isAhead(cell: number): boolean {
    return this.#latest() <= (cell + 1) * cellMs - margin.endMs;
  }
}
