import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg } from 'node:os';

/** Estimates the number of idle physical cores, at least 1. More threads would wait for each other and be slower. */
export function freeCores(): number {
  const cores = Math.min(physicalCores(), availableParallelism());
  // On Windows, loadavg always returns zeros.
  return Math.max(1, Math.round(cores - (loadavg()[0] ?? 0)));
}

/** Returns the number of physical cores if the system reports it (Linux), otherwise that of hardware threads. */
function physicalCores(): number {
  const threadCount = cpus().length;
  try {
    const siblings = Array.from({ length: threadCount }, (_, cpu) =>
      readFileSync(`/sys/devices/system/cpu/cpu${cpu}/topology/thread_siblings_list`, 'utf8').trim(),
    );
    return new Set(siblings).size;
  } catch {
    return threadCount;
  }
}
