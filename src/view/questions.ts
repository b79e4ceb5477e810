/** Questions that runs ask a person, shown and answered on a page. */
import { lstatSync, mkdirSync, rmdirSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { longestRemark, readTyped, type Said, typedText } from '../prompting/context/feedback.js';
import { runFiles } from '../runs/reader.js';
import { askOf, markViewed, readQuestion } from '../runs/requests.js';
import { badRequest, HttpError, readJsonBody } from '../serve/http.js';
import { readRegularFile } from '../storage/regular-file.js';
import type { Place, Root } from './items.js';
import type { ShownQuestion } from './messages.js';

/** What the run at a place waits for. @param admitted makes an address that a picture may have */
export function shownQuestion({ item, path }: Place, admitted: (address: string) => string): ShownQuestion {
  const open = item.kind === 'run' ? readQuestion(path) : undefined;
  if (open === undefined) return { open: null };
  const { picture, question, text } = open;
  const address = `/api/picture?${new URLSearchParams({ of: item.name, question })}`;
  return { open: { question, text, picture: picture === null ? null : admitted(address), longestRemark } };
}

/** The largest picture that is shown, in bytes. */
const largestPicture = 32 * 2 ** 20;

/** The GIF of the open question. @throws HttpError where there is none such */
export function questionPicture(place: Place, question: string | null): Buffer {
  const open = place.item.kind === 'run' ? readQuestion(place.path) : undefined;
  const name = open?.question === question ? open?.picture : undefined;
  if (typeof name !== 'string') throw notOpen();
  const folder = join(place.path, runFiles.animations);
  if (lstatSync(folder).isSymbolicLink()) throw notOpen();
  return readRegularFile(join(folder, name), largestPicture, 'refuse');
}

/** A remark may stand in several bytes a character, and JSON escapes some. */
const longestBody = 16 * 2 ** 10;

const answerShape = z.strictObject({
  of: z.string(),
  question: z.string(),
  rating: z.literal([1, 2, 3, 4, 5], 'a rating is a whole number from 1 to 5').optional(),
  remark: z.string().max(longestRemark, `a remark has ${longestRemark} characters at most`).optional(),
});

/** Milliseconds that the run's process may take to take an answer, and between two looks. */
const patienceMs = 3000;
const lookMs = 50;

/**
 * @returns what became of it, in words
 * @throws HttpError unless a page of this server answers the question that is open
 */
export async function answerFromPage(
  request: IncomingMessage,
  placeOf: (name: string) => Place,
): Promise<{ readonly text: string }> {
  // Browsers name the page that answers; who it is was looked at before.
  if (request.headers.origin === undefined)
    throw new HttpError(403, 'permission_error', 'only pages of this server answer for a person');
  const { data, error } = answerShape.safeParse(await readJsonBody(request, longestBody));
  if (data === undefined) throw badRequest(error.issues[0]!.message, error.issues[0]!.path.join('.'));
  const { of, question, rating, remark } = data;
  const said = cleaned({ ...(rating !== undefined && { rating }), ...(remark !== undefined && { remark }) });
  const { item, path } = placeOf(of);
  const isOpen = () => item.kind === 'run' && readQuestion(path)?.question === question;
  if (!isOpen()) throw notOpen();
  askOf(path, { action: 'answer', question, ...said });
  for (let waited = 0; waited < patienceMs; waited += lookMs) {
    if (!isOpen()) return { text: 'the run has taken it' };
    await delay(lookMs);
  }
  return { text: 'the run has not taken it yet' };
}

/** As the run reads it: on one line, without marks that would reach over the words around it. */
function cleaned(said: Said): Said {
  const typed = readTyped(typedText(said));
  if (typed.kind === 'said') return typed.said;
  throw badRequest(typed.problem, 'remark');
}

const notOpen = () =>
  new HttpError(409, 'invalid_request_error', 'this question is not open: it was answered, or the run ended');

/** Milliseconds between two tries to mark a directory that may be made meanwhile. */
const markEvery = 2000;

/**
 * Marks directories as those that a view shows: runs in them may ask a person who sits at no terminal. That of the runs is
 * made where it is missing: the first run looks for the mark before it makes anything.
 * @returns what takes the marks away, and a directory that stayed empty
 */
export function markRoots(roots: readonly Root[]): () => void {
  const marks = new Map<string, () => void>();
  const made = roots.filter(({ path, prefix }) => prefix === '' && isMade(path));
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
    for (const { path } of made) removeEmpty(path);
  };
}

/** Whether the directory was missing and is there now; where it can't be made, it has no mark until a run makes it. */
function isMade(path: string): boolean {
  try {
    return mkdirSync(path, { recursive: true }) !== undefined;
  } catch {
    return false;
  }
}

function removeEmpty(path: string): void {
  try {
    rmdirSync(path);
  } catch {
    // Runs lie in it.
  }
}
