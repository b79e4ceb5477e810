/**
 * Reports of processes that played parts of a plan. Runs that they could not finish are reported to the user
 * instead of being submitted again at once.
 */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { LimitName } from '../../runs/calls.js';
import { makeDirectory, readOwnJson, replaceFile } from '../../storage/files.js';

const endShape = z.object({
  failures: z.array(z.object({ run: z.string(), message: z.string() })),
  limit: z.custom<LimitName>((value) => typeof value === 'string' && value.startsWith('total.')).optional(),
});

/** The report of others that played a plan. */
export interface PlanEnd {
  /** Runs that can't be finished, at least for now. */
  readonly failures: readonly { readonly run: string; readonly message: string }[];
  /** The plan-wide limit that was reached. */
  readonly limit?: LimitName | undefined;
}

const folderOf = (directory: string) => join(directory, 'parts');

/** Writes the report of a part that ended on its own; earlier reports on its other runs are kept. */
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

/** Takes the reports of all parts. They are deleted, so that the next command tries again. */
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

/** An unreadable report counts as empty, so its runs are submitted again. */
const readEnd = (file: string): PlanEnd => endShape.safeParse(readOwnJson(file)).data ?? { failures: [] };
