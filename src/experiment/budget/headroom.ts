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

/** Longest completion that is asked for where a limit counts completions and nothing says how long they may be. */
export const longestUnknown = 8192;

/** The room that is left for calls: in a run's own budget, in the shared one, and for each call. */
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

  /** Whether some limit counts calls, or what they use. */
  get isLimited(): boolean {
    return this.#scopes().some(([, given]) => isAnyLimit(given));
  }

  /** The limit that one call for each of the prompts could pass, with completions of this length; all in tokens. */
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

  /** The longest completions there is room for, up to what is ever asked for: by bisection. */
  longestCompletion(model: Pick<CountedModel, 'worst'>, prompts: readonly number[], fewest: number): number {
    let [low, high] = [fewest, longestUnknown + 1];
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (this.refusal(model, prompts, middle) === undefined) low = middle;
      else high = middle;
    }
    return low;
  }

  /** Whether a run, and all that share its budget, may use so much more. */
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
