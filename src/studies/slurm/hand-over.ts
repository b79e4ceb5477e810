/** Slurm jobs: submits one for a directory and reports its progress. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type CommandContext, shownPath } from '../../base/context.js';
import { UserError } from '../../base/errors.js';
import { type SlurmConfig, slurmSchema } from '../../config/many-runs.js';
import { plural } from '../../format/numbers.js';
import { makeDirectory, plainName, readOwnJson, replaceFile } from '../../storage/files.js';
import { jobScript } from './job-script.js';

const run = promisify(execFile);

/** A task of the job array as reported by Slurm. */
interface TaskState {
  readonly task: string;
  readonly state: string;
  readonly node: string;
}

/** Options for display and for handing over; tasks set their own. */
const ofShowing = /^--(slurm|quiet|json|open)(=|$)/;

/**
 * The arguments of a task, derived from those of the command that submits it.
 * @param option that names the directory; omitted if the config does
 */
export const taskWords =
  ({ words = [] }: Pick<CommandContext, 'words'>, option?: '--out') =>
  (directory: string): readonly string[] => {
    const given = words.filter((word) => !ofShowing.test(word));
    const isNamed = given.some((word) => word === option || word.startsWith(`${option}=`));
    return option === undefined || isNamed ? given : [...given, option, directory];
  };

/** The settings of a directory's last job; undefined if there was none. */
export function askedBefore(directory: string): SlurmConfig | undefined {
  const { slurm } = (readOwnJson(recordOf(directory)) ?? {}) as { readonly slurm?: unknown };
  return slurmSchema.safeParse(slurm).data;
}

const recordOf = (directory: string) => join(directory, 'slurm', 'job.json');

/** Whether tasks of a directory's job are queued or running; if so, reports that. */
export async function isAtWork(
  directory: string,
  progress: string,
  context: Pick<CommandContext, 'note'>,
): Promise<boolean> {
  const { job } = (readOwnJson(recordOf(directory)) ?? {}) as { readonly job?: string };
  const states = job === undefined ? [] : await statesOf(job);
  if (states.length === 0) return false;
  context.note(`job ${job}: ${progress}; ${countsOf(states)}`);
  for (const { task, state, node } of states.slice(0, mostShown))
    context.note(`  task ${task}  ${state.toLowerCase()}${node === '' ? '' : `  on ${node}`}`);
  if (states.length > mostShown) context.note(`  … and ${states.length - mostShown} more`);
  return true;
}

/** Path of this program's command line. */
const cli = fileURLToPath(new URL('../../cli.js', import.meta.url));

interface Submission {
  /** Directory of the plan, which also holds the job's record. */
  readonly directory: string;
  /** The command's arguments, without the program. */
  readonly words: readonly string[];
  /** What the script appends to them. */
  readonly part: string;
  /** Numbers of the tasks with work to do, ascending. */
  readonly tasks: readonly number[];
  /** A description of the remaining work. */
  readonly what: string;
  readonly again?: string | undefined;
}

/** @throws UserError if Slurm isn't available or refuses */
export async function submit(
  { again = 'the same command', directory, part, tasks, what, words }: Submission,
  slurm: SlurmConfig,
  context: Pick<CommandContext, 'cwd' | 'note'>,
): Promise<void> {
  const folder = join(directory, 'slurm');
  makeDirectory(folder);
  const script = join(folder, 'job.sh');
  const command = [process.execPath, cli, ...words];
  const name = plainName(`policyloop-${directory.split('/').at(-1)!}`, 'policyloop');
  replaceFile(script, jobScript({ command, part, cwd: context.cwd, log: folder, name, tasks }, slurm));
  const id = (await asked('sbatch', ['--parsable', script])).split(';')[0]!.trim();
  replaceFile(recordOf(directory), `${JSON.stringify({ job: id, slurm })}\n`);
  context.note(
    `job ${id}: ${what} left to ${plural(tasks.length, 'task')}; output in ${shownPath(folder, context.cwd)}; ${again} tells how far they are, and in the end the result`,
  );
}

const mostShown = 20;

function countsOf(states: readonly TaskState[]): string {
  const counts = new Map<string, number>();
  for (const { state } of states) counts.set(state, (counts.get(state) ?? 0) + 1);
  return [...counts].map(([state, count]) => `${count} ${state.toLowerCase()}`).join(', ');
}

/** Tasks that are queued or running; empty if Slurm no longer knows the job. */
async function statesOf(job: string): Promise<readonly TaskState[]> {
  const told = await asked('squeue', ['--noheader', '--array', '--format=%F|%K|%T|%N', '--me']);
  return told.split('\n').flatMap((line) => {
    const [own, task = '', state = '', node = ''] = line.trim().split('|');
    return own === job && !/COMPLETING/.test(state) ? [{ task, state, node }] : [];
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
          ? `there is no ${program} here`
          : `${program} refuses: ${stderr.trim().split('\n').slice(-3).join(' ')}`,
      remedy:
        code === 'ENOENT'
          ? 'give this command where jobs are submitted, or leave --slurm out'
          : 'slurm.partition, slurm.account, slurm.time and the others say what is asked for',
    });
  }
}
