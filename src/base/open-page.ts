import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { CommandContext } from './context.js';
import { UserError } from './errors.js';

/** Programs that open a page, by platform; other systems use `xdg-open`. `BROWSER` overrides them. */
const openers: Readonly<Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
};

/** Checks `--html` and `--open`. @throws UserError if the page's folder doesn't exist, or there is no page to open */
export function checkPageOptions(
  { html, open }: { readonly html?: string | undefined; readonly open?: boolean | undefined },
  cwd: string,
): void {
  if (open && html === undefined)
    throw new UserError({
      field: '--open',
      message: 'there is no page to open',
      hint: 'add --html FILE to write one',
    });
  if (html === undefined || existsSync(dirname(resolve(cwd, html)))) return;
  throw new UserError({
    field: '--html',
    value: html,
    message: 'the directory does not exist',
    hint: 'create it first',
  });
}

/** Starts a program that opens the page; prints a warning if the program can't be started. */
export function openPage(file: string, { env, note }: Pick<CommandContext, 'env' | 'note'>): Promise<void> {
  const [program, ...args] = env.BROWSER ? [env.BROWSER] : (openers[process.platform] ?? ['xdg-open']);
  const child = spawn(program, [...args, file], { detached: true, stdio: 'ignore' });
  return new Promise((resolve) => {
    child.on('error', () => {
      note(`warning: ${program} can't be started; open ${file} in a browser`);
      resolve();
    });
    child.on('spawn', () => {
      child.unref();
      resolve();
    });
  });
}
