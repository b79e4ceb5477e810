/** Limits on calls, tokens and cost: per run, per call, and for all runs of a command together. */
import type { LimitsConfig } from '../../config/config.js';
import type { Cap, LimitName } from '../../runs/calls.js';

/** Usage of calls, either actual or worst-case. */
export interface Amounts {
  readonly calls: number;
  readonly promptTokens: number;
  /** Included in the prompt tokens. */
  readonly cachedTokens: number;
  readonly completionTokens: number;
  /** Included in the completion tokens. */
  readonly reasoningTokens: number;
  readonly cost: number;
}

export const nothing: Amounts = {
  calls: 0,
  promptTokens: 0,
  cachedTokens: 0,
  completionTokens: 0,
  reasoningTokens: 0,
  cost: 0,
};

const keys = Object.keys(nothing) as (keyof Amounts)[];

const combine = (a: Amounts, b: Amounts, join: (x: number, y: number) => number): Amounts => {
  const joined: Record<keyof Amounts, number> = { ...nothing };
  for (const key of keys) joined[key] = join(a[key], b[key]);
  return joined;
};

export const plus = (a: Amounts, b: Amounts): Amounts => combine(a, b, (x, y) => x + y);
export const minus = (a: Amounts, b: Amounts): Amounts => combine(a, b, (x, y) => x - y);
export const largest = (a: Amounts, b: Amounts): Amounts => combine(a, b, Math.max);

/** The limits of one scope: a run, a call, or all runs. */
export type ScopeLimits = { readonly [K in keyof Amounts | 'tokens']?: number | undefined };

const amountOf = (amounts: Amounts, key: keyof ScopeLimits): number =>
  key === 'tokens' ? amounts.promptTokens + amounts.completionTokens : amounts[key];

const scopeKeys = ['calls', 'tokens', ...keys.filter((key) => key !== 'calls')] as const;

export const isAnyLimit = (limits: ScopeLimits): boolean =>
  scopeKeys.some((key) => limits[key] !== undefined);

/** The first limit that `amounts` exceed, if any. */
export function passed(limits: ScopeLimits, amounts: Amounts): keyof ScopeLimits | undefined {
  return scopeKeys.find((key) => limits[key] !== undefined && amountOf(amounts, key) > limits[key]);
}

/** How much of each configured limit has been used. */
export function capsOf(
  limits: LimitsConfig,
  used: {
    readonly run: Amounts;
    readonly call: Amounts;
    readonly total: Amounts;
    readonly runMs: number;
    readonly totalMs: number;
  },
): readonly Cap[] {
  const scope = (given: ScopeLimits | undefined, amounts: Amounts, prefix: '' | 'perCall.' | 'total.') =>
    scopeKeys.flatMap((key): Cap[] => {
      const cap = given?.[key];
      return cap === undefined
        ? []
        : [{ limit: `${prefix}${key}` as LimitName, used: amountOf(amounts, key), cap }];
    });
  const minutes = (limit: LimitName, cap: number | undefined, ms: number): readonly Cap[] =>
    cap === undefined ? [] : [{ limit, used: ms / 60_000, cap }];
  return [
    ...scope(limits, used.run, ''),
    ...minutes('minutes', limits.minutes, used.runMs),
    ...scope(limits.perCall, used.call, 'perCall.'),
    ...scope(limits.total, used.total, 'total.'),
    ...minutes('total.minutes', limits.total?.minutes, used.totalMs),
  ];
}

/** Usage of completed calls, and reservations for calls in flight. */
export interface Budget {
  spent: Amounts;
  reserved: Amounts;
}

export const createBudget = (): Budget => ({ spent: nothing, reserved: nothing });

/** One run's view of the budget it shares with others. */
export interface SharedBudget {
  /** The combined budget of all runs. */
  readonly all: Budget;
  /** Active time of the other runs, in milliseconds. */
  readonly otherMs: number;
  /**
   * Runs `work`, which reserves part of the budget, while other processes can't reserve any; omitted if there are no
   * other processes.
   */
  exclusively?<T>(work: () => T): Promise<T>;
  /** Publishes the current usage to other processes. */
  publish?(): void;
}

export const createSharedBudget = (): SharedBudget => ({ all: createBudget(), otherMs: 0 });
