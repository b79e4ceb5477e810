/** How processes ended that played parts of a plan: what they could not bring to its end is told, not handed over at once again. */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { LimitName } from '../../runs/calls.js';
import { makeDirectory, readOwnJson, replaceFile } from '../../storage/files.js';

const endShape = z.object({
  failures: z.array(z.object({ run: z.string(), message: z.string() })),
  limit: z.custom<LimitName>((value) => typeof value === 'string' && value.startsWith('total.')).optional(),
});

/** How others ended that played a plan. */
export interface PlanEnd {
  /** Runs that can't be brought to their end, or not now. */
  readonly failures: readonly { readonly run: string; readonly message: string }[];
  /** The limit of all runs that was reached. */
  readonly limit?: LimitName | undefined;
}

const folderOf = (directory: string) => join(directory, 'parts');

/** Says how a part ended by itself; what was said of other runs of it, in earlier rounds, stays. */
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

/** What all parts said. It is told once: whoever asks again wants it tried again. */
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

/** One that can't be read says nothing: its runs are handed over again. */
const readEnd = (file: string): PlanEnd => endShape.safeParse(readOwnJson(file)).data ?? { failures: [] };
