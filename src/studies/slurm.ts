/** Submits a Slurm job for the runs of a directory, and reports its progress. */

import { execFile } from 'node:child_process';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type CommandContext, shownPath } from '../base/context.js';
import { UserError } from '../base/errors.js';
import { makeDirectory, plainName, readOwnJson, replaceFile } from '../base/files/files.js';
import { groupedBy } from '../base/grouped.js';
import { plural } from '../base/text/numbers.js';
import { shellWord } from '../base/text/one-line.js';
import type { SlurmConfig } from '../config/many-runs.js';
import { isSweepLimitRaised } from '../runs/fingerprint.js';
import { readManifest } from '../runs/reader.js';
import { dropStopRequest } from '../runs/stop-request.js';
import { isInPart, shareOf } from './part.js';
import { isComplete, type Plan, type PlanEntry } from './plan.js';
import { recordedEnd } from './run-entry.js';
import { hasLimits } from './shared-limits.js';

const run = promisify(execFile);

/** Options for display and submission, which aren't passed on to tasks. */
const ofShowing = /^--(slurm|quiet|json|open)(=|$)/;

/** The arguments of each task, derived from the submitting command. */
function taskWords({ words = [] }: Pick<CommandContext, 'words'>, directory: string): readonly string[] {
  const given = words.filter((word) => !ofShowing.test(word));
  const isNamed = given.some((word) => word === '--out' || word.startsWith('--out='));
  return isNamed ? given : [...given, '--out', directory];
}

const recordOf = (directory: string) => join(directory, 'slurm', 'job.json');

const writeRecord = (directory: string, record: JobRecord) =>
  replaceFile(recordOf(directory), `${JSON.stringify(record)}\n`);

/** The last job of a directory. */
interface JobRecord {
  /** Absent after the result of the job was shown. */
  readonly job?: string;
  /** Number of parts into which the runs are divided. */
  readonly tasks: number;
}

const cli = fileURLToPath(new URL('../cli.js', import.meta.url));

/**
 * @param words the arguments of each task
 * @param tasks numbers of the tasks that have runs left, ascending
 * @param what the remaining work for display, e.g. `3 of 8 runs`
 * @throws UserError if Slurm isn't available or refuses
 */
async function submit(
  directory: string,
  {
    of,
    tasks,
    what,
    words,
  }: { of: number; tasks: readonly number[]; what: string; words: readonly string[] },
  slurm: SlurmConfig,
  { cwd, note }: Pick<CommandContext, 'cwd' | 'note'>,
): Promise<void> {
  const log = join(directory, 'slurm');
  makeDirectory(log);
  const script = join(log, 'job.sh');
  const command = [process.execPath, cli, ...words];
  const part = `--part "$SLURM_ARRAY_TASK_ID/${of}" --quiet --json`;
  const name = plainName(`policyloop-${directory.split('/').at(-1)!}`, 'policyloop');
  replaceFile(script, jobScript({ command, part, cwd, log, name, tasks }, slurm));
  const id = (await asked('sbatch', ['--parsable', script])).split(';')[0]!.trim();
  writeRecord(directory, { job: id, tasks: of });
  note(
    `job ${id}: ${what} submitted in ${plural(tasks.length, 'task')}; output in ${shownPath(log, cwd)}; the same command shows their progress and, at the end, the result`,
  );
}

/** Example: `3 running, 5 pending`. */
const countsOf = (states: readonly string[]): string =>
  [...groupedBy(states, (state) => state.toLowerCase())]
    .map(([state, { length }]) => `${length} ${state}`)
    .join(', ');

/** States of the tasks that are queued or running; empty if Slurm no longer knows the job. */
async function statesOf(job: string): Promise<readonly string[]> {
  const told = await asked('squeue', ['--noheader', '--array', '--format=%F|%T', '--me']);
  return told.split('\n').flatMap((line) => {
    const [own, state = ''] = line.trim().split('|');
    return own === job && !state.includes('COMPLETING') ? [state] : [];
  });
}

/** @throws UserError if Slurm isn't available or refuses */
async function asked(program: string, args: readonly string[]): Promise<string> {
  try {
    return (await run(program, [...args])).stdout;
  } catch (error) {
    const { code, stderr = '' } = error as { readonly code?: unknown; readonly stderr?: string };
    throw new UserError({
      field: '--slurm',
      message:
        code === 'ENOENT'
          ? `${program} is not installed on this machine`
          : `${program} failed: ${stderr.trim().split('\n').slice(-3).join(' ')}`,
      hint:
        code === 'ENOENT'
          ? 'run this command on a machine that can submit jobs, or omit --slurm'
          : program !== 'sbatch'
            ? 'repeat the command when Slurm responds again'
            : 'check the resources requested by slurm.partition, slurm.account, slurm.time and the other keys',
    });
  }
}

/**
 * Leaves the remaining runs of a plan to a cluster: prints the progress of tasks that are queued or running, otherwise
 * submits runs. Once a job has ended in which all runs that are left failed, were skipped or reached a shared limit,
 * they are submitted only by the next command.
 * @returns false if nothing is left to the cluster, so that the result can be shown
 */
export async function runOnCluster(
  slurm: SlurmConfig,
  plan: Plan,
  directory: string,
  context: CommandContext,
): Promise<boolean> {
  const { entries } = plan;
  const of = Math.min(slurm.tasks, entries.length);
  const limits = shareOf(plan.limits ?? {}, { of });
  const left = entries.filter(({ path }) => {
    const run = join(directory, path);
    return !isComplete(run) || isSweepLimitRaised(readManifest(run), limits);
  });
  const { job, tasks: before } = (readOwnJson(recordOf(directory)) ?? { tasks: of }) as JobRecord;
  if (job !== undefined) {
    const states = await statesOf(job);
    if (states.length > 0) {
      const complete = entries.length - left.length;
      context.note(
        `job ${job}: ${complete} of ${plural(entries.length, 'run')} complete; ${countsOf(states)}`,
      );
      return true;
    }
    writeRecord(directory, { tasks: before });
    if (isOver(entries, left, directory)) return false;
  }
  if (left.length === 0) return false;
  if (before !== of && hasLimits(plan))
    throw new UserError({
      field: 'slurm.tasks',
      value: slurm.tasks,
      message: `can't change in a sweep with limits, which ${before} tasks have divided`,
    });
  const isLeft = new Set(left);
  const tasks = Array.from({ length: of }, (_, index) => index).filter((index) =>
    entries.filter(isInPart({ index, of })).some((entry) => isLeft.has(entry)),
  );
  const what = `${left.length} of ${plural(entries.length, 'run')}`;
  dropStopRequest(directory);
  await submit(directory, { of, tasks, what, words: taskWords(context, directory) }, slurm, context);
  return true;
}

/** True if all runs that are left failed or were skipped after a failure, or if a shared limit was reached. */
function isOver(entries: readonly PlanEntry[], left: readonly PlanEntry[], directory: string): boolean {
  const endOf = ({ path }: PlanEntry) => recordedEnd(join(directory, path));
  const failed = new Set(left.flatMap((entry) => (endOf(entry)?.kind === 'failed' ? [entry.arm] : [])));
  if (left.every(({ arm }) => failed.has(arm))) return true;
  return entries.some((entry) => {
    const end = endOf(entry);
    return end?.kind === 'completed' && end.limit !== undefined && !left.includes(entry);
  });
}

interface Job {
  /** Program and arguments. */
  readonly command: readonly string[];
  /** Text to append to the command, in shell syntax. */
  readonly part: string;
  readonly cwd: string;
  /** Folder for the tasks' output. */
  readonly log: string;
  readonly name: string;
  /** Numbers of the tasks, ascending. */
  readonly tasks: readonly number[];
}

export function jobScript({ command, part, cwd, log, name, tasks }: Job, slurm: SlurmConfig): string {
  const asked = [
    `job-name=${name}`,
    `array=${numbers(tasks)}${slurm.atOnce === undefined ? '' : `%${slurm.atOnce}`}`,
    `time=${slurm.time}`,
    'ntasks=1',
    `cpus-per-task=${slurm.cpus}`,
    ...(slurm.partition === undefined ? [] : [`partition=${slurm.partition}`]),
    ...(slurm.account === undefined ? [] : [`account=${slurm.account}`]),
    ...(slurm.memory === undefined ? [] : [`mem=${slurm.memory}`]),
    ...(slurm.gpus === undefined ? [] : [`gpus-per-task=${slurm.gpus}`]),
    'requeue',
    'open-mode=append',
    // Requests USR1 instead of TERM, which `scancel` also sends: a cancelled job must not be requeued.
    `signal=B:USR1@${slurm.notice}`,
    `output=${pathForSlurm(log, '/%A_%a.log')}`,
  ];
  return `#!/bin/bash
# Written by policyloop. Tasks skip complete runs, so they can be queued again at any time.
${asked.map((option) => `#SBATCH --${option}`).join('\n')}

cd -- ${shellWord(cwd)} || exit 2
${slurm.setup === undefined ? '' : `. ${shellWord(resolve(cwd, slurm.setup))} || exit 2\n`}
told=
player=
ended=
# Stops the player, which saves its progress.
close_it() {
  ended=1
  if [ -n "$player" ]; then kill -TERM "$player" 2>/dev/null; fi
}
# Slurm sends USR1 shortly before the time limit: the task is then requeued. A cancelled task (TERM) is not.
trap 'told=1; close_it' USR1
trap close_it TERM

${command.map(shellWord).join(' ')} ${part} &
player=$!
# The signal may have arrived before the player's process ID was known.
if [ -n "$ended" ]; then close_it; fi
wait "$player"
code=$?
if [ -n "$ended" ]; then
  # The signal interrupted the first wait.
  wait "$player"
  code=$?
fi
if [ -n "$told" ]; then
  scontrol requeue "\${SLURM_ARRAY_JOB_ID}_\${SLURM_ARRAY_TASK_ID}"
  exit 0
fi
exit "$code"
`;
}

/** Formats numbers for `sbatch`, e.g. as `0-3,7`. */
function numbers(tasks: readonly number[]): string {
  const first = tasks.filter((task) => !tasks.includes(task - 1));
  const last = tasks.filter((task) => !tasks.includes(task + 1));
  return first.map((from, i) => (from === last[i] ? String(from) : `${from}-${last[i]}`)).join(',');
}

/**
 * Quotes a path for an `sbatch` script and escapes `%`.
 * @param pattern text appended to the path; Slurm expands `%A` and the like in it
 */
const pathForSlurm = (path: string, pattern: string) =>
  `"${path.replaceAll('%', '%%').replaceAll(/["\\]/g, '\\$&')}${pattern}"`;
