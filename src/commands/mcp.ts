import type { Argv } from 'yargs';
import { type Arguments, common, kinds } from '../base/command.js';
import type { CommandContext } from '../base/context.js';
import type { LoadCommand } from '../mcp/serve-mcp.js';

export const options = (y: Argv) =>
  y
    .option('allow-runs', {
      ...kinds.flag,
      describe: 'Also start, pause, resume, stop and evaluate runs (default: read only)',
    })
    .option('runs-dir', common.runsDir)
    .epilogue('For clients of the Model Context Protocol; docs/automation.md shows their settings.')
    .example('$0 mcp', 'runs, comparisons, SQL and checks as tools for an assistant')
    .example('$0 mcp --allow-runs', 'and experiments, each in its own process');

type Args = Arguments<typeof options>;

export const finishing = 'closing the server; its runs continue';

/** Serves until the input ends. @param load loads the commands that serve as tools */
export async function execute(args: Args, context: CommandContext, load: LoadCommand): Promise<number> {
  const { serveMcp } = await import('../mcp/serve-mcp.js');
  await serveMcp(args, load, context);
  return 0;
}
