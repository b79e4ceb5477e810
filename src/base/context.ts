import { relative } from 'node:path';
import { UserError, WorkError } from './errors.js';

/** A command's access to the outside world: output, input, clocks, environment, working directory and signals. */
export interface CommandContext {
  readonly print: (text: string) => void;
  /** Prints progress and warnings. */
  readonly note: (text: string) => void;
  /** The stream that `note` writes to, if it is a terminal. With Node's own type, library users need `@types/node`. */
  readonly terminal: { readonly columns?: number; write(text: string): unknown } | undefined;
  /** Terminal width for results, in columns; undefined if output goes to a file or pipe. */
  readonly columns?: number | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** The command line without the program name. */
  readonly words?: readonly string[];
  /** Wall-clock time, which can jump. */
  readonly now: () => Date;
  /** A monotonic clock, in milliseconds, for durations. */
  readonly milliseconds: () => number;
  /** Prompts for a line; returns undefined after Ctrl-C or at the end of input. Absent if input isn't a terminal. */
  readonly readLine?: ((text: string) => Promise<string | undefined>) | undefined;
  /** Ctrl-C or a failed write of output aborts `finish`; a second Ctrl-C, SIGTERM or SIGHUP aborts both. */
  readonly stop: { readonly finish: AbortSignal; readonly abort: AbortSignal };
}

/** Exit codes of the CLI; 0 is success. */
export const exitCodes = { failure: 1, usage: 2, interrupted: 130 } as const;

/** Exit code for a status; 0 if the work is completed, or left to other processes. */
export function exitCodeOf(status: string): number {
  if (status === 'completed' || status === 'elsewhere') return 0;
  return status === 'interrupted' ? exitCodes.interrupted : exitCodes.failure;
}

/** Exit code of a command that threw. */
export const errorExitCode = (error: unknown): number =>
  error instanceof UserError && !(error instanceof WorkError) ? exitCodes.usage : exitCodes.failure;

/** @throws UserError unless the option's value is undefined, or a whole number of at least `minimum` */
export function requireCount<T extends number | undefined>(option: string, value: T, minimum: number): T {
  if (value === undefined || (Number.isSafeInteger(value) && value >= minimum)) return value;
  throw new UserError({ field: option, message: `must be a whole number of at least ${minimum}`, value });
}

/** Path for display, relative if it is inside the working directory. */
export function shownPath(path: string, cwd: string): string {
  const short = relative(cwd, path);
  return short.startsWith('..') ? path : short || '.';
}
