/**
 * A record that processes on several machines replace in turn. Each version is a new file, which only one
 * process can create, so a process that resumes late after being suspended can't replace anything.
 */
import { linkSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { threadId } from 'node:worker_threads';

export interface SharedRecord {
  /** Increases by one with each replacement; 0 if there is no version yet. */
  readonly version: number;
  /** Undefined if no version is intact. */
  readonly content: unknown;
}

/** Number of versions to keep for processes that are still reading one. */
const keptVersions = 3;

/** The number of the newest version in the directory, and the content of the newest intact one. */
export function readSharedRecord(directory: string): SharedRecord {
  const versions = versionsIn(directory);
  const version = versions.at(-1) ?? 0;
  for (const one of versions.toReversed()) {
    const content = contentOf(join(directory, `${one}.json`));
    if (content !== undefined) return { version, content };
  }
  return { version, content: undefined };
}

/** @returns false if another process has already replaced this version */
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
  // A very late process may create an old version, but nobody reads it.
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
