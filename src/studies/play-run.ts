import { join } from 'node:path';
import type { CommandContext } from '../context.js';
import { UserError } from '../errors.js';
import { factsOf, resultOf } from '../runs/facts.js';
import { openRepeat } from './repeats.js';
import { runAndReport } from './single-run.js';
import type { PlannedRun } from './study.js';
import type { StudyDisplay } from './study-progress.js';

/**
 * Plays a run of a study to its end, or as far as a Ctrl-C lets it, unless it is there already.
 * @returns why it failed, undefined where it did not
 */
export async function playRun(
  run: PlannedRun,
  directory: string,
  display: StudyDisplay,
  context: CommandContext,
): Promise<string | undefined> {
  const path = join(directory, run.path);
  display.begin(run);
  try {
    const opened = await openRepeat(path, run.config, context);
    if (opened !== undefined) {
      const show = { show: display.event, close: () => undefined };
      await runAndReport(opened.assembly, opened.directory, show, context);
    }
  } catch (error) {
    if (error instanceof UserError) return error.message;
    throw error;
  }
  const facts = factsOf(path);
  const { status, reason } = facts.manifest;
  if (status === 'failed') {
    return reason !== undefined && 'message' in reason ? reason.message : 'the run failed';
  }
  display.end(run, resultOf(facts, context.cwd));
  return undefined;
}
