import { linkSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads';
import { UserError } from '../base/errors.js';
import { withPath } from './json-lines.js';
import { readRegularFile } from './regular-file.js';

/** What gives back the locks that this thread holds. */
const held = new Set<() => void>();

// A process that ends before its work is closed leaves no lock.
process.on('exit', () => {
  for (const release of held) release();
});

/**
 * Makes this process the one writer of a run or another directory. Takes over a lock whose process is gone (a crash).
 * @param keepAtExit whether a process that ends before it releases the lock leaves it, as if it had been killed
 * @returns a function that releases the lock
 * @throws UserError while another process, or another thread or part of this one, holds it
 */
export function lockRun(path: string, { keepAtExit = false } = {}): () => void {
  const own = `${process.pid} ${hostname()} ${ownStart()}`;
  for (let tries = 0; ; tries++) {
    if (createWhole(path, `${own}\n`)) {
      removeDrafts(path);
      const release = () => {
        held.delete(release);
        if (readLock(path)?.split('\n')[0] === own) rmSync(path, { force: true });
      };
      if (!keepAtExit) held.add(release);
      return release;
    }
    const holder = readLock(path);
    if (holder !== undefined && (tries >= 5 || isHeld(holder))) {
      const [pid, host] = holder.trim().split(/\s/);
      throw new UserError({
        file: path,
        message: `another process is writing here (process ${pid} on ${host})`,
        remedy: `wait for it or stop it; if it is surely gone, delete ${path}`,
      });
    }
    if (holder !== undefined) removeStale(path, holder);
  }
}

/** Whether a live process holds the lock at `path`: this one too, whichever of its threads took it. */
export function isLocked(path: string): boolean {
  try {
    const holder = readLock(path);
    return holder !== undefined && isHeld(holder);
  } catch (error) {
    // A link, a pipe or a folder in its place: no process of ours wrote it.
    if (error instanceof UserError) return false;
    throw error;
  }
}

/** Removes a lock that a process of another machine holds: for one who knows that it is gone. */
export function removeForeignLock(path: string): void {
  const holder = readLock(path);
  const host = holder?.trim().split(/\s/)[1];
  if (holder !== undefined && host !== undefined && host !== hostname()) removeStale(path, holder);
}

/**
 * Makes a file with all of its content in one step, so that nobody ever sees a live lock empty.
 * @returns false when there is one already
 */
function createWhole(path: string, content: string): boolean {
  const draft = `${path}.${process.pid}`;
  try {
    writeFileSync(draft, content);
    linkSync(draft, path);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    if (!linkless.has(codeOf(error) ?? '')) throw withPath(error, path);
    return createInTwoSteps(path, content);
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Removes drafts of locks that killed processes left. */
function removeDrafts(path: string): void {
  const prefix = `${basename(path)}.`;
  for (const name of readdirSync(dirname(path))) {
    const pid = name.startsWith(prefix) ? name.slice(prefix.length) : '';
    if (/^\d+$/.test(pid) && !isRunning(Number(pid))) rmSync(join(dirname(path), name), { force: true });
  }
}

/** Error codes of file systems without hard links. */
const linkless = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EINVAL', 'UNKNOWN']);

function createInTwoSteps(path: string, content: string): boolean {
  try {
    writeFileSync(path, content, { flag: 'wx' });
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw withPath(error, path);
  }
}

/**
 * Removes exactly the lock that was read: when two processes find the same stale lock, the slower one must not remove the
 * new lock of the faster one.
 */
function removeStale(path: string, stale: string): void {
  const aside = `${path}.${process.pid}`;
  try {
    renameSync(path, aside);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return;
    throw error;
  }
  try {
    if (readLock(aside) !== stale) linkSync(aside, path);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  } finally {
    rmSync(aside, { force: true });
  }
}

/** In bytes; a lock holds a process id, a host, a start time and perhaps the state of an output. */
const longestLock = 4096;

function readLock(path: string): string | undefined {
  try {
    return readRegularFile(path, longestLock, 'refuse').toString('utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

/** A process of another host counts as alive, since it can't be asked. A lock without a host was cut short by a crash. */
function isHeld(holder: string): boolean {
  const [pid, host, start] = holder.trim().split(/\s/);
  if (host === undefined) return false;
  if (host !== hostname()) return true;
  // A stale lock may carry the reused id of this process.
  if (Number(pid) === process.pid) return start === ownStart();
  if (!isRunning(Number(pid))) return false;
  // Another process may have the same number.
  const running = startOf(Number(pid));
  return start === undefined || running === undefined || start === running;
}

const startKey = 'policyloop: start of the process';

/** When this process began, as its locks say it: the same in all of its threads, and different in a later process. */
function ownStart(): string {
  const known = startOf(process.pid) ?? getEnvironmentData(startKey);
  if (known !== undefined) return String(known);
  // Threads that start from here on inherit it.
  setEnvironmentData(startKey, performance.timeOrigin);
  return String(performance.timeOrigin);
}

/**
 * When a process began, in clock ticks since the machine started; undefined where the system does not tell (only
 * Linux does, in field 22 of `/proc/<pid>/stat`; the second field may hold spaces and parentheses).
 */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return undefined;
  }
}

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;
