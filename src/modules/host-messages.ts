/** Messages between policyloop and the thread that runs users' modules. */
import type { MessagePort } from 'node:worker_threads';
import type { Problem } from '../base/errors.js';

export type ModuleKind = 'environment' | 'policy' | 'model' | 'reward' | 'helpers';

/** A user's file, or one of policyloop's own modules, by its path in `src` without the extension. */
type ModulePath = string | { readonly own: string };

export type Request =
  | { readonly kind: 'load'; readonly path: ModulePath; readonly as: ModuleKind; readonly field: string }
  /** Calls `create` of the module with this number. */
  | { readonly kind: 'create'; readonly target: number; readonly given: readonly unknown[] }
  | {
      readonly kind: 'call';
      /** Number of the function. */
      readonly target: number;
      readonly given: readonly unknown[];
      /** State of the generator that is the last argument. */
      readonly random?: readonly number[] | undefined;
      /** Whether to wait for a promise. */
      readonly later: boolean;
    };

export type ToHost =
  | { readonly kind: 'request'; readonly id: number; readonly request: Request }
  /** Cancels a call. */
  | { readonly kind: 'abort'; readonly id: number }
  /** Releases a function that is no longer used. */
  | { readonly kind: 'release'; readonly target: number };

/** Data, a function by its number, or an object of both. */
export type SentValue =
  | { readonly data: unknown }
  | { readonly function: number }
  | { readonly promise: true }
  | { readonly members: Readonly<Record<string, SentValue>> };

export type SentError =
  | { readonly problems: readonly Problem[] }
  | { readonly message: string; readonly stack: string; readonly detail: object };

export type FromHost =
  /** `random`: state of the generator after the call. */
  | {
      readonly kind: 'answer';
      readonly id: number;
      readonly value: SentValue;
      readonly random?: readonly number[];
    }
  | { readonly kind: 'thrown'; readonly id: number; readonly error: SentError }
  /** Part of an answer's text, while it is generated. */
  | { readonly kind: 'text'; readonly id: number; readonly given: readonly unknown[] }
  /** The thread ends because of an uncaught error. */
  | { readonly kind: 'uncaught'; readonly message: string };

export interface HostSetting {
  readonly port: MessagePort;
  /** [messages sent, 1 once the thread has ended, the user code it is running (see `pulse.ts`)]. */
  readonly shared: Int32Array;
}

// Saved built-ins for copying results of user code, because a module may replace them later.
const { create, getPrototypeOf, keys } = Object;
const { isArray } = Array;
const { isView } = ArrayBuffer;
const { apply } = Reflect;
const sliceOf = (getPrototypeOf(Int8Array.prototype) as { slice: (...given: unknown[]) => unknown }).slice;

/** Longer lists would make unusable prompts and policies, and fill the memory. */
export const longestList = 1_000_000;

const deepest = 64;

/**
 * A copy of data without functions and prototypes. Reads each property once; getters may throw.
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
