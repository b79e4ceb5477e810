import { linkSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads';
import { UserError, unlessRejected } from '../errors.js';
import { withPath } from './json-lines.js';
import { readRegularFile } from './regular-file.js';

/** Functions that release this thread's locks when it exits. */
const lockReleases = new Set<() => void>();

// A process that exits early must not leave locks behind.
process.on('exit', () => {
  for (const release of lockReleases) release();
});

/**
 * Makes this process the only writer of the run or output that the lock at `path` protects. Takes over locks left by
 * crashed processes.
 * @param keepAtExit if true, the lock stays if the process exits without releasing it, as if it had been killed
 * @returns a function that releases the lock
 * @throws UserError if another process, or other code in this one, holds the lock
 */
export function takeLock(path: string, { keepAtExit = false } = {}): () => void {
  const ownLine = `${process.pid} ${hostname()} ${ownStartTime()}`;
  for (let tries = 0; ; tries++) {
    if (createAtomically(path, `${ownLine}\n`)) {
      removeDraftLocks(path);
      const release = () => {
        lockReleases.delete(release);
        if (readLock(path)?.split('\n')[0] === ownLine) rmSync(path, { force: true });
      };
      if (!keepAtExit) lockReleases.add(release);
      return release;
    }
    const holder = readLock(path);
    if (holder !== undefined && (tries >= 5 || isHeld(holder))) {
      const [pid, host] = holder.trim().split(/\s/);
      throw new UserError({
        file: path,
        message: `another process is writing here (process ${pid} on ${host})`,
        hint: `wait for it or stop it; if you are sure that it has ended, delete ${path}`,
      });
    }
    if (holder !== undefined) removeStaleLock(path, holder);
  }
}

/** True if a process, which may be this one, holds the lock at `path` and isn't known to have ended. */
export function isLocked(path: string): boolean {
  // Undefined for a link, a pipe, a folder or a large file: policyloop writes no such locks.
  const holder = unlessRejected(() => readLock(path));
  return holder !== undefined && isHeld(holder);
}

/** Removes the lock of a process on another machine. The caller must know that the other process has ended. */
export function removeForeignLock(path: string): void {
  const holder = readLock(path);
  const host = holder?.trim().split(/\s/)[1];
  if (holder !== undefined && host !== undefined && host !== hostname()) removeStaleLock(path, holder);
}

/**
 * Creates a file with its content. On file systems with hard links, nobody ever sees an empty lock.
 * @returns false if the file already exists
 */
function createAtomically(path: string, content: string): boolean {
  const draft = `${path}.${process.pid}`;
  try {
    writeFileSync(draft, content);
    linkSync(draft, path);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    if (!noLinkCodes.has(codeOf(error) ?? '')) throw withPath(error, path);
    return createInTwoSteps(path, content);
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Removes draft locks left by killed processes. */
function removeDraftLocks(path: string): void {
  const prefix = `${basename(path)}.`;
  for (const name of readdirSync(dirname(path))) {
    const pid = name.startsWith(prefix) ? name.slice(prefix.length) : '';
    if (/^\d+$/.test(pid) && !isRunning(Number(pid))) rmSync(join(dirname(path), name), { force: true });
  }
}

/** Error codes of `linkSync` on file systems without hard links. */
const noLinkCodes = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EINVAL', 'UNKNOWN']);

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
 * Removes only the lock that was read: if two processes find the same stale lock, the slower one must not remove
 * the new lock of the faster one.
 */
function removeStaleLock(path: string, staleContent: string): void {
  const movedPath = `${path}.${process.pid}`;
  try {
    renameSync(path, movedPath);
    if (readLock(movedPath) !== staleContent) linkSync(movedPath, path);
  } catch (error) {
    // Another process has removed or replaced it.
    if (codeOf(error) !== 'EEXIST' && codeOf(error) !== 'ENOENT') throw error;
  } finally {
    rmSync(movedPath, { force: true });
  }
}

/** Maximum size in bytes; a lock contains a process id, a host, a start time and sometimes a hash. */
const maxLockBytes = 4096;

function readLock(path: string): string | undefined {
  try {
    return readRegularFile(path, maxLockBytes, 'reject').toString('utf8');
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

/** True if the process may be running; on another host, it can't be checked. A lock without a host is from a crash. */
function isHeld(holder: string): boolean {
  const [pid, host, start] = holder.trim().split(/\s/);
  if (host === undefined) return false;
  if (host !== hostname()) return true;
  // A stale lock may contain this process's id, which the system has reused.
  if (Number(pid) === process.pid) return start === ownStartTime();
  if (!isRunning(Number(pid))) return false;
  // Another process may have reused the id.
  const runningStart = startTimeOf(Number(pid));
  return start === undefined || runningStart === undefined || start === runningStart;
}

const startKey = 'policyloop: start of the process';

/** Start time of this process, written to its locks to tell it apart from later processes with the same id. */
function ownStartTime(): string {
  const startTime = startTimeOf(process.pid) ?? getEnvironmentData(startKey);
  if (startTime !== undefined) return String(startTime);
  // Threads that start later inherit this value.
  setEnvironmentData(startKey, performance.timeOrigin);
  return String(performance.timeOrigin);
}

/**
 * Start time of a process, in clock ticks since boot; undefined if unknown. Only Linux reports the time, in
 * field 22 of `/proc/<pid>/stat`, whose second field may contain spaces and parentheses.
 */
function startTimeOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return undefined;
  }
}

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;
