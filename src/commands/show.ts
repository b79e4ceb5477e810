import type { Argv } from 'yargs';
import { type Arguments, common, kinds } from '../base/command.js';
import { type CommandContext, requireCount } from '../base/context.js';

export const options = (y: Argv) =>
  y
    .positional('run', common.run)
    .option('runs-dir', common.runsDir)
    .option('top', { ...kinds.number, default: 10, describe: 'Evaluations in the table' })
    .option('json', common.json)
    .example('$0 show cartpole', 'a run below buffers/, by its name')
    .example('$0 show buffers/cartpole --top 3 --json', 'for scripts');

type Args = Arguments<typeof options>;

/** `policyloop show <run>`. */
export async function execute(args: Args, context: CommandContext): Promise<number> {
  const { columns, cwd } = context;
  const shown = { top: requireCount('--top', args.top, 1), cwd, columns };
  const { openRun } = await import('../runs/open-run.js');
  const { runFigures, runText } = await import('../report/run-text.js');
  const { fitted } = await import('../format/width.js');
  const run = await openRun(args, context);
  context.print(args.json ? JSON.stringify(runFigures(run, shown)) : fitted(runText(run, shown), columns));
  return 0;
}
