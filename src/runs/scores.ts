/** Scores of a run's evaluations, read without parsing whole lines. */
import { existsSync } from 'node:fs';
import { UserError } from '../base/errors.js';
import { readRegularFile } from '../base/files/regular-file.js';
import type { BufferEntry } from '../rollout/replay-buffer.js';
import type { Manifest } from './manifest.js';
import { logsIn, readEvaluations } from './reader.js';

export type Scored = Pick<BufferEntry, 'iteration' | 'candidate' | 'score'>;

/** Maximum size, in bytes, of a log to read at once. */
const largest = 64 * 2 ** 20;

/** The beginning of each line. */
const place = /\{"iteration":(\d+),"group":\d+,"candidate":(\d+),"source":"/y;

const key = ',"score":';

/**
 * The evaluations of complete iterations. If any line doesn't end with its score, the
 * whole file is parsed instead.
 * @throws UserError for a broken line or non-numeric returns
 */
export function readScores(path: string, manifest: Manifest): readonly Scored[] {
  return quickScores(logsIn(path).evaluations, manifest.iterations.done) ?? readEvaluations(path, manifest);
}

/** Undefined if a line has another form, or if the file is missing, too large or not a regular file. */
function quickScores(file: string, iterations: number): readonly Scored[] | undefined {
  const text = textOf(file);
  if (text === undefined) return undefined;
  const scores: Scored[] = [];
  let from = 0;
  for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', from)) {
    place.lastIndex = from;
    const found = place.exec(text);
    // If only a number and the line's last brace follow, the key belongs to the outermost object.
    const at = text.lastIndexOf(key, end);
    const number = text.slice(at + key.length, end - 1);
    if (found === null || at < from || text[end - 1] !== '}' || !/^-?\d[\d.e+-]*$/.test(number))
      return undefined;
    const [iteration, score] = [Number(found[1]), Number(number)];
    if (!Number.isFinite(score)) return undefined;
    if (iteration <= iterations) scores.push({ iteration, candidate: Number(found[2]), score });
    from = end + 1;
  }
  return scores;
}

function textOf(file: string): string | undefined {
  if (!existsSync(file)) return undefined;
  try {
    return readRegularFile(file, largest, 'refuse').toString('latin1');
  } catch (error) {
    if (error instanceof UserError) return undefined;
    throw error;
  }
}
