import { closeSync, openSync, readFileSync, unlinkSync, writeSync } from 'node:fs';
import { hostname } from 'node:os';
import { UserError } from './errors.js';

/** Locks that this very process holds: a stale file may carry our own, reused process id. */
const held = new Set<string>();

/**
 * Makes this process the one writer of a run, or of whatever else the lock stands for. A lock whose process is gone (a crash) is taken over.
 * Returns what releases it.
 * @throws UserError while another process holds it.
 */
export function lockRun(path: string): () => void {
  const own = `${process.pid} ${hostname()}\n`;
  for (let tries = 0; ; tries++) {
    try {
      const descriptor = openSync(path, 'wx');
      try {
        writeSync(descriptor, own);
      } catch (error) {
        unlinkSync(path);
        throw error;
      } finally {
        closeSync(descriptor);
      }
      held.add(path);
      return () => {
        held.delete(path);
        if (readLock(path) === own) unlinkSync(path);
      };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || tries >= 5) throw error;
    }
    const holder = readLock(path);
    if (holder !== undefined && isHeld(path, holder)) {
      const [pid, host] = holder.trim().split(' ');
      throw new UserError({
        file: path,
        message: `another process is writing here (process ${pid} on ${host})`,
        remedy: `wait for it or stop it; if it is surely gone, delete ${path}`,
      });
    }
    if (holder !== undefined) unlinkSync(path);
  }
}

/** Whether the lock file at `path` belongs to a live process. */
export function isLocked(path: string): boolean {
  const holder = readLock(path);
  return holder !== undefined && isHeld(path, holder);
}

function readLock(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** A process of another host can't be asked: it counts as alive. A lock that names none was cut short by a crash. */
function isHeld(path: string, holder: string): boolean {
  const [pid, host] = holder.trim().split(' ');
  if (host === undefined) return false;
  if (host !== hostname()) return true;
  if (Number(pid) === process.pid) return held.has(path);
  try {
    process.kill(Number(pid), 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
