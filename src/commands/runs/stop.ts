import type { Argv } from 'yargs';
import { type Arguments, common, kinds } from '../../base/command.js';
import type { CommandContext } from '../../base/context.js';

export const options = (y: Argv) =>
  y
    .positional('runs', common.runs)
    .option('now', { ...kinds.flag, describe: 'Abort pending calls, like a second Ctrl-C' })
    .option('wait', common.wait)
    .option('runs-dir', common.runsDir)
    .option('json', common.json)
    .example('$0 stop latest', 'like Ctrl-C in its terminal; continue with policyloop resume latest');

type Args = Arguments<typeof options>;

export async function execute(args: Args, context: CommandContext): Promise<number> {
  const { steerRuns } = await import('../../runs/listing/steer.js');
  return steerRuns(args, { action: 'stop', now: args.now }, context);
}
