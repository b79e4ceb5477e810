import type { Argv } from 'yargs';
import { type Arguments, common } from '../../base/command.js';
import type { CommandContext } from '../../base/context.js';
import { UserError } from '../../base/errors.js';

export const options = (y: Argv) =>
  y
    .positional('run', common.run)
    .positional('overrides', {
      ...common.overrides,
      describe: 'key=value for iterations, target, limits or confirmation; jobs=N for a directory of runs',
    })
    .option('wait', common.wait)
    .option('runs-dir', common.runsDir)
    .option('json', common.json)
    .example('$0 set latest limits.calls=500 iterations=200', 'effective from the next iteration')
    .example('$0 set buffers/temperatures jobs=4', 'for a running sweep');

type Args = Arguments<typeof options>;

export async function execute(args: Args, context: CommandContext): Promise<number> {
  const { overrides, run } = args;
  if (overrides.length === 0)
    throw new UserError({
      ...{ field: 'overrides', message: 'no setting given' },
      alternatives: ['iterations=200', 'limits.calls=500', 'target=475'],
    });
  const { steerRuns } = await import('../../runs/listing/steer.js');
  const { readChanges } = await import('../../experiment/run-commands.js');
  const check = (path: string) => {
    if (readChanges(path, overrides).changes.length > 0) return;
    throw new UserError({
      field: 'overrides',
      value: overrides.join(' '),
      message: 'changes nothing: the run already has these settings',
    });
  };
  return steerRuns({ ...args, runs: [run] }, { action: 'set', overrides: [...overrides] }, context, check);
}
