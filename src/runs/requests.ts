/**
 * Files for communicating with a run in progress: `control.jsonl` contains commands for its process, and
 * `question.json` the question that it asks a person.
 */
import { appendFileSync, existsSync, lstatSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { UserError } from '../base/errors.js';
import { longestRemark } from '../prompting/context/feedback.js';
import { readOwnJson, replaceFile } from '../storage/files.js';
import { jsonIn } from '../storage/json-depth.js';
import { eachLine, withPath } from '../storage/json-lines.js';
import { isLocked, lockRun } from '../storage/lock.js';
import { readOwnText } from '../storage/regular-file.js';
import type { RunEvent } from './events.js';
import { runFiles } from './reader.js';

const requestShape = z.discriminatedUnion('action', [
  z.object({ action: z.literal('pause') }),
  z.object({ action: z.literal('resume') }),
  /** `now`: don't wait for calls in flight. */
  z.object({ action: z.literal('stop'), now: z.boolean().default(false) }),
  /** Answers the open question. */
  z.object({
    action: z.literal('answer'),
    question: z.string().max(100),
    rating: z.int().min(1).max(5).optional(),
    remark: z.string().max(longestRemark).optional(),
  }),
  /** Each override has the form `key=value`. */
  z.object({ action: z.literal('set'), overrides: z.array(z.string()).min(1) }),
]);

export type ControlRequest = z.output<typeof requestShape>;
/** Commands that change the course of a run. They are logged once they are executed. */
export type SteeringRequest = Exclude<ControlRequest, { action: 'answer' }>;

const fileOf = (path: string) => join(path, 'control.jsonl');

/** Sends a command to the process that executes `path`. @returns the 1-based number of the request */
export function askOf(path: string, request: ControlRequest): number {
  const file = fileOf(path);
  try {
    appendFileSync(file, `${JSON.stringify(request)}\n`);
  } catch (error) {
    throw withPath(error, file);
  }
  return [...eachLine(file)].length;
}

/** Reads the requests to one process in the order of arrival. */
export class Requests {
  readonly #file: string;
  #size = 0;
  #read = 0;

  /** @param path directory of the run or plan */
  constructor(path: string) {
    this.#file = fileOf(path);
  }

  /** New requests with their numbers; undefined for an invalid line. */
  next(): readonly { readonly number: number; readonly request: ControlRequest | undefined }[] {
    const size = lstatSync(this.#file, { throwIfNoEntry: false })?.size ?? 0;
    if (size === this.#size) return [];
    this.#size = size;
    const requests = [...eachLine(this.#file)].map(({ bytes }) => parsed(bytes.toString('utf8')));
    const from = this.#read;
    this.#read = requests.length;
    return requests.slice(from).map((request, i) => ({ number: from + i + 1, request }));
  }

  clear(): void {
    if (existsSync(this.#file)) rmSync(this.#file, { force: true });
    this.#size = 0;
    this.#read = 0;
  }
}

/** Calls `look` periodically until the returned function is called. Ignores errors; the run reports them later. */
export function watchRequests(look: () => void): () => void {
  const timer = setInterval(() => {
    try {
      look();
    } catch {}
  }, pollMs).unref();
  return () => clearInterval(timer);
}

export const pollMs = 250;

const parsed = (line: string): ControlRequest | undefined => requestShape.safeParse(jsonIn(line)).data;

/** Examples: `stop`, `set limits.calls=500`. */
export const requestText = (request: ControlRequest): string =>
  request.action === 'set' ? `set ${request.overrides.join(' ')}` : request.action;

export type Controlled = Extract<RunEvent, { kind: 'controlled' }>;

/** The event as logged; `time` is ISO 8601. */
export type LoggedControl = Controlled & { readonly time: string };

export function controlledText({ action, changes = [], iteration, ...event }: Controlled): string {
  const unit = event.unit ?? 'iteration';
  const when = iteration === 0 ? `before ${unit} 1` : `after ${unit} ${iteration}`;
  switch (action) {
    case 'pause':
      return `paused ${when}`;
    case 'resume':
      return `resumed ${when}`;
    case 'stop':
      return `stop requested ${when}`;
    case 'set': {
      const shown = (value: unknown) => (value === undefined ? 'none' : JSON.stringify(value));
      const each = changes.map(({ key, now, was }) => `${key} ${shown(was)} → ${shown(now)}`);
      return `changed ${when}: ${each.join(', ')}`;
    }
  }
}

export const notPlayed = (path: string, status: string, remedy: string): UserError =>
  new UserError({
    ...{ field: 'run', value: path, message: `this run isn't running: it is ${status}` },
    remedy,
  });

const questionShape = z.object({
  /** Identifies the question within its run. */
  question: z.string().max(100),
  /** Text to show to the person. */
  text: z.string().max(20_000),
  /** File name of the picture; null if there is none. */
  picture: z
    .string()
    .regex(/^feedback-\d{4,}\.gif$/)
    .nullable(),
  /** The asking process, as recorded in the run's lock. A question from any other process is left over and ignored. */
  by: z.string(),
});

export type OpenQuestion = Omit<z.output<typeof questionShape>, 'by'>;

export const questionFile = (run: string): string => join(run, 'question.json');

const ownerOf = (run: string) => readOwnText(join(run, runFiles.lock)).trim();

export const openQuestion = (run: string, question: OpenQuestion): void =>
  replaceFile(questionFile(run), JSON.stringify({ ...question, by: ownerOf(run) }));

export const closeQuestion = (run: string): void => rmSync(questionFile(run), { force: true });

/** The question that the run is asking; undefined if there is none or no process executes the run. */
export function readQuestion(run: string): OpenQuestion | undefined {
  if (!isLocked(join(run, runFiles.lock))) return undefined;
  try {
    const { data } = questionShape.safeParse(readOwnJson(questionFile(run)));
    return data?.by === ownerOf(run) ? data : undefined;
  } catch (error) {
    // The file may be missing or damaged.
    if (error instanceof UserError || (error instanceof Error && 'code' in error)) return undefined;
    throw error;
  }
}

/** Lock file in each directory that a live view shows. */
export const viewLock = '.view.lock';

/** Maximum number of parent folders to check for a view. */
const mostAbove = 6;

/** True if a live view shows the run at `path`, or will show it once it starts. */
export function isViewed(path: string): boolean {
  let folder = resolve(path);
  for (let i = 0; i <= mostAbove; i++) {
    if (isLocked(join(folder, viewLock))) return true;
    folder = dirname(folder);
  }
  return false;
}

/**
 * Marks a directory as shown by a view.
 * @returns a function that removes the mark; undefined if the directory is missing, read-only or already marked
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
