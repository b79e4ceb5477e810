/** Turns a thread into a host of users' modules. */
import process from 'node:process';
import { messageOf } from '../base/errors.js';
import { harmlessLine } from '../base/terminal-text.js';

let here = false;

/** Whether users' modules run in this thread: it can be stopped without harm to the program. */
export const hostsModules = (): boolean => here;

/**
 * Makes this thread one of users' modules. What they print goes to standard error: standard output is for results. A
 * promise that is rejected unhandled is noted there, too.
 * @param onUncaught told of an error that nothing caught, before the thread ends
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

/** A step that leaves one such promise may leave thousands. */
const mostNotes = 10;

const readable = (error: unknown): string => harmlessLine(messageOf(error));

/** The trace of anything that was thrown; empty where it has none that can be read. */
export function stackOf(error: unknown): string {
  try {
    return String((error as Partial<Error> | undefined)?.stack ?? '');
  } catch {
    return '';
  }
}
