import process from 'node:process';
import { messageOf } from '../base/errors.js';
import { harmlessLine } from '../base/terminal-text.js';

let here = false;

/** Whether users' modules run in this thread. */
export const hostsModules = (): boolean => here;

/**
 * Makes this thread run users' modules. Their output and unhandled rejections go to standard error, because
 * standard output is for results.
 * @param onUncaught receives an uncaught error before the thread ends
 */
export function hostModules(onUncaught: (message: string) => void): void {
  here = true;
  process.stdout.write = process.stderr.write.bind(process.stderr);
  const noted = new Set<string>();
  process.on('unhandledRejection', (reason) => {
    const place = /file:\S+:\d+:\d+/.exec(stackOf(reason))?.[0];
    const note = `a module left a promise that was rejected: ${readable(reason)}${place ? ` (${place})` : ''}\n`;
    if (noted.has(note) || noted.size === mostNotes) return;
    noted.add(note);
    process.stderr.write(note);
  });
  process.on('uncaughtException', (error) => {
    onUncaught(readable(error));
    process.exit(1);
  });
}

const mostNotes = 10;

const readable = (error: unknown): string => harmlessLine(messageOf(error));

/** The stack of anything thrown; empty if unreadable. */
export function stackOf(error: unknown): string {
  try {
    return String((error as Partial<Error> | undefined)?.stack ?? '');
  } catch {
    return '';
  }
}
