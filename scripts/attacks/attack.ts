/** Defines attacks, and judges messages and errors. */
import { readdirSync } from 'node:fs';
import { problemsOf, UserError } from '../../src/base/errors.js';
import { TimeLimitError, withinTime } from '../../src/base/time-limit.js';
import type { RandomGenerator } from '../../src/random/generator.js';

/** Attacks of one kind; each draws its own input. */
export interface AttackKind {
  readonly name: string;
  /** Attacks of this kind per hundred requested: fewer if each takes a process or a second. */
  readonly percent: number;
  /** Prepares what the attacks need; undefined if this machine lacks it. */
  open(): Promise<OpenedKind | undefined>;
}

export interface OpenedKind {
  /** Number of attacks if they aren't drawn: each runs once, or every nth if the requested count is smaller. */
  readonly cases?: number;
  /** Runs attack n, counted from 0. Returns what went wrong, or undefined. */
  attack(random: RandomGenerator, n: number): Promise<string | undefined> | string | undefined;
  close?(): Promise<void> | void;
}

/** Any control character except tab and line feed. */
export const control = /[^\P{Cc}\t\n]/u;

/** Lines on a screen, and the marks of an internal error. */
const mostLines = 45;
const inner = /\bat .*:\d+:\d+\)?$|TypeError|ReferenceError|node:internal/m;

/** Describes what is wrong with a message for users; undefined if nothing is. */
export function faultOf(message: string): string | undefined {
  if (inner.test(message)) return `a stack trace or an inner error: ${shorten(message)}`;
  if (control.test(message)) return `a control character in: ${shorten(message)}`;
  const lines = message.split('\n').length;
  return lines > mostLines ? `${lines} lines of message` : undefined;
}

/** Runs work that must succeed or throw a UserError within the time. Returns what went wrong, or undefined. */
export function outcome(work: () => unknown, seconds = 30): string | undefined {
  try {
    withinTime(seconds, work);
    return undefined;
  } catch (error) {
    if (error instanceof TimeLimitError) return error.message;
    return faultOfError(error);
  }
}

/** Like `outcome`, for asynchronous work, without a time limit. */
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

/** All paths below a folder. */
export const below = (folder: string) => readdirSync(folder, { recursive: true }).map(String);
