import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { lasting, resumedFiles, shortNames, words } from './command-lines.js';

export interface Answer {
  readonly line: string;
  readonly exit: number | null;
  /** One value a printed line of JSON. */
  readonly printed: readonly unknown[];
}

/** Runs a command line in `folder`, then gives the runs that it started their short names. */
export function runLine(cli: string, folder: string, line: string): Answer {
  const { status, stdout } = spawnSync(process.execPath, [cli, ...words(line), '--json'], {
    cwd: folder,
    encoding: 'utf8',
  });
  const buffers = join(folder, 'buffers');
  for (const name of readdirSync(buffers, { withFileTypes: true }).map((entry) => entry.name)) {
    const short = shortNames.exec(name)?.[1];
    if (short !== undefined) renameSync(join(buffers, name), join(buffers, short));
  }
  const printed = stdout
    .split('\n')
    .filter((text) => text !== '')
    .map((text) => lasting(JSON.parse(text)));
  return { line, exit: status, printed };
}

export const hashesIn = (folder: string) =>
  Object.fromEntries(
    resumedFiles.map((file) => [
      file,
      createHash('sha256')
        .update(readFileSync(join(folder, file)))
        .digest('hex'),
    ]),
  );
