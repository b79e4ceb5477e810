import { existsSync, linkSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { basename, dirname } from 'node:path';
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
      // Remove drafts left by killed processes.
      for (const pid of draftProcesses(path)) if (!isRunning(pid)) rmSync(`${path}.${pid}`, { force: true });
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
    if (holder !== undefined) moveStaleLock(path, holder);
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
  if (holder === undefined || host === undefined || host === hostname()) return;
  moveStaleLock(path, holder);
  rmSync(draftOf(path), { force: true });
}

/** True if a process hasn't released the lock, even if it was killed while it took over an earlier one. */
export const wasLocked = (path: string): boolean => existsSync(path) || draftProcesses(path).length > 0;

const draftOf = (path: string) => `${path}.${process.pid}`;

/** Ids of processes that have, or left, a draft of the lock. */
function draftProcesses(path: string): readonly number[] {
  const prefix = `${basename(path)}.`;
  const suffixes = readdirSync(dirname(path)).map((name) =>
    name.startsWith(prefix) ? name.slice(prefix.length) : '',
  );
  return suffixes.filter((suffix) => /^\d+$/.test(suffix)).map(Number);
}

/**
 * Creates a file with its content. On file systems with hard links, nobody ever sees an empty lock.
 * @returns false if the file already exists
 */
function createAtomically(path: string, content: string): boolean {
  const draft = draftOf(path);
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
 * Moves only the lock that was read: if two processes find the same stale lock, the slower one must not move the new
 * lock of the faster one. The stale lock becomes this process's draft, so that a trace is left if it is killed now.
 */
function moveStaleLock(path: string, staleContent: string): void {
  try {
    renameSync(path, draftOf(path));
    if (readLock(draftOf(path)) !== staleContent) linkSync(draftOf(path), path);
  } catch (error) {
    // Another process has removed or replaced it.
    if (codeOf(error) !== 'EEXIST' && codeOf(error) !== 'ENOENT') throw error;
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
