import { relative } from 'node:path';
import { FailedWork, UserError } from './errors.js';

/** What a command may touch of the outside world. Only `cli.ts` makes one from the real process. */
export interface CommandContext {
  /** Results. */
  readonly print: (text: string) => void;
  /** Progress and warnings. */
  readonly note: (text: string) => void;
  /** The stream of `note`, where it is a terminal: bars are drawn on it. */
  readonly terminal: NodeJS.WriteStream | undefined;
  /** Columns of the terminal that results are printed on; undefined for a file or a pipe, which have no edge. */
  readonly columns?: number | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** The command line as it was given, without the program; absent where there was none. */
  readonly words?: readonly string[];
  /** The time of day, which may be set forwards and backwards meanwhile. */
  readonly now: () => Date;
  /** Milliseconds on a clock that only goes forwards: what durations are measured by. */
  readonly milliseconds: () => number;
  /**
   * Shows a text and returns the line that a person types; undefined at the end of the input. Absent where nobody can be
   * asked.
   */
  readonly readLine?: ((text: string) => Promise<string | undefined>) | undefined;
  /**
   * The same of a question that stands alone: keys act as before once it is answered, or withdrawn. It is shown where notes
   * are.
   */
  readonly ask?: ((text: string, withdrawn: AbortSignal) => Promise<string | undefined>) | undefined;
  /** First and second Ctrl-C. */
  readonly stop: { readonly finish: AbortSignal; readonly abort: AbortSignal };
}

/** Exit codes of the CLI; 0 is success. */
export const exitCodes = { failure: 1, usage: 2, interrupted: 130 } as const;

/** The exit code of a command that plays runs: 0 where they came to their end, or were handed to others. */
export function exitCodeOf(status: string): number {
  if (status === 'completed' || status === 'elsewhere') return 0;
  return status === 'interrupted' ? exitCodes.interrupted : exitCodes.failure;
}

/** The exit code of a command that threw. */
export const exitCodeOfError = (error: unknown): number =>
  error instanceof UserError && !(error instanceof FailedWork) ? exitCodes.usage : exitCodes.failure;

/** @throws UserError unless the value of a command-line option is a whole number of at least `minimum`, or not given. */
export function requireCount<T extends number | undefined>(option: string, value: T, minimum: number): T {
  if (value === undefined || (Number.isSafeInteger(value) && value >= minimum)) return value;
  throw new UserError({ field: option, message: `give a whole number of at least ${minimum}`, value });
}

/** A path as a person reads it: relative where it lies below the working directory. */
export function shownPath(path: string, cwd: string): string {
  const short = relative(cwd, path);
  return short.startsWith('..') ? path : short || '.';
}
