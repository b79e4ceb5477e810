/** Attacks, and how they fail. */
import { readdirSync } from 'node:fs';
import { problemsOf, UserError } from '../../src/base/errors.js';
import { TimeLimitError, withinTime } from '../../src/base/time-limit.js';
import type { RandomGenerator } from '../../src/random/generator.js';

/** Attacks of one kind; each draws its input. */
export interface AttackKind {
  readonly name: string;
  /** Attacks of this kind for a hundred asked for: some take a process or a second each. */
  readonly percent: number;
  /** Prepares everything the attacks need; undefined if this machine lacks it. */
  open(): Promise<OpenedKind | undefined>;
}

export interface OpenedKind {
  /** How many attacks there are where none is drawn: each is made once, or every nth for a small count. */
  readonly cases?: number;
  /** Attacks once, for the nth time from 0. Returns what went wrong, or undefined. */
  attack(random: RandomGenerator, n: number): Promise<string | undefined> | string | undefined;
  close?(): Promise<void> | void;
}

/** Any control character but those that text is laid out with. */
export const control = /[^\P{Cc}\t\n]/u;

/** A screen, and what shows that an error is none for users. */
const mostLines = 45;
const inner = /\bat .*:\d+:\d+\)?$|TypeError|ReferenceError|node:internal/m;

/** The fault of a message for users, if any. */
export function faultOf(message: string): string | undefined {
  if (inner.test(message)) return `a stack trace or an inner error: ${shorten(message)}`;
  if (control.test(message)) return `a control character in: ${shorten(message)}`;
  const lines = message.split('\n').length;
  return lines > mostLines ? `${lines} lines of message` : undefined;
}

/** Work that may only succeed or end with a UserError, within the time. */
export function outcome(work: () => unknown, seconds = 30): string | undefined {
  try {
    withinTime(seconds, work);
    return undefined;
  } catch (error) {
    if (error instanceof TimeLimitError) return error.message;
    return faultOfError(error);
  }
}

/** As `outcome`, for work that waits. */
export async function awaited(work: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    return faultOfError(error);
  }
}

function faultOfError(error: unknown): string | undefined {
  if (!(error instanceof UserError))
    return `no UserError: ${shorten(error instanceof Error ? (error.stack ?? '') : String(error))}`;
  const lines = problemsOf(error).length;
  return lines > 10 ? `${lines} problems` : faultOf(error.message);
}

export const shorten = (text: string) => JSON.stringify(text.slice(0, 400));

/** Every path below a folder. */
export const below = (folder: string) => readdirSync(folder, { recursive: true }).map(String);
