/** Mutual exclusion between processes, also on different machines that share a file system. */
import { linkSync, readFileSync, renameSync, rmSync, type Stats, statSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { threadId } from 'node:worker_threads';
import { UserError } from '../base/errors.js';

/** Work takes only milliseconds, so a process that has held a lease for this long has probably died. */
const leaseMs = 20_000;

/** Maximum number of tries, at least `waitMs` apart. */
const mostTries = 20_000;
const waitMs = 7;

/**
 * Runs `work` while holding the lease at `path`, which only one thread of one process can hold; waits asynchronously.
 * A lease older than 20 s by the file system's clock is taken over, because its holder has probably died. A holder
 * that was only suspended may resume later, so `work` must not rely on the lease alone: it should write its own
 * files, or a record that a late process can't replace.
 * @throws UserError if others hold the lease for minutes
 */
export async function underLease<T>(path: string, work: () => T): Promise<T> {
  for (let tries = 0; tries < mostTries; tries++) {
    const done = tryLease(path, work);
    if (done !== undefined) return done.result;
    await delay(waitMs + ((process.pid + tries) % waitMs));
  }
  throw new UserError({
    file: path,
    message: `other processes have kept this lock file for minutes (last holder: ${read(path) ?? 'unknown'})`,
    remedy: 'if no runs are in progress, delete the file',
  });
}

/**
 * Like `underLease`, but doesn't wait.
 * @param work receives the time in milliseconds since 1970 by the file system's clock, because machines' clocks
 * differ
 * @returns undefined if another process or thread holds the lease
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

/** @returns the file system's time, or undefined if another process or thread holds the lease */
function take(path: string, draft: string, own: string): number | undefined {
  try {
    for (;;) {
      // Writing sets the modification time according to the file system's clock.
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

/** Removes only the stale lease that was read: a slow process must not remove the new lease of another one. */
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
