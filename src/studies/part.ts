/** A part of a plan, executed by its own process, perhaps on another machine. All parts share `limits.total`. */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { UserError } from '../base/errors.js';
import {
  type Amounts,
  type Budget,
  minus,
  nothing,
  plus,
  type SharedBudget,
} from '../experiment/budget/limits.js';
import type { LimitName } from '../runs/calls.js';
import { makeDirectory, readOwnJson, replaceFile } from '../storage/files.js';
import { underLease } from '../storage/lease.js';

/** Every `of`-th run of a plan, starting with run `index` (0-based). */
export interface Part {
  readonly index: number;
  readonly of: number;
}

/** Parses a part such as `0/4`. @throws UserError if it is malformed or out of range */
export function partOf(text: string | undefined): Part | undefined {
  if (text === undefined) return undefined;
  const [, index, of] = /^(\d+)\/(\d+)$/.exec(text)?.map(Number) ?? [];
  if (index !== undefined && of !== undefined && index < of && of <= mostParts) return { index, of };
  throw new UserError({
    field: '--part',
    message: `must be INDEX/PARTS with at most ${mostParts} parts, e.g. 0/4 to 3/4 for four processes`,
    value: text,
  });
}

const mostParts = 10_000;

/** Subdirectory of a plan that holds the usage and the rate limits shared by its runs. */
export const limitsFolder = 'limits';

/** A part's usage, which it publishes in a file for the other parts to read. */
export interface PartUse {
  readonly spent: Amounts;
  readonly reserved: Amounts;
  readonly activeMs: number;
}

const fileOf = (directory: string, { index, of }: Part) =>
  join(directory, limitsFolder, `part-${index}-of-${of}.json`);

export function writeUse(directory: string, part: Part, use: PartUse): void {
  makeDirectory(join(directory, limitsFolder));
  replaceFile(fileOf(directory, part), `${JSON.stringify(use)}\n`);
}

/** The budget of all parts, as seen by one of them. */
export class PartBudget {
  readonly #directory: string;
  readonly #part: Part;
  readonly #own: { spent: Amounts; reserved: Amounts };
  readonly #activeMs: () => number;
  #others: PartUse = { spent: nothing, reserved: nothing, activeMs: 0 };

  /** @param spent usage of this part's runs so far; no calls may be in flight */
  constructor(directory: string, part: Part, spent: Amounts, activeMs: () => number) {
    this.#directory = directory;
    this.#part = part;
    this.#own = { spent, reserved: nothing };
    this.#activeMs = activeMs;
    makeDirectory(join(directory, limitsFolder));
    // No budget is reserved here, so this doesn't need the lease.
    this.#look();
    this.publish();
  }

  /** Usage of all parts. Usage of the other parts may be outdated: it is the last value read. */
  readonly all: Budget = this.#budget();

  /** Active milliseconds of the other parts. */
  get otherMs(): number {
    return this.#others.activeMs;
  }

  /** Reads the other parts' usage, runs `work`, and publishes this part's usage, all while holding a lease. */
  exclusively<T>(work: () => T): Promise<T> {
    return underLease(join(this.#directory, limitsFolder, 'lease'), () => {
      this.#look();
      try {
        return work();
      } finally {
        this.publish();
      }
    });
  }

  publish(): void {
    writeUse(this.#directory, this.#part, { ...this.#own, activeMs: this.#activeMs() });
  }

  /** The budget as seen by a run of this part. @param otherMs active milliseconds of this part's other runs */
  of(otherMs: () => number): SharedBudget {
    const budget = this;
    return {
      all: this.all,
      get otherMs() {
        return otherMs() + budget.otherMs;
      },
      exclusively: (work) => budget.exclusively(work),
      publish: () => budget.publish(),
    };
  }

  #look(): void {
    const own = fileOf(this.#directory, this.#part);
    const around = join(this.#directory, limitsFolder);
    const uses = readdirSync(around)
      .filter((name) => name.endsWith(`-of-${this.#part.of}.json`) && join(around, name) !== own)
      .map((name) => readOwnJson(join(around, name)) as PartUse);
    this.#others = {
      spent: uses.map(({ spent }) => spent).reduce(plus, nothing),
      reserved: uses.map(({ reserved }) => reserved).reduce(plus, nothing),
      activeMs: uses.reduce((sum, { activeMs }) => sum + activeMs, 0),
    };
  }

  #budget(): Budget {
    const own = () => this.#own;
    const others = () => this.#others;
    return {
      get spent() {
        return plus(own().spent, others().spent);
      },
      set spent(all) {
        own().spent = minus(all, others().spent);
      },
      get reserved() {
        return plus(own().reserved, others().reserved);
      },
      set reserved(all) {
        own().reserved = minus(all, others().reserved);
      },
    };
  }
}

const endShape = z.object({
  failures: z.array(z.object({ run: z.string(), message: z.string() })),
  limit: z.custom<LimitName>((value) => typeof value === 'string' && value.startsWith('total.')).optional(),
});

/** Outcome of a plan or of one of its parts, as reported by the processes that executed it. */
export interface PlanEnd {
  /** Runs that failed; a later command may retry them. */
  readonly failures: readonly { readonly run: string; readonly message: string }[];
  /** The plan-wide limit that was reached. */
  readonly limit?: LimitName | undefined;
}

const folderOf = (directory: string) => join(directory, 'parts');

/** Writes the report of a part that wasn't interrupted; keeps earlier failures of runs that aren't in `played`. */
export function writePartEnd(
  directory: string,
  { index, of }: { readonly index: number; readonly of: number },
  { failures, limit }: PlanEnd,
  played: ReadonlySet<string>,
): void {
  makeDirectory(folderOf(directory));
  const file = join(folderOf(directory), `${index}-of-${of}.json`);
  const before = readEnd(file).failures.filter(({ run }) => !played.has(run));
  replaceFile(file, `${JSON.stringify({ failures: [...before, ...failures], limit })}\n`);
}

/** Reads and deletes the reports of all parts, so that the next command retries failed runs. */
export function takePartEnds(directory: string): PlanEnd {
  const folder = folderOf(directory);
  const files = existsSync(folder)
    ? readdirSync(folder).filter((name) => /^\d+-of-\d+\.json$/.test(name))
    : [];
  const ends = files.map((name) => readEnd(join(folder, name)));
  for (const name of files) rmSync(join(folder, name));
  return {
    failures: ends.flatMap(({ failures }) => failures),
    limit: ends.find(({ limit }) => limit !== undefined)?.limit,
  };
}

/** Reads a report. An unreadable one counts as empty, so that its runs are submitted again. */
const readEnd = (file: string): PlanEnd => endShape.safeParse(readOwnJson(file)).data ?? { failures: [] };
