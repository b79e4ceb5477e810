import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import process from 'node:process';

export interface MachineMemory {
  readonly totalBytes: number;
  readonly freeBytes: number;
}

/** Memory of this machine, or of the container if its limit is lower. */
export function machineMemory(): MachineMemory {
  const installed = totalmem();
  const limit = process.constrainedMemory();
  if (!(limit > 0 && limit < installed))
    return { totalBytes: installed, freeBytes: process.availableMemory() };
  // A container counts cached files as used memory, but the system frees them on demand.
  return { totalBytes: limit, freeBytes: Math.min(limit, process.availableMemory() + cachedFileBytes()) };
}

/** Bytes of cached files in the container's control group; 0 if unknown. */
function cachedFileBytes(): number {
  try {
    const text = readFileSync('/sys/fs/cgroup/memory.stat', 'utf8');
    return ['inactive_file', 'active_file'].reduce(
      (sum, name) => sum + Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1] ?? 0),
      0,
    );
  } catch {
    return 0;
  }
}
