/** Passes answers and commands from pages to runs. */
import { lstatSync, mkdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { UserError } from '../base/errors.js';
import { readChanges } from '../experiment/run-commands.js';
import { longestRemark, readTyped, type Said, typedText } from '../prompting/context/feedback.js';
import { steer, steeredText } from '../runs/listing/steer.js';
import { runFiles } from '../runs/reader.js';
import { askOf, markViewed, readQuestion } from '../runs/requests.js';
import { readRegularFile } from '../storage/regular-file.js';
import type { ShownQuestion } from '../web/messages.js';
import { badRequest, HttpError } from './http.js';
import type { Place, Root } from './items.js';
import { action } from './managing.js';

/** @param admitted adds a key to a picture's address */
export function shownQuestion({ item, path }: Place, admitted: (address: string) => string): ShownQuestion {
  const open = item.kind === 'run' ? readQuestion(path) : undefined;
  if (open === undefined) return { open: null };
  const { picture, question, text } = open;
  const address = `/api/picture?${new URLSearchParams({ of: item.name, question })}`;
  return { open: { question, text, picture: picture === null ? null : admitted(address), longestRemark } };
}

/** Maximum size of a picture, in bytes. */
const largestPicture = 32 * 2 ** 20;

/** The GIF of the open question. @throws HttpError if the question isn't open or has no picture */
export function questionPicture(place: Place, question: string | null): Buffer {
  const open = place.item.kind === 'run' ? readQuestion(place.path) : undefined;
  const name = open?.question === question ? open?.picture : undefined;
  if (typeof name !== 'string') throw notOpen();
  const folder = join(place.path, runFiles.animations);
  if (lstatSync(folder).isSymbolicLink()) throw notOpen();
  return readRegularFile(join(folder, name), largestPicture, 'refuse');
}

const answerShape = z.strictObject({
  of: z.string(),
  question: z.string(),
  rating: z.literal([1, 2, 3, 4, 5], 'a rating must be an integer from 1 to 5').optional(),
  remark: z.string().max(longestRemark, `a remark must have at most ${longestRemark} characters`).optional(),
});

/** Maximum size of an answer, in bytes; a character can take several. */
const longestAnswer = 16 * 2 ** 10;

/** How long to wait for the run to accept an answer, and how often to check, in milliseconds. */
const patienceMs = 3000;
const lookMs = 50;

/** Answers an open question. @throws HttpError if it isn't open */
export const answerQuestion = action(
  answerShape,
  async ({ of, question, rating, remark }, { placeOf }) => {
    const said = cleaned({
      ...(rating !== undefined && { rating }),
      ...(remark !== undefined && { remark }),
    });
    const { item, path } = placeOf(of);
    const isOpen = () => item.kind === 'run' && readQuestion(path)?.question === question;
    if (!isOpen()) throw notOpen();
    askOf(path, { action: 'answer', question, ...said });
    for (let waited = 0; waited < patienceMs; waited += lookMs) {
      if (!isOpen()) return 'answer received';
      await delay(lookMs);
    }
    return "answer sent; the run hasn't read it yet";
  },
  longestAnswer,
);

/** Cleans an answer in the same way as the run: one line, without characters that affect the surrounding text. */
function cleaned(said: Said): Said {
  const typed = readTyped(typedText(said));
  if (typed.kind === 'said') return typed.said;
  throw badRequest(typed.problem, 'remark');
}

const notOpen = () =>
  new HttpError(
    409,
    'this question is no longer open: it was answered or skipped, its time ran out, or the run has ended',
  );

/** Milliseconds between attempts to mark directories that don't exist yet. */
const markEvery = 2000;

/**
 * Marks directories as viewed, so that their runs may ask questions without a terminal. Creates a missing runs
 * directory, because a new run checks for the mark before it creates the directory.
 * @returns a function that removes the marks, and the directories it created if they are still empty
 */
export function markRoots(roots: readonly Root[]): () => void {
  const marks = new Map<string, () => void>();
  const made = roots.filter(
    ({ path, prefix }) => prefix === '' && succeeds(() => mkdirSync(path, { recursive: true })),
  );
  const mark = () => {
    for (const { path } of roots) {
      const release = marks.has(path) ? undefined : markViewed(path);
      if (release !== undefined) marks.set(path, release);
    }
  };
  mark();
  const timer = setInterval(mark, markEvery).unref();
  return () => {
    clearInterval(timer);
    for (const release of marks.values()) release();
    // Fails, as intended, if the directory contains runs.
    for (const { path } of made) succeeds(() => rmdirSync(path));
  };
}

/** True if `change` returns a value without throwing; `mkdirSync` returns undefined for an existing directory. */
function succeeds(change: () => unknown): boolean {
  try {
    return change() !== undefined;
  } catch {
    return false;
  }
}

const requestShape = z.discriminatedUnion('action', [
  z.strictObject({ of: z.string(), action: z.enum(['pause', 'resume']) }),
  z.strictObject({ of: z.string(), action: z.literal('stop'), now: z.boolean().default(false) }),
  z.strictObject({ of: z.string(), action: z.literal('set'), overrides: z.array(z.string()).min(1).max(50) }),
]);

/** Seconds to wait for the run's process to respond. */
const patience = 3;

/** Pauses, resumes, stops or changes a run. @throws UserError if it isn't running, or a setting can't be changed */
export const steerRun = action(requestShape, async ({ of, ...asked }, { placeOf }) => {
  const { item, path } = placeOf(of);
  if (!['run', 'play', 'training'].includes(item.kind))
    throw badRequest(`${of} isn't a single run or training run`, 'of');
  if (
    asked.action === 'set' &&
    item.kind === 'run' &&
    readChanges(path, asked.overrides).changes.length === 0
  )
    throw new UserError({
      field: 'overrides',
      value: asked.overrides.join(' '),
      message: 'the run already has these settings',
    });
  return steeredText(await steer(path, asked, patience), path).replace(/^\.\s+/, '');
});
