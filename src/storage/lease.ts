/** Work that one process at a time does, on whichever machine of a shared file system. */
import { linkSync, readFileSync, renameSync, rmSync, type Stats, statSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { threadId } from 'node:worker_threads';
import { UserError } from '../base/errors.js';

/** A holder does work of milliseconds: one that has held a lease for longer is gone. */
const leaseMs = 20_000;

/** Waiting is given up after this, in tries of `waitMs`. */
const mostTries = 20_000;
const waitMs = 7;

const asleep = new Int32Array(new SharedArrayBuffer(4));

/**
 * Does the work while no other process does any under the same path. A lease whose holder died, with its machine or
 * without, is taken over after 20 s by the clock of the file system; so the work must write nothing that only the lease
 * protects from a holder that was merely halted: each holder writes files of its own.
 * @throws UserError where others hold it for minutes
 */
export function underLease<T>(path: string, work: () => T): T {
  const own = `${hostname()} ${process.pid} ${threadId}`;
  const draft = `${path}.${own.replaceAll(/[^\w.-]/g, '-')}`;
  take(path, draft, own);
  try {
    return work();
  } finally {
    if (read(path) === own) rmSync(path, { force: true });
  }
}

function take(path: string, draft: string, own: string): void {
  try {
    for (let tries = 0; tries < mostTries; tries++) {
      // Written anew, it has the time of the file system: clocks of machines differ.
      writeFileSync(draft, own);
      try {
        linkSync(draft, path);
        return;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      }
      const held = statSync(path, { throwIfNoEntry: false });
      if (held === undefined) continue;
      if (statSync(draft).mtimeMs - held.mtimeMs > leaseMs) removeStale(path, `${draft}.stale`, held);
      else Atomics.wait(asleep, 0, 0, waitMs + ((process.pid + tries) % waitMs));
    }
  } finally {
    rmSync(draft, { force: true });
  }
  throw new UserError({
    file: path,
    message: `is held for minutes by others (now ${read(path) ?? 'nobody'})`,
    remedy: 'where nothing is played any more, delete it',
  });
}

/** Removes exactly the lease that was looked at: of several that find it stale, the slower must not remove a new one. */
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
