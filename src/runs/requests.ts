/**
 * `control.jsonl`: what other processes ask of the one that plays a run. It lives as long as that process; what was
 * heeded stands in the events.
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
  /** `now`: not even calls under way are waited for. */
  z.object({ action: z.literal('stop'), now: z.boolean().default(false) }),
  /** To what a person is asked; see questions.ts. */
  z.object({
    action: z.literal('answer'),
    question: z.string().max(100),
    rating: z.int().min(1).max(5).optional(),
    remark: z.string().max(longestRemark).optional(),
  }),
  /** `key=value` each. */
  z.object({ action: z.literal('set'), overrides: z.array(z.string()).min(1) }),
]);

export type ControlRequest = z.output<typeof requestShape>;
/** What changes the course of a run, and is logged once it is done. */
export type SteeringRequest = Exclude<ControlRequest, { action: 'answer' }>;

const fileOf = (path: string) => join(path, 'control.jsonl');

/**
 * Asks the process that plays the run at `path`.
 * @returns the number of the request
 */
export function askOf(path: string, request: ControlRequest): number {
  const file = fileOf(path);
  try {
    appendFileSync(file, `${JSON.stringify(request)}\n`);
  } catch (error) {
    throw withPath(error, file);
  }
  return [...eachLine(file)].length;
}

/** The requests to one process, in order. */
export class Requests {
  readonly #file: string;
  #size = 0;
  #read = 0;

  /** @param path of the run or the plan */
  constructor(path: string) {
    this.#file = fileOf(path);
  }

  /** Those since the last look, each with its number; a line that is none gives undefined. */
  next(): readonly { readonly number: number; readonly request: ControlRequest | undefined }[] {
    const size = lstatSync(this.#file, { throwIfNoEntry: false })?.size ?? 0;
    if (size === this.#size) return [];
    this.#size = size;
    const requests = [...eachLine(this.#file)].map(({ bytes }) => parsed(bytes.toString('utf8')));
    const from = this.#read;
    this.#read = requests.length;
    return requests.slice(from).map((request, i) => ({ number: from + i + 1, request }));
  }

  /** Removes what is there: nobody is going to heed it. */
  clear(): void {
    if (existsSync(this.#file)) rmSync(this.#file, { force: true });
    this.#size = 0;
    this.#read = 0;
  }
}

const parsed = (line: string): ControlRequest | undefined => requestShape.safeParse(jsonIn(line)).data;

/** A request in words: `stop`, `set limits.calls=500`. */
export const requestText = (request: ControlRequest): string =>
  request.action === 'set' ? `set ${request.overrides.join(' ')}` : request.action;

export type Controlled = Extract<RunEvent, { kind: 'controlled' }>;

/** As it stands in the log; `time` is ISO 8601. */
export type LoggedControl = Controlled & { readonly time: string };

/** What a run did that was asked for, in words. */
export function controlledText({ action, changes = [], iteration, ...event }: Controlled): string {
  const unit = event.unit ?? 'iteration';
  const when = iteration === 0 ? `before ${unit} 1` : `after ${unit} ${iteration}`;
  switch (action) {
    case 'pause':
      return `paused ${when}`;
    case 'resume':
      return `went on ${when}`;
    case 'stop':
      return `told to stop ${when}`;
    case 'set': {
      const shown = (value: unknown) => (value === undefined ? 'none' : JSON.stringify(value));
      const each = changes.map(({ key, now, was }) => `${key} ${shown(was)} → ${shown(now)}`);
      return `changed ${when}: ${each.join(', ')}`;
    }
  }
}

/** An error that says that nobody plays the run at `path`. */
export const notPlayed = (path: string, status: string, remedy: string): UserError =>
  new UserError({
    ...{ field: 'run', value: path, message: `no process plays this run: it is ${status}` },
    remedy,
  });

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
