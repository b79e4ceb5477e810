/** `policyloop pause`, `stop` and `set`: the live runs that names mean, each asked, and the answers printed. */
import { type CommandContext, shownPath } from '../base/context.js';
import { UserError } from '../base/errors.js';
import type { SteeringRequest } from '../runs/control.js';
import { jobsAsked } from '../runs/plans.js';
import { trainingFacts } from '../runs/training/trainings.js';
import { findPlayed } from './names.js';
import {
  isPlainRun,
  isPlayedPlan,
  playedOf,
  requirePaused,
  type Steered,
  secondsToAnswer,
  steer,
} from './steer.js';
import { steeredText } from './steered-text.js';

interface SteerArguments {
  readonly runs: readonly string[];
  readonly runsDir: string;
  /** Seconds. */
  readonly wait: number;
  readonly json: boolean;
}

/**
 * @param check throws where a run can't be asked that
 * @throws UserError where no process plays any of the runs
 */
export async function steerRuns(
  { json, runs, runsDir, wait }: SteerArguments,
  request: SteeringRequest,
  { cwd, print }: Pick<CommandContext, 'cwd' | 'print'>,
  check: (path: string) => void = () => undefined,
): Promise<number> {
  if (!(wait >= 0)) throw new UserError({ field: '--wait', value: wait, message: 'give seconds, 0 or more' });
  // What is asked of the runs of a plan one by one is not asked of the process that plays them in turn.
  const found = findPlayed(runs, { cwd, runsDir }, isOfPlans(request) ? isPlayedPlan : () => false);
  if (request.action === 'set') requirePlans(request.overrides, found);
  const live = playedOf(found);
  // Where several are named, those that nobody plays are no mistake.
  const asked = found.length === 1 ? found : live;
  if (asked.length === 0)
    throw new UserError({
      ...{ field: 'run', value: runs.join(' '), message: 'no process plays any of these runs' },
      remedy: 'policyloop list status=running shows those that are played',
    });
  for (const path of live) if (isPlainRun(path)) check(path);
  const steered = await Promise.all(asked.map((path) => steer(path, request, wait)));
  const shown: readonly Steered[] = steered.map((one) => ({ ...one, run: shownPath(one.run, cwd) }));
  print(json ? JSON.stringify(shown) : steered.map((one) => steeredText(one, cwd)).join('\n'));
  return 0;
}

/** Whether it is asked of whoever plays many runs: how many at once, and to begin no more. */
const isOfPlans = (request: SteeringRequest): boolean =>
  request.action === 'stop' || (request.action === 'set' && jobsAsked(request.overrides) !== undefined);

/** @throws UserError where `jobs` is no count, stands beside other settings, or is asked of what is no plan */
function requirePlans(overrides: readonly string[], found: readonly string[]): void {
  const jobs = jobsAsked(overrides);
  if (jobs === undefined) return;
  const field = { field: 'jobs', value: overrides.join(' ') };
  if (jobs === 'wrong')
    throw new UserError({
      ...field,
      message: 'is asked for alone, as a count from 1 to 9999',
      remedy: 'jobs=4; what else changes is a setting of runs, by a command of its own',
    });
  const other = found.find((path) => !isPlayedPlan(path));
  if (other === undefined) return;
  throw new UserError({
    ...field,
    message: `nobody plays several runs in ${other}`,
    remedy:
      'name the directory of repeats, controls, a sweep, an evaluation or a collection that is being played',
  });
}

/**
 * Lets the process that something is paused in go on with it. @returns the exit code
 * @throws UserError where it is not paused
 */
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
 * Lets a paused training go on. @returns the exit code
 * @throws UserError where no process holds it: only its own command has all that it goes on with
 */
export async function goOnTraining(
  path: string,
  { json, overrides }: { readonly json: boolean; readonly overrides: readonly string[] },
  context: Pick<CommandContext, 'cwd' | 'print'>,
): Promise<number> {
  const { command, status } = trainingFacts(path);
  if (status !== 'running' && status !== 'paused')
    throw new UserError({
      ...{ field: 'run', value: path, message: `no process holds this training: it is ${status}` },
      remedy: `${command ?? 'the command that began it'} goes on with it`,
    });
  refuseChanges(overrides);
  return goOn(path, json, context);
}

/** @throws UserError for settings, which only runs take over while they go on */
export function refuseChanges(overrides: readonly string[]): void {
  if (overrides.length === 0) return;
  throw new UserError({
    ...{ field: 'overrides', value: overrides.join(' ') },
    message: 'nothing of it can change while a process holds it',
    remedy: 'leave them out, or stop it first',
  });
}
