import type { Argv } from 'yargs';
import { type Arguments, commonOptions, kinds } from '../base/command.js';
import type { CommandContext } from '../base/context.js';
import { messageOf, UserError } from '../base/errors.js';
import type { LoadCommand } from '../mcp/serve-mcp.js';

export const options = (y: Argv) =>
  y
    .option('allow-runs', {
      ...kinds.flag,
      describe: 'Allow starting, resuming, stopping and evaluating runs (default: read-only)',
    })
    .option('project', {
      ...kinds.text,
      describe:
        'Project directory, for clients that start the server elsewhere (default: the working directory)',
    })
    .option('runs-dir', commonOptions.runsDir)
    .epilogue('For Model Context Protocol clients; docs/how-to/automation.md shows how to configure them.')
    .example('$0 mcp', 'runs, comparisons and checks as tools for an assistant')
    .example('$0 mcp --allow-runs', 'also start experiments, each in its own process');

export const finishingText = 'closing the server; its runs continue';

/** @param load loads the commands that the tools call */
export async function execute(
  args: Arguments<typeof options>,
  context: CommandContext,
  load: LoadCommand,
): Promise<number> {
  const { serveMcp } = await import('../mcp/serve-mcp.js');
  const cwd = args.project === undefined ? context.cwd : enterProject(args.project);
  await serveMcp(args, load, { ...context, cwd });
  return 0;
}

/** Changes the working directory. @returns its absolute path. @throws UserError if that fails */
function enterProject(project: string): string {
  try {
    process.chdir(project);
    return process.cwd();
  } catch (error) {
    throw new UserError({ field: '--project', value: project, message: messageOf(error) });
  }
}
