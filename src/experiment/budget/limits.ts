/** Limits on calls, tokens and cost: of a run, and of all runs of a sweep together. */
import type { LimitsConfig } from '../../config/limits.js';
import type { Cap, LimitKey, LimitName } from '../../runs/calls.js';

/** Usage of calls, either actual or worst-case. */
export interface Amounts {
  readonly calls: number;
  /** Prompt and completion tokens. */
  readonly tokens: number;
  readonly cost: number;
}

export const nothing: Amounts = { calls: 0, tokens: 0, cost: 0 };

export const plus = (a: Amounts, b: Amounts): Amounts => ({
  calls: a.calls + b.calls,
  tokens: a.tokens + b.tokens,
  cost: a.cost + b.cost,
});

export const minus = (a: Amounts, b: Amounts): Amounts => ({
  calls: a.calls - b.calls,
  tokens: a.tokens - b.tokens,
  cost: a.cost - b.cost,
});

/** Limits, usage of completed calls, and reservations for calls in flight. */
export interface Budget {
  readonly limits: LimitsConfig;
  spent: Amounts;
  reserved: Amounts;
}

export const createBudget = (limits: LimitsConfig): Budget => ({
  limits,
  spent: nothing,
  reserved: nothing,
});

/** One run's view of the budget that it shares with the other runs of a sweep. */
export interface SharedBudget {
  /** Of all runs of the sweep. */
  readonly budget: Budget;
  /** Active time of the other runs, in milliseconds. */
  readonly otherMs: number;
  /** Evaluations that the other runs have made or claimed. */
  readonly otherEvaluations: number;
  /** Claims a number of evaluations, including those that the run has already made; replaces its earlier claim. */
  claim(evaluations: number): void;
}

const amountKeys = ['calls', 'tokens', 'cost'] as const;

/** True if any limit depends on calls. */
export const limitsCalls = ({ limits }: Budget): boolean =>
  amountKeys.some((key) => limits[key] !== undefined);

/** True if any limit depends on the length of completions. */
export const limitsLength = ({ limits: { cost, tokens } }: Budget): boolean => (tokens ?? cost) !== undefined;

/** The first limit that this much more usage would exceed, if any. */
export function exceeded({ limits, reserved, spent }: Budget, more: Amounts): LimitKey | undefined {
  const all = plus(plus(spent, reserved), more);
  return amountKeys.find((key) => limits[key] !== undefined && all[key] > limits[key]);
}

/** How much of each limit has been used. */
export function capsOf(
  { limits, spent }: Pick<Budget, 'limits' | 'spent'>,
  used: { readonly evaluations: number; readonly ms: number },
  name: (key: LimitKey) => LimitName,
): readonly Cap[] {
  const all = { evaluations: used.evaluations, ...spent, minutes: used.ms / 60_000 };
  return (Object.keys(all) as LimitKey[]).flatMap((key) => {
    const cap = limits[key];
    return cap === undefined ? [] : [{ limit: name(key), used: all[key], cap }];
  });
}

/** The name of a limit that all runs of a sweep share. */
export const sweepLimit = (key: LimitKey): LimitName => `sweep.limits.${key}`;
