/** A part of a plan, executed by its own process, perhaps on another machine. */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { UserError } from '../base/errors.js';
import { makeDirectory, readOwnJson, replaceFile } from '../base/files/files.js';
import type { LimitsConfig } from '../config/limits.js';
import type { LimitName } from '../runs/calls.js';

/** Every `of`-th run of a plan, starting with run `index` (0-based). */
export interface Part {
  readonly index: number;
  readonly of: number;
}

/** Filters the runs of a part by their index. */
export const isInPart = (part: Part | undefined) => (_: unknown, number: number) =>
  part === undefined || number % part.of === part.index;

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

/**
 * A part's share of the limits; calls, tokens and evaluations are rounded down.
 * @throws UserError if a part could make no call, use no token or evaluate nothing
 */
export function shareOf(limits: LimitsConfig, { of }: Pick<Part, 'of'>): LimitsConfig {
  const whole = (key: 'calls' | 'evaluations' | 'tokens') => {
    const limit = limits[key];
    if (limit === undefined || limit >= of) return limit && Math.floor(limit / of);
    throw new UserError({
      field: `sweep.limits.${key}`,
      value: limit,
      message: `is divided between ${of} tasks, which leaves nothing for each`,
      hint: `raise it to ${of} or more, or use fewer tasks`,
    });
  };
  return {
    ...limits,
    calls: whole('calls'),
    tokens: whole('tokens'),
    evaluations: whole('evaluations'),
    cost: limits.cost && limits.cost / of,
    minutes: limits.minutes && limits.minutes / of,
  };
}

const endShape = z.object({
  failures: z.array(z.object({ run: z.string(), message: z.string() })),
  limit: z
    .custom<LimitName>((value) => typeof value === 'string' && value.startsWith('sweep.limits.'))
    .optional(),
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
