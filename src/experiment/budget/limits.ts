/** Amounts that limits restrict, and limits that all runs of a sweep share. */
import type { LimitsConfig } from '../../config/limits.js';
import type { Cap, LimitKey, LimitName } from '../../runs/calls.js';

export type Amounts = Readonly<Record<LimitKey, number>>;

export const nothing: Amounts = { evaluations: 0, calls: 0, tokens: 0, cost: 0, minutes: 0 };

const keys = Object.keys(nothing) as readonly LimitKey[];

export const total = (amounts: readonly Amounts[]): Amounts =>
  amounts.reduce(
    (a, b) => ({
      evaluations: a.evaluations + b.evaluations,
      calls: a.calls + b.calls,
      tokens: a.tokens + b.tokens,
      cost: a.cost + b.cost,
      minutes: a.minutes + b.minutes,
    }),
    nothing,
  );

/** How much of each limit has been used. */
export const capsOf = (
  limits: LimitsConfig,
  used: Amounts,
  name: (key: LimitKey) => LimitName = (key) => key,
): readonly Cap[] =>
  keys.flatMap((key) => {
    const cap = limits[key];
    return cap === undefined ? [] : [{ limit: name(key), used: used[key], cap }];
  });

/** The usage of a run's calls. */
export interface CallUsage {
  /** What the calls that have ended used. */
  readonly spent: Amounts;
  /** The worst case of the calls in flight. */
  readonly inFlight: Amounts;
}

/** One run's view of the limits that it shares with the other runs of a sweep. */
export interface SharedBudget {
  readonly limits: LimitsConfig;
  /** Usage of the other runs; includes evaluations that they have claimed. */
  others(): readonly CallUsage[];
  /** Makes the usage of this run's calls known to the other runs. */
  join(calls: CallUsage): void;
  /** Claims a number of evaluations, including those that the run has already made; replaces its earlier claim. */
  claim(evaluations: number): void;
}

/** The name of a limit that all runs of a sweep share. */
export const sweepLimit = (key: LimitKey): LimitName => `sweep.limits.${key}`;
