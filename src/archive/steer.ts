/** Asks the processes that play runs to pause, stop or change them, and tells what became of it. */
import { closeSync, existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { UserError } from '../base/errors.js';
import {
  askOf,
  type Controlled,
  type LoggedControl,
  notPlayed,
  type SteeringRequest,
} from '../runs/control.js';
import { factsOf } from '../runs/facts.js';
import { planAt } from '../runs/plans.js';
import { type RunStatus, runFiles } from '../runs/reader.js';
import { trainingFacts } from '../runs/training/trainings.js';
import { isTraining, trainingFiles } from '../runs/training-files.js';
import { longestLine } from '../storage/json-lines.js';
import { isLocked } from '../storage/lock.js';
import { openRegularFile, readBytes } from '../storage/regular-file.js';

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

/** What a process may hold open: a run, the games of a play, a training, many runs that it plays one by one. */
interface Played {
  readonly kind: 'run' | 'play' | 'training' | 'plan';
  readonly status: RunStatus;
  /** File of the log that tells what was heeded. */
  readonly events: string;
  /** What is counted in it, where these are no iterations. */
  readonly unit?: 'step' | 'update';
}

function playedAt(path: string): Played {
  if (isTraining(path)) {
    const { status, unit } = trainingFacts(path);
    return { kind: 'training', status, unit, events: join(path, trainingFiles.metrics) };
  }
  if (!existsSync(join(path, runFiles.manifest))) {
    const plan = planAt(path);
    if (plan !== undefined)
      return { kind: 'plan', status: isLocked(plan.lock) ? 'running' : 'interrupted', events: plan.changes };
  }
  const { manifest, status } = factsOf(path);
  const kind = manifest.play === undefined ? 'run' : 'play';
  return { kind, status, events: join(path, runFiles.events) };
}

/** Within which a paused process answers: it looks for requests several times a second. */
export const secondsToAnswer = 10;

/** Whether it is an experiment, of which `set` may change something. */
export const isPlainRun = (path: string): boolean => playedAt(path).kind === 'run';

/** Whether a process plays the runs of a directory one by one. */
export function isPlayedPlan(path: string): boolean {
  const plan = planAt(path);
  return plan !== undefined && isLocked(plan.lock);
}

/** @throws UserError where a process plays it that is not paused */
export function requirePaused(path: string): void {
  const { kind, status } = playedAt(path);
  if (status === 'paused') return;
  const change = kind === 'run' ? `; policyloop set ${path} key=value changes it while it goes` : '';
  throw new UserError({
    ...{ field: 'run', value: path, message: `a process is playing this ${kind}` },
    remedy: `policyloop stop ${path} ends that${change}`,
  });
}

/** Those among these that a process plays. */
export const playedOf = (paths: readonly string[]): readonly string[] =>
  paths.filter((path) => isLive(playedAt(path).status));

/**
 * Asks the process that plays the run at `path`, and waits for at most `seconds` until that is done.
 * @throws UserError where no process plays it
 */
export async function steer(path: string, request: SteeringRequest, seconds: number): Promise<Steered> {
  const { events, kind, status, unit } = playedAt(path);
  if (!isLive(status)) throw notPlayed(path, status, remedyFor(path, request, status));
  if (request.action === 'set' && kind !== 'run' && kind !== 'plan')
    throw new UserError({
      ...{ field: 'run', value: path, message: `nothing of a ${kind} can change while it goes on` },
      remedy: 'policyloop stop ends it, so that it can go on with other settings, where these may change',
    });
  const from = statSync(events, { throwIfNoEntry: false })?.size ?? 0;
  const number = askOf(path, request);
  const told = { run: path, action: request.action };
  for (let tries = Math.max(1, Math.ceil(10 * seconds)); tries > 0; tries--) {
    await delay(100);
    const event = controlledIn(events, from, unit).find((one) => one.request === number);
    const { status: now } = playedAt(path);
    if (event !== undefined && (isSettled(request, now) || tries === 1))
      return { ...told, outcome: 'done', event, status: now };
    if (!isLive(now)) return { ...told, outcome: 'ended', status: now };
  }
  return { ...told, outcome: 'asked', status: playedAt(path).status };
}

/** Whether a status is read after a request was heeded: the log is written first. */
const isSettled = ({ action }: SteeringRequest, status: RunStatus) =>
  action === 'pause' ? status !== 'running' : action !== 'resume' || status !== 'paused';

function remedyFor(path: string, request: SteeringRequest, status: RunStatus): string {
  if (request.action === 'set')
    return `policyloop resume ${path} ${request.overrides.join(' ')} goes on with it`;
  return status === 'completed' ? 'it has come to its end' : `policyloop resume ${path} goes on with it`;
}

/** What a run logged of requests behind a byte of its events. */
function controlledIn(file: string, from: number, unit: Played['unit']): readonly LoggedControl[] {
  if (!existsSync(file)) return [];
  const { descriptor, size } = openRegularFile(file, 'refuse');
  let bytes: Buffer;
  try {
    bytes = readBytes(descriptor, from, Math.min(Math.max(0, size - from), longestLine));
  } finally {
    closeSync(descriptor);
  }
  const lines = bytes.toString('utf8').split('\n').slice(0, -1);
  return lines.flatMap((line) => {
    if (!line.includes('"kind":"controlled"')) return [];
    // A training counts in steps.
    const { step, ...event } = JSON.parse(line) as LoggedControl & { readonly step?: number };
    return [step === undefined ? event : { ...event, iteration: step, unit: unit ?? 'step' }];
  });
}
