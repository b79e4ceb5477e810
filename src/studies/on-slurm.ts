/** Plays the runs of a plan on a cluster. */
import { join } from 'node:path';
import type { CommandContext } from '../base/context.js';
import { withoutOverrides } from '../base/overrides-apart.js';
import { loadSlurm } from '../config/load.js';
import type { SlurmConfig } from '../config/many-runs.js';
import { plural } from '../format/numbers.js';
import { isComplete } from './open.js';
import type { Elsewhere, Plan, PlanEntry } from './plan.js';
import { isIn, writeUses } from './play-run.js';
import { isAtWork, submit, taskWords } from './slurm/hand-over.js';
import { type PlanEnd, takePartEnds } from './slurm/part-ends.js';

/**
 * Plays a plan on a cluster. If tasks of the plan are queued or running, reports that; otherwise submits the
 * remaining runs. If tasks have reported why they left all of these, returns their report first; the next
 * command then submits the runs again.
 * @param words arguments of the command whose tasks play parts, including the directory but not the program
 * @param again the command that reports their progress (default: the same one)
 */
export function onSlurm(
  slurm: SlurmConfig,
  words: (directory: string) => readonly string[],
  context: Pick<CommandContext, 'cwd' | 'note'>,
  again?: string,
): Elsewhere {
  // The rounds of a plan share the reports of the ended job's tasks, so these are taken only once.
  let ended: PlanEnd | undefined;
  return async (plan, directory) => {
    const { entries } = plan;
    const left = entries.filter(({ path }) => !isComplete(join(directory, path)));
    const complete = entries.length - left.length;
    if (await isAtWork(directory, `${complete} of ${plural(entries.length, 'run')} complete`, context))
      return undefined;
    ended ??= takePartEnds(directory);
    const end = endOf(plan, left, ended);
    if (end !== undefined) return end;
    const of = Math.min(slurm.tasks, entries.length);
    if (plan.sharesLimits) writeUses(plan, directory, of);
    const isLeft = new Set(left);
    const tasks = Array.from({ length: of }, (_, index) => index).filter((index) =>
      entries.filter(isIn({ index, of })).some((entry) => isLeft.has(entry)),
    );
    const what = `${plural(left.length, 'run')} of ${entries.length}`;
    const part = `--part "$SLURM_ARRAY_TASK_ID/${of}" --quiet --json`;
    await submit({ directory, words: words(directory), part, tasks, what, again }, slurm, context);
    return undefined;
  };
}

/** The reason for not submitting the remaining runs; undefined if they should be submitted. */
function endOf({ afterFailure }: Plan, left: readonly PlanEntry[], told: PlanEnd): PlanEnd | undefined {
  const messages = new Map(told.failures.map(({ run, message }) => [run, message]));
  const failed = left.filter(({ path }) => messages.has(path));
  const label = afterFailure?.label;
  const labels = new Set(label === undefined ? [] : failed.map((entry) => entry[label]));
  const isTold = (entry: PlanEntry) =>
    messages.has(entry.path) || (label !== undefined && labels.has(entry[label]));
  const limit = left.length > 0 ? told.limit : undefined;
  if (limit === undefined && !left.every(isTold)) return undefined;
  return { failures: failed.map(({ path }) => ({ run: path, message: messages.get(path)! })), limit };
}

/**
 * The same for a study, using the `slurm` section of its first config. @param given at least one config, plus
 * key=value overrides for all
 */
export function studyOnSlurm(given: readonly string[], context: CommandContext): Elsewhere {
  const { files, overrides } = withoutOverrides(given);
  const slurm = loadSlurm({ file: files[0]!, overrides, cwd: context.cwd });
  return onSlurm(slurm, taskWords(context, '--out'), context);
}
