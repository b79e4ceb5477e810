/** Asks the processes that play runs to pause, stop or change them, and tells what became of it. */
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { UserError } from '../base/errors.js';
import {
  askOf,
  type Controlled,
  type ControlRequest,
  type LoggedControl,
  notPlayed,
} from '../runs/control.js';
import { factsOf } from '../runs/facts.js';
import { type RunStatus, runFiles } from '../runs/reader.js';

export interface Steered {
  /** Path of the run. */
  readonly run: string;
  readonly action: Controlled['action'];
  /** `asked`: not done yet, for an iteration is under way; `ended`: the run came to its end before. */
  readonly outcome: 'done' | 'asked' | 'ended';
  /** What the run logged of it. */
  readonly event?: LoggedControl;
  /** What the run is afterwards. */
  readonly status: RunStatus;
}

const isLive = (status: RunStatus) => status === 'running' || status === 'paused';

/** The manifest is written behind the log that has the event. */
function shows({ action }: ControlRequest, status: RunStatus): boolean {
  return action === 'pause' || action === 'resume' ? (status === 'paused') === (action === 'pause') : true;
}

/** The runs among these that a process plays. */
export const playedOf = (paths: readonly string[]): readonly string[] =>
  paths.filter((path) => isLive(factsOf(path).status));

/**
 * Asks the process that plays the run at `path`, and waits for at most `seconds` until that is done.
 * @throws UserError where no process plays it
 */
export async function steer(path: string, request: ControlRequest, seconds: number): Promise<Steered> {
  const { manifest, status } = factsOf(path);
  if (!isLive(status)) throw notPlayed(path, status, remedyFor(path, request, status));
  if (manifest.play !== undefined)
    throw new UserError({
      ...{ field: 'run', value: path, message: 'games of an agent take no requests' },
      remedy: 'Ctrl-C where they are played ends them',
    });
  const events = join(path, runFiles.events);
  const from = statSync(events, { throwIfNoEntry: false })?.size ?? 0;
  const number = askOf(path, request);
  const told = { run: path, action: request.action };
  for (let tries = Math.max(1, Math.ceil(10 * seconds)); tries > 0; tries--) {
    await delay(100);
    const event = controlledIn(events, from).find((one) => one.request === number);
    const { status: now } = factsOf(path);
    const isShown = !isLive(now) || shows(request, now);
    if (event !== undefined && isShown) return { ...told, outcome: 'done', event, status: now };
    if (!isLive(now)) return { ...told, outcome: 'ended', status: now };
  }
  return { ...told, outcome: 'asked', status: factsOf(path).status };
}

function remedyFor(path: string, request: ControlRequest, status: RunStatus): string {
  if (request.action === 'set')
    return `policyloop resume ${path} ${request.overrides.join(' ')} goes on with it`;
  return status === 'completed' ? 'it has come to its end' : `policyloop resume ${path} goes on with it`;
}

/** What a run logged of requests behind a byte of its events. */
function controlledIn(file: string, from: number): readonly LoggedControl[] {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size <= from) return [];
  const bytes = Buffer.alloc(size - from);
  const descriptor = openSync(file, 'r');
  try {
    readSync(descriptor, bytes, 0, bytes.length, from);
  } finally {
    closeSync(descriptor);
  }
  const lines = bytes.toString('utf8').split('\n').slice(0, -1);
  return lines.flatMap((line) => {
    if (!line.includes('"kind":"controlled"')) return [];
    return [JSON.parse(line) as LoggedControl];
  });
}
