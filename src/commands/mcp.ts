import type { Argv } from 'yargs';
import { type Arguments, common, kinds } from '../base/command.js';
import type { CommandContext } from '../base/context.js';
import type { LoadCommand } from '../mcp/serve-mcp.js';

export const options = (y: Argv) =>
  y
    .option('allow-runs', {
      ...kinds.flag,
      describe: 'Also begin, pause, resume, stop and evaluate runs; without it, a client can only read',
    })
    .option('runs-dir', common.runsDir)
    .epilogue('For programs that speak the Model Context Protocol; docs/automation.md shows their settings.')
    .example('$0 mcp', 'runs, comparisons, SQL and checks as tools for an assistant')
    .example('$0 mcp --allow-runs', 'and experiments, each in a process of its own');

type Args = Arguments<typeof options>;

export const finishing = 'closing the server; runs that it began go on';

/** Serves until the input ends. @param load loads the commands that serve as tools */
export async function execute(args: Args, context: CommandContext, load: LoadCommand): Promise<number> {
  const { serveMcp } = await import('../mcp/serve-mcp.js');
  await serveMcp(args, load, context);
  return 0;
}
