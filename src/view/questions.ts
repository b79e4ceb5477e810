/** Answers and commands that a page sends to runs. */
import { lstatSync, mkdirSync, rmdirSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { UserError } from '../base/errors.js';
import { readChanges } from '../experiment/run-commands.js';
import { longestRemark, readTyped, type Said, typedText } from '../prompting/context/feedback.js';
import { steer, steeredText } from '../runs/listing/steer.js';
import { runFiles } from '../runs/reader.js';
import { askOf, markViewed, readQuestion } from '../runs/requests.js';
import { badRequest, HttpError, readJsonBody } from '../serve/http.js';
import { readRegularFile } from '../storage/regular-file.js';
import type { ShownQuestion } from '../web/messages.js';
import type { Place, Root } from './items.js';

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

/** The GIF of the open question. @throws HttpError if the question isn't open */
export function questionPicture(place: Place, question: string | null): Buffer {
  const open = place.item.kind === 'run' ? readQuestion(place.path) : undefined;
  const name = open?.question === question ? open?.picture : undefined;
  if (typeof name !== 'string') throw notOpen();
  const folder = join(place.path, runFiles.animations);
  if (lstatSync(folder).isSymbolicLink()) throw notOpen();
  return readRegularFile(join(folder, name), largestPicture, 'refuse');
}

/** Maximum size of a request body, in bytes; a character may take several. */
const longestBody = 16 * 2 ** 10;

const answerShape = z.strictObject({
  of: z.string(),
  question: z.string(),
  rating: z.literal([1, 2, 3, 4, 5], 'a rating must be an integer from 1 to 5').optional(),
  remark: z.string().max(longestRemark, `a remark must have at most ${longestRemark} characters`).optional(),
});

/** How long to wait for the run to accept an answer, and how often to check, in milliseconds. */
const patienceMs = 3000;
const lookMs = 50;

/**
 * @returns the outcome, for people
 * @throws HttpError unless a page of this server answers an open question
 */
export async function answerFromPage(
  request: IncomingMessage,
  placeOf: (name: string) => Place,
): Promise<{ readonly text: string }> {
  // Browsers send the page's origin. The token has already been checked.
  if (request.headers.origin === undefined)
    throw new HttpError(403, 'permission_error', 'only pages of this server can answer questions');
  const { data, error } = answerShape.safeParse(await readJsonBody(request, longestBody));
  if (data === undefined) throw badRequest(error.issues[0]!.message, error.issues[0]!.path.join('.'));
  const { of, question, rating, remark } = data;
  const said = cleaned({ ...(rating !== undefined && { rating }), ...(remark !== undefined && { remark }) });
  const { item, path } = placeOf(of);
  const isOpen = () => item.kind === 'run' && readQuestion(path)?.question === question;
  if (!isOpen()) throw notOpen();
  askOf(path, { action: 'answer', question, ...said });
  for (let waited = 0; waited < patienceMs; waited += lookMs) {
    if (!isOpen()) return { text: 'answer received' };
    await delay(lookMs);
  }
  return { text: "answer sent; the run hasn't read it yet" };
}

/** Cleans an answer as the run does: one line, without characters that affect the surrounding text. */
function cleaned(said: Said): Said {
  const typed = readTyped(typedText(said));
  if (typed.kind === 'said') return typed.said;
  throw badRequest(typed.problem, 'remark');
}

const notOpen = () =>
  new HttpError(
    409,
    'invalid_request_error',
    'this question is closed: it was answered, or the run has ended',
  );

/** Milliseconds between attempts to mark a directory that may be created later. */
const markEvery = 2000;

/**
 * Marks directories as viewed, so that their runs may ask questions without a terminal. Creates a missing runs
 * directory, because a run looks for the mark first.
 * @returns a function that removes the marks, and directories that stayed empty
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

/** Creates a directory if possible. @returns whether it was created */
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
    // The directory contains runs.
  }
}

const requestShape = z.discriminatedUnion('action', [
  z.strictObject({ of: z.string(), action: z.enum(['pause', 'resume']) }),
  z.strictObject({ of: z.string(), action: z.literal('stop'), now: z.boolean().default(false) }),
  z.strictObject({ of: z.string(), action: z.literal('set'), overrides: z.array(z.string()).min(1).max(50) }),
]);

/** Seconds to wait for the run's process. */
const patience = 3;

/**
 * @returns the outcome, for people
 * @throws HttpError unless the request comes from a page of this server
 * @throws UserError if the run isn't running, or if a setting can't be changed
 */
export async function steerFromPage(
  request: IncomingMessage,
  placeOf: (name: string) => Place,
): Promise<{ readonly text: string }> {
  // Browsers send the page's origin. The token has already been checked.
  if (request.headers.origin === undefined)
    throw new HttpError(
      403,
      'permission_error',
      'only pages of this server can control runs; use policyloop pause, stop or set instead',
    );
  const { data, error } = requestShape.safeParse(await readJsonBody(request));
  if (data === undefined) throw badRequest(error.issues[0]!.message, error.issues[0]!.path.join('.'));
  const { of, ...asked } = data;
  const { item, path } = placeOf(of);
  if (!['run', 'play', 'training'].includes(item.kind)) throw badRequest(`${of} isn't a single run`, 'of');
  if (
    asked.action === 'set' &&
    item.kind === 'run' &&
    readChanges(path, asked.overrides).changes.length === 0
  )
    throw new UserError({
      field: 'overrides',
      value: asked.overrides.join(' '),
      message: 'already has this value',
    });
  return { text: steeredText(await steer(path, asked, patience), path).replace(/^\.\s+/, '') };
}
