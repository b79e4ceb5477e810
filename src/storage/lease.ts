/** Exclusive work between processes, also on different machines of a shared file system. */
import { linkSync, readFileSync, renameSync, rmSync, type Stats, statSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { threadId } from 'node:worker_threads';
import { UserError } from '../base/errors.js';

/** Work takes milliseconds, so a process that has held a lease for longer is gone. */
const leaseMs = 20_000;

/** Number of tries, each after `waitMs`. */
const mostTries = 20_000;
const waitMs = 7;

/**
 * Does the work while no other process does any under the same path; other work of this one goes on until
 * then. A lease whose holder died, with its machine or without, is taken over after 20 s by the clock of the
 * file system; so the work must write nothing that only the lease protects from a holder that was merely
 * halted: each holder writes files of its own, or a record that a late one can't replace.
 * @throws UserError where others hold it for minutes
 */
export async function underLease<T>(path: string, work: () => T): Promise<T> {
  for (let tries = 0; tries < mostTries; tries++) {
    const done = tryLease(path, work);
    if (done !== undefined) return done.result;
    await delay(waitMs + ((process.pid + tries) % waitMs));
  }
  throw new UserError({
    file: path,
    message: `is held for minutes by others (now ${read(path) ?? 'nobody'})`,
    remedy: 'where nothing is played any more, delete it',
  });
}

/**
 * The same, where nobody holds the lease now.
 * @param work is told the time in milliseconds since 1970, by the clock of the file system: clocks of
 * machines differ
 * @returns undefined where another holds it
 */
export function tryLease<T>(path: string, work: (fileMs: number) => T): { readonly result: T } | undefined {
  const own = `${hostname()} ${process.pid} ${threadId}`;
  const draft = `${path}.${own.replaceAll(/[^\w.-]/g, '-')}`;
  const fileMs = take(path, draft, own);
  if (fileMs === undefined) return undefined;
  try {
    return { result: work(fileMs) };
  } finally {
    if (read(path) === own) rmSync(path, { force: true });
  }
}

/** @returns the time of the file system, or undefined if another process holds the lease */
function take(path: string, draft: string, own: string): number | undefined {
  try {
    for (;;) {
      // Rewriting sets the time by the file system's clock.
      writeFileSync(draft, own);
      const { mtimeMs } = statSync(draft);
      try {
        linkSync(draft, path);
        return mtimeMs;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      }
      const held = statSync(path, { throwIfNoEntry: false });
      if (held === undefined) continue;
      if (mtimeMs - held.mtimeMs <= leaseMs) return undefined;
      removeStale(path, `${draft}.stale`, held);
    }
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Removes exactly the stale lease that was read: a slower process must not remove a new one. */
function removeStale(path: string, aside: string, stale: Stats): void {
  try {
    renameSync(path, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  try {
    if (statSync(aside).ino !== stale.ino) linkSync(aside, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(aside, { force: true });
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
