/**
 * `control.jsonl`: what other processes ask of the one that plays a run. It lives as long as that process; what was
 * heeded stands in the events.
 */

import { appendFileSync, existsSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { UserError } from '../base/errors.js';
import { longestRemark } from '../prompting/context/feedback.js';
import { jsonIn } from '../storage/json-depth.js';
import { eachLine, withPath } from '../storage/json-lines.js';
import type { RunEvent } from './events.js';

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
    const size = statSync(this.#file, { throwIfNoEntry: false })?.size ?? 0;
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
