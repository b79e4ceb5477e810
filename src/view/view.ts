import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { onAbort } from '../base/abortable.js';
import { common } from '../base/command.js';
import type { CommandContext } from '../base/context.js';
import { UserError } from '../base/errors.js';
import { trainingsFolder } from '../runs/training-files.js';
import { addressFile } from './admission.js';
import type { Root } from './items.js';
import type { GivenPages } from './pages.js';
import { startView } from './server.js';

/** The given directory; by default, the runs and training runs in the working directory. */
function rootsOf(directory: string | undefined, cwd: string): readonly Root[] {
  if (directory === undefined)
    return [
      { path: join(cwd, common.runsDir.default), prefix: '' },
      { path: join(cwd, trainingsFolder), prefix: `${trainingsFolder}/`, name: trainingsFolder },
    ];
  const path = resolve(cwd, directory);
  if (existsSync(path)) return [{ path, prefix: '' }];
  throw new UserError({ field: 'dir', message: 'directory not found', value: directory });
}

/** Serves the view until a stop signal. */
export async function view(
  given: {
    readonly directory: string | undefined;
    readonly port: number;
    readonly pages: GivenPages;
    /** Whether to write a file that redirects a browser to the view. */
    readonly isOpened: boolean;
  },
  { cwd, milliseconds, note, stop }: Pick<CommandContext, 'cwd' | 'milliseconds' | 'note' | 'stop'>,
  onReady: (url: string, file: string | undefined) => void,
): Promise<void> {
  const { directory, isOpened, port, pages } = given;
  const roots = rootsOf(directory, cwd);
  const place = directory === undefined ? basename(cwd) : basename(resolve(cwd, directory));
  const token = randomBytes(24).toString('base64url');
  const options = { roots, place, port, milliseconds, note, token, pages };
  const running = await startView(options);
  const file = isOpened ? addressFile(running.url) : undefined;
  onReady(running.url, file?.path);
  await new Promise<void>((done) => {
    onAbort(stop.finish, done);
  });
  file?.remove();
  await running.close();
}
