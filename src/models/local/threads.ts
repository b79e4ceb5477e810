import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg } from 'node:os';

/**
 * Threads that the model should use: the physical cores that are free. More threads than free cores wait for each
 * other and are slower than one (measured: 2 threads on a busy machine a third as fast as 1).
 */
export function freeCores(): number {
  const cores = Math.min(physicalCores(), availableParallelism());
  // On Windows the load is always 0.
  return Math.max(1, Math.round(cores - (loadavg()[0] ?? 0)));
}

/** Hardware threads that share a core count once, where the system tells. */
function physicalCores(): number {
  const logical = cpus().length;
  try {
    const siblings = Array.from({ length: logical }, (_, cpu) =>
      readFileSync(`/sys/devices/system/cpu/cpu${cpu}/topology/thread_siblings_list`, 'utf8').trim(),
    );
    return new Set(siblings).size;
  } catch {
    return logical;
  }
}
