/** Has the runs of a plan played on a cluster. */
import { join } from 'node:path';
import type { CommandContext } from '../base/context.js';
import { withoutOverrides } from '../base/overrides-apart.js';
import { loadSlurm } from '../config/load.js';
import type { SlurmConfig } from '../config/slurm.js';
import { plural } from '../format/numbers.js';
import { isComplete } from './open.js';
import type { Elsewhere } from './plan.js';
import { writeUses } from './play.js';
import { isAtWork, submit, taskWords } from './slurm/hand-over.js';

/**
 * What plays a plan on a cluster: where tasks of it are queued or run, that is told; otherwise the runs that are left are
 * handed over, and nothing where none is left.
 * @param words of the command whose tasks play parts: without the program, with the directory
 * @param again the command that tells how far they are (default: the same)
 */
export function onSlurm(
  slurm: SlurmConfig,
  words: (directory: string) => readonly string[],
  context: Pick<CommandContext, 'cwd' | 'note'>,
  again?: string,
): Elsewhere {
  return async (plan, directory) => {
    const { entries } = plan;
    const left = entries.filter(({ path }) => !isComplete(join(directory, path)));
    const complete = entries.length - left.length;
    if (await isAtWork(directory, `${complete} of ${plural(entries.length, 'run')} complete`, context))
      return true;
    if (left.length === 0) return false;
    const tasks = Math.min(slurm.tasks, entries.length);
    if (plan.sharesLimits) writeUses(plan, directory, tasks);
    const what = `${plural(left.length, 'run')} of ${entries.length}`;
    const part = `--part "$SLURM_ARRAY_TASK_ID/${tasks}" --quiet --json`;
    await submit({ directory, words: words(directory), part, tasks, what, again }, slurm, context);
    return true;
  };
}

/** The same for a study, by the section of its first config. @param given configs, of which there is one at least, and key=value for all */
export function studyOnSlurm(given: readonly string[], context: CommandContext): Elsewhere {
  const { files, overrides } = withoutOverrides(given);
  const slurm = loadSlurm({ file: files[0]!, overrides, cwd: context.cwd });
  return onSlurm(slurm, taskWords(context, '--out'), context);
}
