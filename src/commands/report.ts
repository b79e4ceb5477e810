import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { CommandContext } from '../context.js';
import { groupReportPath, writeGroupReport, writeRunReport } from '../report/write-report.js';
import { shownPath } from '../runs/facts.js';
import { findRun, groupFile } from '../runs/reader.js';

/** `policyloop report <run>`. */
export async function reportCommand(
  args: { readonly run: string; readonly runsDir: string },
  context: CommandContext,
): Promise<number> {
  const path = findRun(args.run, resolve(context.cwd, args.runsDir));
  if (existsSync(join(path, groupFile))) {
    await writeGroupReport(path);
    context.print(shownPath(groupReportPath(path), context.cwd));
  } else {
    context.print(shownPath(await writeRunReport(path), context.cwd));
  }
  return 0;
}
