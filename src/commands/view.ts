import type { Argv } from 'yargs';
import { type Arguments, common, kinds } from '../base/command.js';
import type { CommandContext } from '../base/context.js';
import type { GivenPages } from '../view/pages.js';

export const options = (y: Argv) =>
  y
    .positional('dir', {
      type: 'string',
      describe: 'Directory to show (default: the runs and training runs of the working directory)',
    })
    .option('port', { ...kinds.number, default: 7600, describe: 'Port; 0 for any free one' })
    .option('open', { ...kinds.flag, describe: 'Open the view in a browser' })
    .option('json', common.json)
    .example('$0 view', 'all runs and training runs of the working directory, live in a browser')
    .example('$0 view elsewhere --port 0', 'another directory, on any free port');

type Args = Arguments<typeof options>;

/** Address of the view. */
type Output = { readonly url: string };

export const finishing = 'closing the view';

/** Serves the view until Ctrl-C. @param pages renders the pages of fine-tuning evaluations */
export async function execute(args: Args, context: CommandContext, pages: GivenPages): Promise<number> {
  const { openPage } = await import('../base/open-page.js');
  const { requirePort } = await import('../view/http.js');
  const { view } = await import('../view/view.js');
  const port = requirePort(args.port);
  const given = { directory: args.dir, port, isOpened: args.open, pages } as const;
  await view(given, context, (url, file) => {
    context.print(args.json ? JSON.stringify({ url } satisfies Output) : url);
    context.note(
      `${args.open ? '' : 'open this address in a browser on this machine; '}press Ctrl-C to stop`,
    );
    if (file !== undefined) void openPage(file, context);
  });
  return 0;
}
