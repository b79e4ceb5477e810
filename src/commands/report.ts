import type { Argv } from 'yargs';
import { type Arguments, common } from '../base/command.js';
import { type CommandContext, shownPath } from '../base/context.js';

export const options = (y: Argv) =>
  y
    .positional('run', common.run)
    .option('runs-dir', common.runsDir)
    .example('$0 report cartpole', 'after an update of policyloop, or for a run that crashed');

type Args = Arguments<typeof options>;

/** `policyloop report <run>`. */
export async function execute({ run, runsDir }: Args, { cwd, print }: CommandContext): Promise<number> {
  const { findPlay } = await import('../play/played.js');
  const play = findPlay({ run, runsDir }, { cwd });
  if (play !== undefined) {
    const { writePlayPage } = await import('../play/play-page.js');
    print(shownPath(writePlayPage(play), cwd));
    return 0;
  }
  const { findRun } = await import('../runs/finder.js');
  const { writeReport } = await import('../report/write-report.js');
  print(shownPath(await writeReport(findRun(run, { cwd, runsDir })), cwd));
  return 0;
}
