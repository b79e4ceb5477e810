/** `control.jsonl`: commands for the process of a run in progress. */
import { appendFileSync, existsSync, lstatSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { UserError } from '../base/errors.js';
import { jsonIn } from '../storage/json-depth.js';
import { eachLine, withPath } from '../storage/json-lines.js';
import type { RunEvent } from './events.js';

const requestShape = z.discriminatedUnion('action', [
  z.object({ action: z.literal('pause') }),
  z.object({ action: z.literal('resume') }),
  /** `now`: don't wait for calls in flight. */
  z.object({ action: z.literal('stop'), now: z.boolean().default(false) }),
  /** Each override has the form `key=value`. */
  z.object({ action: z.literal('set'), overrides: z.array(z.string()).min(1) }),
]);

export type ControlRequest = z.output<typeof requestShape>;

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
