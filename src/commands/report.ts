import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { findRun, groupFile } from '../recorded-run.js';
import { shownPath } from '../run-result.js';
import type { CommandContext } from '../terminal.js';
import { groupReportPath, writeGroupReport, writeRunReport } from '../write-report.js';

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
