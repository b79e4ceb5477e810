/** Messages between policyloop and the thread that runs users' modules. */
import type { MessagePort } from 'node:worker_threads';
import type { Problem } from '../base/errors.js';

export type ModuleKind = 'environment' | 'policy' | 'model' | 'reward' | 'helpers';

/** Path of a user's file, or of one of policyloop's own modules, relative to `src` and without the extension. */
type ModulePath = string | { readonly own: string };

export type Request =
  | { readonly kind: 'load'; readonly path: ModulePath; readonly as: ModuleKind; readonly field: string }
  /** Calls `create` of the module that was loaded as number `target`. */
  | { readonly kind: 'create'; readonly target: number; readonly given: readonly unknown[] }
  | {
      readonly kind: 'call';
      /** Number of the function to call. */
      readonly target: number;
      readonly given: readonly unknown[];
      /** State of the random generator that is passed as the last argument. */
      readonly random?: readonly number[] | undefined;
      /** True to wait for the promise that the function returns. */
      readonly later: boolean;
    };

export type ToHost =
  | { readonly kind: 'request'; readonly id: number; readonly request: Request }
  /** Cancels the call with this id. */
  | { readonly kind: 'abort'; readonly id: number }
  /** Releases a function that is no longer used. */
  | { readonly kind: 'release'; readonly target: number };

/** Plain data, a function (as its number), a promise, or an object whose members are such values. */
export type SentValue =
  | { readonly data: unknown }
  | { readonly function: number }
  | { readonly promise: true }
  | { readonly members: Readonly<Record<string, SentValue>> };

export type SentError =
  | { readonly problems: readonly Problem[] }
  | { readonly message: string; readonly stack: string; readonly detail: object };

export type FromHost =
  /** `random`: the generator's state after the call. */
  | {
      readonly kind: 'answer';
      readonly id: number;
      readonly value: SentValue;
      readonly random?: readonly number[];
    }
  | { readonly kind: 'thrown'; readonly id: number; readonly error: SentError }
  /** Arguments of `onText`: part of a reply's text, while it is generated. */
  | { readonly kind: 'text'; readonly id: number; readonly given: readonly unknown[] }
  /** The thread is about to end because of an uncaught error. */
  | { readonly kind: 'uncaught'; readonly message: string };

export interface HostSetting {
  readonly port: MessagePort;
  /** [number of messages and exits, 1 once the thread has ended, the user code that is running (see `pulse.ts`)]. */
  readonly shared: Int32Array;
}

// Built-ins for copying what user code returns, saved because a module may replace them later.
const { create, getPrototypeOf, keys } = Object;
const { isArray } = Array;
const { isView } = ArrayBuffer;
const { apply } = Reflect;
const sliceOf = (getPrototypeOf(Int8Array.prototype) as { slice: (...given: unknown[]) => unknown }).slice;

/** Maximum number of items in a list; longer ones could fill the memory, and are useless in prompts and policies. */
export const longestList = 1_000_000;

const deepest = 64;

/**
 * Copies data without functions and prototypes. Reads each property once; getters may throw.
 * @throws RangeError for a list of more than `longestList` items, or more than 64 levels
 */
export function plainCopy(value: unknown, depth = 0): unknown {
  if (typeof value === 'function' || typeof value === 'symbol') return undefined;
  if (typeof value !== 'object' || value === null) return value;
  if (depth > deepest) throw new RangeError(`it is nested more than ${deepest} levels deep`);
  if (isView(value) || isArray(value)) return copiedList(value as ArrayLike<unknown>, depth);
  const copy = create(null) as Record<string, unknown>;
  for (const key of keys(value)) copy[key] = plainCopy((value as Record<string, unknown>)[key], depth + 1);
  return copy;
}

function copiedList(list: ArrayLike<unknown>, depth: number): unknown {
  const { length } = list;
  if (length > longestList) throw new RangeError(`a list has ${length} items; the maximum is ${longestList}`);
  if (isView(list)) return length === undefined ? undefined : apply(sliceOf, list, []);
  const copy: unknown[] = [];
  for (let i = 0; i < length; i++) copy[i] = plainCopy(list[i], depth + 1);
  return copy;
}
