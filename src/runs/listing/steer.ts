/** Sends commands (pause, resume, stop, set) to runs in progress and reports the results. */
import { closeSync, existsSync, lstatSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type CommandContext, shownPath } from '../../base/context.js';
import { UserError } from '../../base/errors.js';
import { longestLine } from '../../storage/json-lines.js';
import { isLocked } from '../../storage/lock.js';
import { openRegularFile, readBytes } from '../../storage/regular-file.js';
import { jobsAsked, planAt } from '../finder.js';
import { type RunStatus, runFiles } from '../reader.js';
import {
  askOf,
  type Controlled,
  type ControlRequest,
  controlledText,
  type LoggedControl,
  notPlayed,
} from '../requests.js';
import { summaryOf } from '../summary.js';
import { readTraining } from '../training/trainings.js';
import { isTraining, trainingFiles } from '../training-files.js';
import { findPlayed } from './names.js';

export interface Steered {
  /** Path of the run, training run or plan. */
  readonly run: string;
  readonly action: Controlled['action'];
  /** `asked`: not executed yet, e.g. because an iteration is in flight; `ended`: the run ended before executing it. */
  readonly outcome: 'done' | 'asked' | 'ended';
  /** The event that the run logged when it executed the command. */
  readonly event?: LoggedControl;
  /** Status of the run afterwards. */
  readonly status: RunStatus;
}

const isLive = (status: RunStatus) => status === 'running' || status === 'paused';

/** Something that a process executes: an experiment, a play, a training run, or a plan. */
interface Played {
  readonly kind: 'run' | 'play' | 'training run' | 'plan';
  readonly status: RunStatus;
  /** The log in which executed commands appear. */
  readonly events: string;
  /** Unit of a training run's progress. */
  readonly unit?: 'step' | 'update';
}

function playedAt(path: string): Played {
  if (isTraining(path)) {
    const { status, unit } = readTraining(path);
    return { kind: 'training run', status, unit, events: join(path, trainingFiles.metrics) };
  }
  if (!existsSync(join(path, runFiles.manifest))) {
    const plan = planAt(path);
    if (plan !== undefined)
      return { kind: 'plan', status: isLocked(plan.lock) ? 'running' : 'interrupted', events: plan.changes };
  }
  const { manifest, status } = summaryOf(path);
  const kind = manifest.play === undefined ? 'run' : 'play';
  return { kind, status, events: join(path, runFiles.events) };
}

/** How long to wait for a paused process, which polls for commands several times a second. */
export const secondsToAnswer = 10;

/** True for an experiment, the only kind of run whose settings `set` can change. */
const isPlainRun = (path: string): boolean => playedAt(path).kind === 'run';

/** True if a process is executing the plan in a directory. */
function isPlayedPlan(path: string): boolean {
  const plan = planAt(path);
  return plan !== undefined && isLocked(plan.lock);
}

/** Call this only for a run that a process executes. @throws UserError if the run isn't paused */
export function requirePaused(path: string): void {
  const { kind, status } = playedAt(path);
  if (status === 'paused') return;
  const change = kind === 'run' ? `; to change its settings, run policyloop set ${path} key=value` : '';
  throw new UserError({
    ...{ field: 'run', value: path, message: `this ${kind} is already running` },
    remedy: `to stop it, run policyloop stop ${path}${change}`,
  });
}

const playedOf = (paths: readonly string[]): readonly string[] =>
  paths.filter((path) => isLive(playedAt(path).status));

/**
 * Sends a command to the process that executes `path`, and waits up to `seconds` for the command to be executed.
 * @throws UserError if no process executes `path`, or its settings can't change while it is running
 */
export async function steer(path: string, request: ControlRequest, seconds: number): Promise<Steered> {
  const { events, kind, status, unit } = playedAt(path);
  if (!isLive(status)) throw notPlayed(path, status, remedyFor(path, request, status, kind));
  if (request.action === 'set' && kind !== 'run' && kind !== 'plan')
    throw new UserError({
      ...{ field: 'run', value: path, message: `the settings of a ${kind} can't change while it is running` },
      remedy: 'stop it with policyloop stop, change the settings that can be changed, then resume it',
    });
  const from = lstatSync(events, { throwIfNoEntry: false })?.size ?? 0;
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

/** False while the status doesn't show a pause or resume yet, which is logged before the status changes. */
const isSettled = ({ action }: ControlRequest, status: RunStatus) =>
  action === 'pause' ? status !== 'running' : action !== 'resume' || status !== 'paused';

function remedyFor(path: string, request: ControlRequest, status: RunStatus, kind: Played['kind']): string {
  if (kind === 'training run' && status !== 'completed')
    return `policyloop show ${path} prints the command that resumes it`;
  if (request.action === 'set')
    return `resume it with policyloop resume ${path} ${request.overrides.join(' ')}`;
  return status === 'completed'
    ? 'choose a run that is in progress'
    : `resume it with policyloop resume ${path}`;
}

/** Executed commands that were logged after byte `from` of the file. */
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
    // Training runs log a step or update instead of an iteration.
    const { step, ...event } = JSON.parse(line) as LoggedControl & { readonly step?: number };
    return [step === undefined ? event : { ...event, iteration: step, unit: unit ?? 'step' }];
  });
}

const expected = {
  pause: 'will pause once its current iteration or step is complete',
  resume: 'will resume shortly',
  stop: 'will stop as soon as possible',
  set: 'will apply the change once its current iteration or step is complete',
} as const;

/** Example: `buffers/cartpole  paused after iteration 12`. */
export function steeredText({ action, event, outcome, run, status }: Steered, cwd: string): string {
  const name = shownPath(run, cwd);
  if (outcome === 'ended') return `${name}  ended before the command could take effect (${status})`;
  if (event === undefined) return `${name}  requested: it ${expected[action]}`;
  const isRefused = event.changes?.length === 0;
  return `${name}  ${isRefused ? 'nothing changed' : controlledText(event)}`;
}

interface SteerArguments {
  readonly runs: readonly string[];
  readonly runsDir: string;
  readonly wait: number;
  readonly json: boolean;
}

/**
 * @param check throws if a run can't execute the command
 * @throws UserError if none of the runs is in progress
 */
export async function steerRuns(
  { json, runs, runsDir, wait }: SteerArguments,
  request: ControlRequest,
  { cwd, print }: Pick<CommandContext, 'cwd' | 'print'>,
  check: (path: string) => void = () => undefined,
): Promise<number> {
  if (!(wait >= 0))
    throw new UserError({ field: '--wait', value: wait, message: 'must be a number of seconds, 0 or more' });
  // Only `stop` and `set jobs=…` go to the process that executes a plan; other commands go to each of its runs.
  const found = findPlayed(runs, { cwd, runsDir }, isOfPlans(request) ? isPlayedPlan : () => false);
  if (request.action === 'set') requirePlans(request.overrides, found);
  const live = playedOf(found);
  // Skip runs that aren't in progress, unless there is only one.
  const asked = found.length === 1 ? found : live;
  if (asked.length === 0)
    throw new UserError({
      ...{ field: 'run', value: runs.join(' '), message: 'none of these runs is in progress' },
      remedy: 'list running runs with policyloop list status=running',
    });
  for (const path of live) if (isPlainRun(path)) check(path);
  const steered = await Promise.all(asked.map((path) => steer(path, request, wait)));
  const shown: readonly Steered[] = steered.map((one) => ({ ...one, run: shownPath(one.run, cwd) }));
  print(json ? JSON.stringify(shown) : steered.map((one) => steeredText(one, cwd)).join('\n'));
  return 0;
}

/** True if the command is for the process that executes a plan. */
const isOfPlans = (request: ControlRequest): boolean =>
  request.action === 'stop' || (request.action === 'set' && jobsAsked(request.overrides) !== undefined);

/**
 * @throws UserError if `jobs` is invalid, combined with other settings, or set for anything but a running plan
 */
function requirePlans(overrides: readonly string[], found: readonly string[]): void {
  const jobs = jobsAsked(overrides);
  if (jobs === undefined) return;
  const field = { field: 'jobs', value: overrides.join(' ') };
  if (jobs === 'wrong')
    throw new UserError({
      ...field,
      message: 'must be the only setting, and a count from 1 to 9999',
      remedy: 'use jobs=4, and change other settings with a separate command',
    });
  const other = found.find((path) => !isPlayedPlan(path));
  if (other === undefined) return;
  throw new UserError({
    ...field,
    message: `no command is executing several runs in ${other}`,
    remedy: 'choose a directory whose runs a command is executing, such as a running sweep or repeats',
  });
}

/** Resumes a paused process. @returns the exit code @throws UserError if it isn't paused */
export async function goOn(
  path: string,
  json: boolean,
  { cwd, print }: Pick<CommandContext, 'cwd' | 'print'>,
): Promise<number> {
  requirePaused(path);
  const steered = await steer(path, { action: 'resume' }, secondsToAnswer);
  const shown: Steered = { ...steered, run: shownPath(path, cwd) };
  print(json ? JSON.stringify(shown) : steeredText(steered, cwd));
  return 0;
}

/**
 * Resumes a paused training run.
 * @returns the exit code
 * @throws UserError if it isn't paused (after it has ended, only its own command can resume it), or for any override
 */
export async function goOnTraining(
  path: string,
  { json, overrides }: { readonly json: boolean; readonly overrides: readonly string[] },
  context: Pick<CommandContext, 'cwd' | 'print'>,
): Promise<number> {
  const { command, status } = readTraining(path);
  if (status !== 'running' && status !== 'paused')
    throw new UserError({
      ...{ field: 'run', value: path, message: `this training run isn't running: it is ${status}` },
      remedy:
        status === 'completed'
          ? `policyloop show ${path} shows its result and how to use it`
          : `resume it with ${command ?? 'the command that started it'}`,
    });
  refuseChanges(overrides);
  return goOn(path, json, context);
}

/** @throws UserError for any override, because only experiments accept settings while running */
export function refuseChanges(overrides: readonly string[]): void {
  if (overrides.length === 0) return;
  throw new UserError({
    ...{ field: 'overrides', value: overrides.join(' ') },
    message: "the settings can't change while the run is in progress",
    remedy: 'omit the settings, or stop the run first',
  });
}
