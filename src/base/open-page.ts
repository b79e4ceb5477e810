import { spawn } from 'node:child_process';
import type { CommandContext } from './context.js';

/** Programs that open a page; `xdg-open` does on other systems. `BROWSER` overrides them. */
const openers: Readonly<Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
};

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
