import type { Argv } from 'yargs';
import { type Arguments, commonOptions } from '../base/command.js';
import { type CommandContext, shownPath } from '../base/context.js';

export const options = (y: Argv) =>
  y
    .positional('run', commonOptions.run)
    .option('runs-dir', commonOptions.runsDir)
    .option('open', commonOptions.open)
    .option('json', commonOptions.json)
    .example('$0 report cartpole', 'after updating policyloop, or after a crash')
    .example('$0 report latest --open', 'regenerate and open it');

/** The run and its page. */
type Output = { readonly run: string; readonly report: string };

export async function execute(
  { json, open, run, runsDir }: Arguments<typeof options>,
  context: CommandContext,
): Promise<number> {
  const { findRun } = await import('../runs/listing/names.js');
  const { isPlay } = await import('../agents/played.js');
  const { cwd, print } = context;
  const path = findRun(run, { cwd, runsDir });
  const file = isPlay(path)
    ? (await import('../agents/play-page.js')).writePlayPage(path)
    : await (await import('../web/report/write-report.js')).writeReport(path);
  const report = shownPath(file, cwd);
  print(json ? JSON.stringify({ run: shownPath(path, cwd), report } satisfies Output) : report);
  if (open) await (await import('../base/open-page.js')).openPage(file, context);
  return 0;
}
