import type { Argv } from 'yargs';
import type { Steered } from '../../archive/steer.js';
import { type Arguments, common } from '../../base/command.js';
import type { CommandContext } from '../../base/context.js';

export const options = (y: Argv) =>
  y
    .positional('runs', common.runs)
    .option('wait', common.wait)
    .option('runs-dir', common.runsDir)
    .option('json', common.json)
    .example(
      '$0 pause latest',
      'its process waits after the iteration; continue with policyloop resume latest',
    );

type Args = Arguments<typeof options>;

/** The outcome for each run. */
export type Output = readonly Steered[];

export async function execute(args: Args, context: CommandContext): Promise<number> {
  const { steerRuns } = await import('../../archive/steer-runs.js');
  return steerRuns(args, { action: 'pause' }, context);
}
