/** Sample replies from the evaluations of a training run, recorded in `samples.jsonl`. */
import { join } from 'node:path';
import { z } from 'zod';
import { jsonIn } from '../../base/files/json-depth.js';
import { readRegularFile } from '../../base/files/regular-file.js';
import { trainingFiles } from '../training-files.js';

const turnShape = z.object({ prompt: z.string(), reply: z.string() });

const sampleShape = z.object({
  /** The first turns of an episode; a single turn for proposers and in supervised training. */
  turns: z.array(turnShape).min(1),
  /** Number of turns that aren't recorded. */
  omitted: z.number().optional(),
  /** The reply in the dataset. */
  expected: z.string().optional(),
  /** Return of the episode, or mean return of the proposed policy; null if the reply couldn't be used. */
  score: z.number().nullish(),
});

export type Sample = z.output<typeof sampleShape>;

/** A line of the file; `step` is the number of completed steps or updates. */
export type RecordedSample = Sample & { readonly step: number };

/** Default number of samples per evaluation, and maximum number of turns per sample. */
export const sampleCount = 3;
const maxTurns = 3;

/** Length above which a text is shortened, in characters. */
const maxTextLength = 700;

/** Shortens a long text; keeps more of its end than of its beginning, because prompts end with the task. */
function shorten(text: string): string {
  if (text.length <= maxTextLength) return text;
  return `${text.slice(0, maxTextLength / 4)} […] ${text.slice((-3 * maxTextLength) / 4)}`;
}

export function createSample(turns: Sample['turns'], rest: Pick<Sample, 'expected' | 'score'> = {}): Sample {
  const { expected, score } = rest;
  return {
    turns: turns
      .slice(0, maxTurns)
      .map(({ prompt, reply }) => ({ prompt: shorten(prompt), reply: shorten(reply) })),
    ...(turns.length > maxTurns && { omitted: turns.length - maxTurns }),
    ...(expected !== undefined && { expected: shorten(expected) }),
    ...(score !== undefined && { score }),
  };
}

/**
 * True if the n-th evaluation records samples: the first hundred do, then every tenth up to the thousandth, and so
 * on, to keep the file small.
 */
export const isSampled = (evaluation: number): boolean =>
  evaluation <= 100 || evaluation % 10 ** (String(Math.ceil(evaluation) - 1).length - 2) === 0;

/** Maximum size of a file to read, in bytes; training normally writes less. */
const maxFileBytes = 2 ** 24;

/** The recorded samples, in order; skips malformed lines. Empty if the file can't be read. */
export function readSamples(path: string): readonly RecordedSample[] {
  let text: string;
  try {
    text = readRegularFile(join(path, trainingFiles.samples), maxFileBytes, 'reject').toString('utf8');
  } catch {
    return [];
  }
  const shape = sampleShape.extend({ step: z.number() });
  return text.split('\n').flatMap((line) => shape.safeParse(jsonIn(line)).data ?? []);
}
