/** How much of its limits a run has left. */
import type { LimitsConfig } from '../../config/config.js';
import type { LimitName } from '../../runs/calls.js';
import {
  type Amounts,
  type Budget,
  isAnyLimit,
  minus,
  nothing,
  passed,
  plus,
  type ScopeLimits,
} from './limits.js';
import type { CountedModel } from './usage.js';

/** Longest completion, in tokens, to ask for if a limit counts completions and no setting bounds their length. */
export const longestUnknown = 8192;

/** The room left for calls: in the run's own budget, in the shared budget, and within each call. */
export class Headroom {
  limits: LimitsConfig;
  readonly #own: Budget;
  readonly #shared: Budget;

  constructor(limits: LimitsConfig, own: Budget, shared: Budget) {
    this.limits = limits;
    this.#own = own;
    this.#shared = shared;
  }

  /** Whether some limit depends on the length of completions. */
  get countsCompletions(): boolean {
    return this.#scopes().some(
      ([, given]) =>
        (given.tokens ?? given.completionTokens ?? given.reasoningTokens ?? given.cost) !== undefined,
    );
  }

  /** Whether any limit on calls, tokens or cost is set. */
  get isLimited(): boolean {
    return this.#scopes().some(([, given]) => isAnyLimit(given));
  }

  /** The limit that could be exceeded by one call for each prompt, with completions of `length` tokens. */
  refusal(
    { worst }: Pick<CountedModel, 'worst'>,
    prompts: readonly number[],
    length: number,
  ): LimitName | undefined {
    const each = prompts.map((prompt) => worst(prompt, length));
    const all = each.reduce(plus, nothing);
    for (const [prefix, given, budget] of this.#scopes()) {
      const would = budget ? [withMore(budget, all)] : each;
      const limit = would.map((amounts) => passed(given, amounts)).find((key) => key !== undefined);
      if (limit !== undefined) return `${prefix}${limit}` as LimitName;
    }
    return undefined;
  }

  /** Longest completion length that fits the limits, found by bisection between `fewest` and `longestUnknown`. */
  longestCompletion(model: Pick<CountedModel, 'worst'>, prompts: readonly number[], fewest: number): number {
    let [low, high] = [fewest, longestUnknown + 1];
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (this.refusal(model, prompts, middle) === undefined) low = middle;
      else high = middle;
    }
    return low;
  }

  /** Whether the run, and all runs that share its budget, can use this much more. */
  holds(amounts: Amounts): boolean {
    const { total = {}, ...own } = this.limits;
    const limit = passed(own, withMore(this.#own, amounts)) ?? passed(total, withMore(this.#shared, amounts));
    return limit === undefined;
  }

  setAside(amounts: Amounts): void {
    for (const budget of [this.#own, this.#shared]) budget.reserved = plus(budget.reserved, amounts);
  }

  release(amounts: Amounts): void {
    for (const budget of [this.#own, this.#shared]) budget.reserved = minus(budget.reserved, amounts);
  }

  #scopes(): readonly (readonly ['' | 'perCall.' | 'total.', ScopeLimits, Budget | undefined])[] {
    const { perCall = {}, total = {} } = this.limits;
    return [
      ['', this.limits, this.#own],
      ['perCall.', perCall, undefined],
      ['total.', total, this.#shared],
    ];
  }
}

const withMore = ({ spent, reserved }: Budget, amounts: Amounts) => plus(plus(spent, reserved), amounts);
