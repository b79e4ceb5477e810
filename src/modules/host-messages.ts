/** What this program and the thread of users' modules say to each other. */
import type { MessagePort } from 'node:worker_threads';
import type { Problem } from '../base/errors.js';

export type ModuleKind = 'environment' | 'policy' | 'model' | 'reward' | 'helpers';

/** A generator of random numbers, by number; its state where the other side does not know it. */
export interface SentGenerator {
  readonly generator: number;
  readonly state?: readonly number[] | undefined;
}

export type Request =
  | {
      readonly kind: 'load';
      /** A user's file, or a module of this program: its path in `src`, without the extension. */
      readonly path: string | { readonly own: string };
      readonly as: ModuleKind;
      readonly field: string;
    }
  | {
      readonly kind: 'create';
      /** Number of the module. */
      readonly target: number;
      readonly options: Readonly<Record<string, unknown>>;
      readonly field: string;
      readonly rest: readonly unknown[];
    }
  | {
      readonly kind: 'call';
      /** Number of the function. */
      readonly target: number;
      readonly given: readonly unknown[];
      readonly generator?: SentGenerator | undefined;
      /** Whether a promise is waited for. */
      readonly later: boolean;
    };

export type ToHost =
  | { readonly kind: 'request'; readonly id: number; readonly request: Request }
  /** The call is no longer wanted. */
  | { readonly kind: 'abort'; readonly id: number }
  /** A function or generator is no longer used. */
  | { readonly kind: 'release'; readonly target: number };

/** A value: data, a function by its number, or an object of both. */
export type SentValue =
  | { readonly kind: 'data'; readonly value: unknown }
  | { readonly kind: 'function'; readonly target: number }
  | { readonly kind: 'promise' }
  | { readonly kind: 'object'; readonly members: Readonly<Record<string, SentValue>> };

export type SentError =
  | { readonly kind: 'problems'; readonly problems: readonly Problem[] }
  | { readonly kind: 'error'; readonly message: string; readonly stack: string; readonly detail: object };

export type FromHost =
  | {
      readonly kind: 'answer';
      readonly id: number;
      readonly value: SentValue;
      /** Of the generator of the call, after it. */
      readonly state?: readonly number[] | undefined;
    }
  | { readonly kind: 'thrown'; readonly id: number; readonly error: SentError }
  /** Part of the text of an answer that is still being made. */
  | { readonly kind: 'text'; readonly id: number; readonly given: readonly unknown[] }
  /** The thread ends by an error that nothing caught. */
  | { readonly kind: 'uncaught'; readonly message: string };

export interface HostSetting {
  readonly port: MessagePort;
  /** [messages sent, 1 once the thread has ended]. */
  readonly sent: Int32Array;
}
