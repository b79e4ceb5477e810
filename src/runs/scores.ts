/** Scores of a run's evaluations, read without parsing whole lines. */
import type { BufferEntry } from '../rollout/replay-buffer.js';
import { eachLine } from '../storage/json-lines.js';
import type { Manifest } from './manifest.js';
import { logsIn, readEvaluations } from './reader.js';

export type Scored = Pick<BufferEntry, 'iteration' | 'candidate' | 'score' | 'planned'>;

const beginning = /^\{"iteration":(\d+),"group":\d+,"candidate":(\d+),"source":"/;

/** Only a key of the line's outermost object can be followed by the only brace that ends the line. */
const end = /,"score":(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)\}$/;

/** Longer than any number with its key. */
const endLength = 48;

/**
 * The evaluations of complete iterations. Lines that end in another way, as after racing or feedback, are parsed.
 * @throws UserError for a broken line or non-numeric returns
 */
export function readScores(path: string, manifest: Manifest): readonly Scored[] {
  const scores: Scored[] = [];
  for (const { bytes } of eachLine(logsIn(path).evaluations)) {
    const first = beginning.exec(bytes.toString('latin1', 0, 96));
    const last = end.exec(bytes.toString('latin1', Math.max(0, bytes.length - endLength)));
    if (first === null || last === null) return readEvaluations(path, manifest);
    const iteration = Number(first[1]);
    if (iteration <= manifest.iterations.done)
      scores.push({ iteration, candidate: Number(first[2]), score: Number(last[1]) });
  }
  return scores;
}
