/** Hands the runs of a plan to Slurm, and tells what became of them. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type CommandContext, shownPath } from '../../base/context.js';
import { UserError } from '../../base/errors.js';
import { packageRoot } from '../../base/package.js';
import type { SlurmConfig } from '../../config/slurm.js';
import { plural } from '../../format/numbers.js';
import { makeDirectory, plainName, readJson, replaceFile } from '../../storage/files.js';
import { isComplete } from '../open.js';
import type { Elsewhere } from '../plan.js';
import { writeUses } from '../play.js';
import { jobScript } from './job-script.js';

const run = promisify(execFile);

/** A task of the array as Slurm tells of it. */
interface TaskState {
  readonly task: string;
  readonly state: string;
  readonly node: string;
}

/**
 * What plays a plan on a cluster: where tasks of it are queued or run, that is told; otherwise the runs that are left are
 * handed over, and nothing where none is left.
 * @param words of the command whose tasks play parts: without the program, with the directory
 */
export function onSlurm(
  slurm: SlurmConfig,
  words: (directory: string) => readonly string[],
  context: Pick<CommandContext, 'cwd' | 'note'>,
): Elsewhere {
  return async (plan, directory) => {
    const { entries } = plan;
    const left = entries.filter(({ path }) => !isComplete(join(directory, path)));
    const folder = join(directory, 'slurm');
    const record = join(folder, 'job.json');
    const { job } = (readJson(record) ?? {}) as { readonly job?: string };
    const states = job === undefined ? [] : await statesOf(job);
    const progress = `${entries.length - left.length} of ${plural(entries.length, 'run')} complete`;
    if (states.length > 0) {
      context.note(`job ${job}: ${progress}; ${countsOf(states)}`);
      for (const { task, state, node } of states.slice(0, mostShown))
        context.note(`  task ${task}  ${state.toLowerCase()}${node === '' ? '' : `  on ${node}`}`);
      if (states.length > mostShown) context.note(`  … and ${states.length - mostShown} more`);
      return true;
    }
    if (left.length === 0) return false;
    const tasks = Math.min(slurm.tasks, entries.length);
    makeDirectory(folder);
    if (plan.sharesLimits) writeUses(plan, directory, tasks);
    const script = join(folder, 'job.sh');
    const program = [process.execPath, join(packageRoot(), 'dist', 'src', 'cli.js')];
    const name = plainName(`policyloop-${directory.split('/').at(-1)!}`, 'policyloop');
    const command = [...program, ...words(directory)];
    replaceFile(script, jobScript({ command, cwd: context.cwd, log: folder, name, tasks }, slurm));
    const id = (await asked('sbatch', ['--parsable', script])).split(';')[0]!.trim();
    replaceFile(record, `${JSON.stringify({ job: id, tasks })}\n`);
    context.note(
      `job ${id}: ${plural(left.length, 'run')} of ${entries.length} left to ${plural(tasks, 'task')}; output in ${shownPath(folder, context.cwd)}; the same command tells how far they are, and in the end the result`,
    );
    return true;
  };
}

const mostShown = 20;

function countsOf(states: readonly TaskState[]): string {
  const counts = new Map<string, number>();
  for (const { state } of states) counts.set(state, (counts.get(state) ?? 0) + 1);
  return [...counts].map(([state, count]) => `${count} ${state.toLowerCase()}`).join(', ');
}

/** Tasks that are queued or run; none where Slurm knows the job no more. */
async function statesOf(job: string): Promise<readonly TaskState[]> {
  const told = await asked('squeue', ['--noheader', '--array', '--format=%F|%K|%T|%N', '--me']);
  return told.split('\n').flatMap((line) => {
    const [own, task = '', state = '', node = ''] = line.trim().split('|');
    return own === job && !/COMPLETING/.test(state) ? [{ task, state, node }] : [];
  });
}

/** @throws UserError where Slurm is not there, or refuses */
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
