import { join, resolve } from 'node:path';
import type { Argv } from 'yargs';
import { type Arguments, common } from '../base/command.js';
import type { CommandContext } from '../base/context.js';

export const options = (y: Argv) =>
  y
    .option('runs-dir', common.runsDir)
    .option('json', common.json)
    .example('$0 list', 'the runs below buffers/; many runs of one plan stand in one line')
    .example('$0 list --runs-dir buffers/controls-1a2b3c4d5e', 'the runs of such a line');

type Args = Arguments<typeof options>;

/** `policyloop list`. */
export async function execute(args: Args, context: CommandContext): Promise<number> {
  const { isRun, linesOf, listRuns, listTable } = await import('../runs/listing.js');
  const root = resolve(context.cwd, args.runsDir);
  const { damaged, runs } = listRuns(root);
  for (const name of damaged) {
    context.note(`${name}: its manifest is damaged; policyloop show ${name} says how`);
  }
  if (args.json) {
    context.print(JSON.stringify(runs.map(({ name, status, manifest }) => ({ name, ...manifest, status }))));
    return 0;
  }
  if (runs.length + damaged.length === 0) {
    context.note(`no runs in ${args.runsDir}; policyloop run quickstart makes one`);
    return 0;
  }
  const lines = linesOf(runs, root);
  context.print(listTable(lines, context.columns));
  const holder = lines.find((line) => !isRun(line));
  if (holder !== undefined) {
    const shown = join(args.runsDir, holder[0]);
    context.note(`a name that ends in / holds many runs: policyloop list --runs-dir ${shown} lists them`);
  }
  return 0;
}
