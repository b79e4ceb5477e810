import { existsSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { findRun, groupFile } from '../run-directory.js';
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
    context.print(relative(context.cwd, groupReportPath(path)));
  } else {
    context.print(relative(context.cwd, await writeRunReport(path)));
  }
  return 0;
}
