import type { Argv } from 'yargs';
import { type Arguments, commonOptions, kinds } from '../../base/command.js';
import { type CommandContext, shownPath } from '../../base/context.js';
import { UserError } from '../../base/errors.js';
import type { StopResult } from '../../runs/listing/stop.js';

export const options = (y: Argv) =>
  y
    .positional('runs', commonOptions.anyRuns)
    .option('now', { ...kinds.flag, describe: 'Abort pending work, like a second Ctrl-C' })
    .option('wait', { ...kinds.number, default: 10, describe: 'Seconds to wait for the runs to end' })
    .option('runs-dir', commonOptions.runsDir)
    .option('json', commonOptions.json)
    .example('$0 stop latest', 'like Ctrl-C in its terminal; continue with policyloop resume latest')
    .example('$0 stop buffers/temperatures', 'stops the runs of a sweep, and starts no more');

type Output = readonly StopResult[];

export async function execute(args: Arguments<typeof options>, context: CommandContext): Promise<number> {
  const { cwd, print } = context;
  const { stopRuns, stoppedText } = await import('../../runs/listing/stop.js');
  const { now, runs, runsDir, wait: seconds } = args;
  const message = 'must be a number of seconds, 0 or more';
  if (!(seconds >= 0)) throw new UserError({ field: '--wait', value: seconds, message });
  const results = await stopRuns(runs, { cwd, runsDir }, { now, seconds });
  const output: Output = results.map((one) => ({ ...one, run: shownPath(one.run, cwd) }));
  const lines = output.map((one) => `${one.run}  ${stoppedText(one, now)}`);
  print(args.json ? JSON.stringify(output) : lines.join('\n'));
  return 0;
}
