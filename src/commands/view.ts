import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import type { Argv } from 'yargs';
import { onAbort } from '../base/abortable.js';
import { type Arguments, commonOptions, kinds } from '../base/command.js';
import type { CommandContext } from '../base/context.js';
import { UserError } from '../base/errors.js';
import { nearestFile } from '../base/files/files.js';
import { openPage } from '../base/open-page.js';
import type { StudyPageBuilders } from '../view/pages.js';

export const options = (y: Argv) =>
  y
    .positional('dir', {
      type: 'string',
      describe: 'Directory to show (default: the runs and training runs of the working directory)',
    })
    .option('port', { ...kinds.number, default: 7600, describe: 'Port; 0 for any free one' })
    .option('open', { ...kinds.flag, describe: 'Open the view in a browser' })
    .option('json', commonOptions.json)
    .example('$0 view', 'all runs and training runs of the working directory, live in a browser')
    .example('$0 view elsewhere --port 0', 'another directory, on any free port');

/** Address of the view. */
type Output = { readonly url: string };

export const finishingText = 'closing the view';

/** Serves the view until Ctrl-C. @param pages renders the pages of fine-tuning evaluations */
export async function execute(
  args: Arguments<typeof options>,
  context: CommandContext,
  pages: StudyPageBuilders,
): Promise<number> {
  const { writeAddressFile } = await import('../view/admission.js');
  const { rootsOf } = await import('../runs/listing/listing.js');
  const { startView } = await import('../view/server.js');
  const { cwd, milliseconds, note, print, stop } = context;
  const directory = resolve(cwd, args.dir ?? '.');
  if (!existsSync(directory)) {
    const near = nearestFile(args.dir ?? '.', cwd, /^[^.]+$/);
    throw new UserError({ message: `no such directory: ${args.dir}`, near });
  }
  const roots = rootsOf({ cwd, runsDir: args.dir ?? commonOptions.runsDir.default });
  const directoryName = basename(directory);
  const token = randomBytes(24).toString('base64url');
  const view = await startView({ roots, directoryName, port: args.port, milliseconds, note, token, pages });
  const { url } = view;
  print(args.json ? JSON.stringify({ url } satisfies Output) : url);
  note(`${args.open ? '' : 'open this address in a browser on this machine; '}press Ctrl-C to stop`);
  const file = args.open ? writeAddressFile(url) : undefined;
  if (file !== undefined) void openPage(file.path, context);
  await new Promise<void>((done) => {
    onAbort(stop.finish, done);
  });
  file?.remove();
  await view.close();
  return 0;
}
