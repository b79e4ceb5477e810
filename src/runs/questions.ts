/** `question.json`: what a run asks a person, as long as it waits for the answer; and who could give it from elsewhere. */
import { existsSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { UserError } from '../base/errors.js';
import { readOwnJson, replaceFile } from '../storage/files.js';
import { isLocked, lockRun } from '../storage/lock.js';
import { readOwnText } from '../storage/regular-file.js';
import { runFiles } from './reader.js';

const questionShape = z.object({
  /** Names it within its run: an answer says which question it is to. */
  question: z.string().max(100),
  /** What is to be seen, in words. */
  text: z.string().max(20_000),
  /** Name of the picture in the run's folder of pictures; null where there is none. */
  picture: z
    .string()
    .regex(/^feedback-\d{4,}\.gif$/)
    .nullable(),
  /** The process that asks, as the lock of the run names it: one that was killed may have left its question. */
  by: z.string(),
});

export type OpenQuestion = Omit<z.output<typeof questionShape>, 'by'>;

/** Where the open question of a run stands. */
export const questionFile = (run: string): string => join(run, 'question.json');

/** The process that holds the run open. */
const ownerOf = (run: string) => readOwnText(join(run, runFiles.lock)).trim();

export const openQuestion = (run: string, question: OpenQuestion): void =>
  replaceFile(questionFile(run), JSON.stringify({ ...question, by: ownerOf(run) }));

/** Removes the question, also one that a process left which was killed. */
export const closeQuestion = (run: string): void => rmSync(questionFile(run), { force: true });

/** What the process that plays the run waits for; undefined where it waits for no person, or nothing plays it. */
export function readQuestion(run: string): OpenQuestion | undefined {
  if (!isLocked(join(run, runFiles.lock))) return undefined;
  try {
    const { data } = questionShape.safeParse(readOwnJson(questionFile(run)));
    return data?.by === ownerOf(run) ? data : undefined;
  } catch (error) {
    // It may be gone, or not whole: then it is none.
    if (error instanceof UserError || (error instanceof Error && 'code' in error)) return undefined;
    throw error;
  }
}

/** Tells that a live view shows what is in a directory. */
const viewLock = '.view.lock';

/** Folders above a run in which a view of it may be open. */
const mostAbove = 6;

/** Whether a live view shows the run at `path`, or would as soon as it begins. */
export function isViewed(path: string): boolean {
  let folder = resolve(path);
  for (let i = 0; i <= mostAbove; i++) {
    if (isLocked(join(folder, viewLock))) return true;
    folder = dirname(folder);
  }
  return false;
}

/**
 * Marks a directory as one that a view shows.
 * @returns what takes the mark away; undefined where it can't be set: there is no such directory (yet), it may not be written
 *   to, or another view has marked it
 */
export function markViewed(directory: string): (() => void) | undefined {
  if (!existsSync(directory)) return undefined;
  try {
    return lockRun(join(directory, viewLock));
  } catch (error) {
    if (error instanceof UserError || (error instanceof Error && 'code' in error)) return undefined;
    throw error;
  }
}
