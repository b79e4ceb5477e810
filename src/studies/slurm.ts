/** Submits a Slurm job for the runs of a directory, and reports its progress. */

import { execFile } from 'node:child_process';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type CommandContext, shownPath } from '../base/context.js';
import { UserError } from '../base/errors.js';
import { makeDirectory, plainName, readOwnJson, replaceFile } from '../base/files/files.js';
import { groupBy } from '../base/grouped.js';
import { plural } from '../base/text/numbers.js';
import { shellWord } from '../base/text/one-line.js';
import type { SlurmConfig } from '../config/many-runs.js';
import { isSweepLimitRaised } from '../runs/fingerprint.js';
import { readManifest } from '../runs/reader.js';
import { removeStopRequest } from '../runs/stop-request.js';
import { divideLimits, isInPart } from './part.js';
import { isComplete, type Plan, type PlanEntry } from './plan.js';
import { hasLimits } from './shared-limits.js';

const execFileAsync = promisify(execFile);

const recordFile = (directory: string) => join(directory, 'slurm', 'job.json');

const writeRecord = (directory: string, record: JobRecord) =>
  replaceFile(recordFile(directory), `${JSON.stringify(record)}\n`);

/** The last job submitted for a directory. */
interface JobRecord {
  /** Absent once the job's result has been shown. */
  readonly job?: string;
  /** Number of parts into which the runs are divided. */
  readonly tasks: number;
}

const cliPath = fileURLToPath(new URL('../cli.js', import.meta.url));

/** Returns the program and arguments of each task, derived from the submitting command. */
function taskCommand({ words = [] }: Pick<CommandContext, 'words'>, directory: string): readonly string[] {
  // Options for display and submission aren't passed on.
  const passedWords = words.filter((word) => !/^--(slurm|quiet|json|open)(=|$)/.test(word));
  const hasOut = passedWords.some((word) => word === '--out' || word.startsWith('--out='));
  return [process.execPath, cliPath, ...passedWords, ...(hasOut ? [] : ['--out', directory])];
}

/** Example: `3 running, 5 pending`. */
const countsOf = (states: readonly string[]): string =>
  [...groupBy(states, (state) => state.toLowerCase())]
    .map(([state, { length }]) => `${length} ${state}`)
    .join(', ');

/** Returns the states of the job's tasks that are queued or running; tasks that are only completing don't count. */
async function statesOf(job: string): Promise<readonly string[]> {
  const output = await callSlurm('squeue', ['--noheader', '--array', '--format=%F|%T', '--me']);
  return output.split('\n').flatMap((line) => {
    const [jobId, state = ''] = line.trim().split('|');
    return jobId === job && !state.includes('COMPLETING') ? [state] : [];
  });
}

/** @throws UserError if the program isn't installed or fails */
async function callSlurm(program: string, args: readonly string[]): Promise<string> {
  try {
    return (await execFileAsync(program, [...args])).stdout;
  } catch (error) {
    const { code, stderr = '' } = error as { readonly code?: unknown; readonly stderr?: string };
    if (code === 'ENOENT')
      throw new UserError({
        field: '--slurm',
        message: `${program} is not installed on this machine`,
        hint: 'run this command on a machine that can submit jobs, or omit --slurm',
      });
    throw new UserError({
      field: '--slurm',
      message: `${program} failed: ${stderr.trim().split('\n').slice(-3).join(' ')}`,
      hint: `${program === 'sbatch' ? 'check slurm.partition, slurm.account, slurm.time and the other keys, or ' : ''}repeat the command later`,
    });
  }
}

/**
 * Runs the rest of a plan on a cluster: prints the progress of tasks that are queued or running, otherwise submits the
 * remaining runs. When a job has ended, the next command shows its result, and the one after submits what is left.
 * @returns false if the caller should show the result
 */
export async function runOnCluster(
  slurm: SlurmConfig,
  plan: Plan,
  directory: string,
  context: CommandContext,
): Promise<boolean> {
  const { cwd, note } = context;
  const { entries } = plan;
  const runText = plural(entries.length, 'run');
  const count = Math.min(slurm.tasks, entries.length);
  const limits = divideLimits(plan.limits ?? {}, { of: count });
  const isUnfinished = ({ path }: PlanEntry) => {
    const run = join(directory, path);
    return !isComplete(run) || isSweepLimitRaised(readManifest(run), limits);
  };
  const unfinishedCount = entries.filter(isUnfinished).length;
  const { job, tasks: tasksBefore } = (readOwnJson(recordFile(directory)) ?? { tasks: count }) as JobRecord;
  if (job !== undefined) {
    const states = await statesOf(job);
    if (states.length === 0) writeRecord(directory, { tasks: tasksBefore });
    else note(`job ${job}: ${entries.length - unfinishedCount} of ${runText} complete; ${countsOf(states)}`);
    return states.length > 0;
  }
  if (unfinishedCount === 0) return false;
  if (tasksBefore !== count && hasLimits(plan))
    throw new UserError({
      field: 'slurm.tasks',
      value: slurm.tasks,
      message: `can't change in a sweep with limits, which are already divided between ${plural(tasksBefore, 'task')}`,
    });
  const tasks = Array.from({ length: count }, (_, index) => index).filter((index) =>
    entries.filter(isInPart({ index, of: count })).some(isUnfinished),
  );
  removeStopRequest(directory);
  const logFolder = join(directory, 'slurm');
  makeDirectory(logFolder, '--out');
  const script = join(logFolder, 'job.sh');
  const command = taskCommand(context, directory);
  const partOption = `--part "$SLURM_ARRAY_TASK_ID/${count}" --quiet --json`;
  const name = plainName(`policyloop-${basename(directory)}`, 'policyloop');
  replaceFile(script, jobScript({ command, part: partOption, cwd, log: logFolder, name, tasks }, slurm));
  const id = (await callSlurm('sbatch', ['--parsable', script])).split(';')[0]!.trim();
  writeRecord(directory, { job: id, tasks: count });
  note(
    `job ${id}: ${unfinishedCount} of ${runText} submitted in ${plural(tasks.length, 'task')}; output in ${shownPath(logFolder, cwd)}; the same command shows their progress and, at the end, the result`,
  );
  return true;
}

interface SlurmJob {
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

export function jobScript({ command, part, cwd, log, name, tasks }: SlurmJob, slurm: SlurmConfig): string {
  const options = [
    `job-name=${name}`,
    `array=${arrayText(tasks)}${slurm.atOnce === undefined ? '' : `%${slurm.atOnce}`}`,
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
${options.map((option) => `#SBATCH --${option}`).join('\n')}

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
function arrayText(tasks: readonly number[]): string {
  const starts = tasks.filter((task) => !tasks.includes(task - 1));
  const ends = tasks.filter((task) => !tasks.includes(task + 1));
  return starts.map((from, i) => (from === ends[i] ? String(from) : `${from}-${ends[i]}`)).join(',');
}

/**
 * Quotes a path for an `sbatch` script and escapes `%`.
 * @param pattern text appended to the path; Slurm expands `%A` and the like in it
 */
const pathForSlurm = (path: string, pattern: string) =>
  `"${path.replaceAll('%', '%%').replaceAll(/["\\]/g, '\\$&')}${pattern}"`;
