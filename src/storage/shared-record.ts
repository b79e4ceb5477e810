/**
 * A record that processes of several machines replace one after the other. Each version is a file of its own, which only one
 * of them can make: whoever was halted in between, and comes late, replaces nothing.
 */
import { linkSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { threadId } from 'node:worker_threads';

export interface SharedRecord {
  /** The next record has one more; 0 before the first. */
  readonly version: number;
  /** Undefined where there is none, or a crash of the machine has left none that is whole. */
  readonly content: unknown;
}

/** Older versions stay for those who read meanwhile. */
const keptVersions = 3;

/** The newest version in a directory; versions that a crash has torn are passed over. */
export function readSharedRecord(directory: string): SharedRecord {
  const versions = versionsIn(directory);
  const version = versions.at(-1) ?? 0;
  for (const one of versions.toReversed()) {
    const content = contentOf(join(directory, `${one}.json`));
    if (content !== undefined) return { version, content };
  }
  return { version, content: undefined };
}

/** @returns false where another has replaced that version already; then nothing was written */
export function replaceSharedRecord(directory: string, version: number, content: unknown): boolean {
  const next = version + 1;
  const draft = join(directory, `${hostname()}-${process.pid}-${threadId}.draft`);
  writeFileSync(draft, JSON.stringify(content));
  try {
    linkSync(draft, join(directory, `${next}.json`));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
  const versions = versionsIn(directory);
  // One that is so late that the others are no longer there has made an old version, which nobody reads.
  for (const old of versions)
    if (old <= versions.at(-1)! - keptVersions) rmSync(join(directory, `${old}.json`), { force: true });
  return versions.at(-1) === next;
}

const versionsIn = (directory: string): readonly number[] =>
  readdirSync(directory)
    .flatMap((name) => /^(\d+)\.json$/.exec(name)?.slice(1).map(Number) ?? [])
    .toSorted((a, b) => a - b);

function contentOf(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
