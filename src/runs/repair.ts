import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { UserError } from '../errors.js';
import type { BufferEntry } from '../rollout/replay-buffer.js';
import { endOfLine, keepFirstLines, readJsonLines } from '../storage/json-lines.js';
import { type RecordedRun, readRun, runFiles } from './reader.js';

/**
 * Reads a run that is to go on: cuts torn lines, and rolls back what an unfinished iteration left (its model calls
 * stay). Only the one writer of a run may do so.
 * @throws UserError with path and byte when a log is damaged so that more would be lost than that
 */
export function repairRun(path: string): RecordedRun {
  const recorded = readRun(path, { repair: true });
  requireWhole(path, recorded);
  keepOnly(path, recorded);
  return recorded;
}

/**
 * A crash leaves at most what came after the last commit, and the commit that it interrupted: two iterations. More
 * than that beyond the last complete one means that lines of a log are missing, and to cut it all off would lose it.
 */
function requireWhole(path: string, { entries, iteration }: RecordedRun): void {
  const file = join(path, runFiles.evaluations);
  const all = readJsonLines<BufferEntry>(file, { repair: false }) ?? [];
  const last = all.at(-1)?.iteration ?? 0;
  if (last <= iteration + 2) return;
  throw new UserError({
    file,
    line: entries.length + 1,
    message:
      `evaluations of ${last - iteration} iterations stand here (from byte ${endOfLine(file, entries.length)} on) ` +
      `of which the logs beside it don't say that they were complete: lines of ` +
      `${runFiles.events}, ${runFiles.episodes} or ${runFiles.calls} are missing`,
    remedy: `restore those files from a copy; or remove the lines from this one on to go on after iteration ${iteration}`,
  });
}

/** Cuts each log after its last complete iteration: lines stand in the order of their writing. */
function keepOnly(path: string, recorded: RecordedRun): void {
  const lengths = [
    [runFiles.evaluations, recorded.entries.length],
    [runFiles.episodes, recorded.episodes.length],
    [runFiles.events, recorded.events.length],
  ] as const;
  for (const [file, lines] of lengths) {
    if (existsSync(join(path, file))) keepFirstLines(join(path, file), lines);
  }
}
