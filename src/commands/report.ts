import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Argv } from 'yargs';
import { type Arguments, common } from '../command.js';
import type { CommandContext } from '../context.js';
import { groupReportPath, writeGroupReport, writeRunReport } from '../report/write-report.js';
import { shownPath } from '../runs/facts.js';
import { findRun } from '../runs/finder.js';
import { groupFile } from '../runs/reader.js';

export const options = (y: Argv) =>
  y
    .positional('run', common.run)
    .option('runs-dir', common.runsDir)
    .example('$0 report cartpole', 'after an update of policyloop, or for a run that crashed');

type Args = Arguments<typeof options>;

/** `policyloop report <run>`. */
export async function execute(args: Args, context: CommandContext): Promise<number> {
  const path = findRun(args.run, { cwd: context.cwd, runsDir: args.runsDir });
  if (existsSync(join(path, groupFile))) {
    await writeGroupReport(path);
    context.print(shownPath(groupReportPath(path), context.cwd));
  } else {
    context.print(shownPath(await writeRunReport(path), context.cwd));
  }
  return 0;
}
