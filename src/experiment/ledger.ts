/** Counts what calls use and says when the next one could pass a limit. */
import { type Config, isLanguageModel, type LimitsConfig, type ModelConfig } from '../config/config.js';
import {
  type ChatMessage,
  lowestLimit,
  type ModelErrorKind,
  mayBePaid,
  type Usage,
} from '../models/language-model.js';
import { mostTokens } from '../models/reply-faults.js';
import type { PriceConfig } from '../models/settings.js';
import { type CallRecord, type Cap, faultsOf, type LimitName, type UsageTotals } from '../runs/events.js';
import { Headroom, longestUnknown } from './headroom.js';
import {
  type Amounts,
  capsOf,
  createBudget,
  createSharedBudget,
  largest,
  nothing,
  plus,
  type SharedBudget,
} from './limits.js';
import { addUsage, amountsOf, noUsage, usageOfCall, worstOf } from './usage.js';

type Reservation =
  | {
      readonly kind: 'granted';
      /** The longest completion of a call that was counted on; undefined without limits or known length. */
      readonly maxTokens: number | undefined;
      /**
       * Sets as much aside again for another try of `calls` of the calls, where the failed one may have been paid for;
       * false where there is no room.
       */
      tryAgain(kind: ModelErrorKind, calls: number): boolean;
      release(): void;
    }
  | { readonly kind: 'refused'; readonly limit: LimitName };

/** The amounts that the calls of a run count for its limits. */
export function spentBy(
  calls: readonly CallRecord[],
  { limits, model }: Pick<Config, 'limits' | 'model'>,
): Amounts {
  const sharedBudget = createSharedBudget();
  const ledger = new Ledger({ ...countedBy(model), limits, sharedBudget });
  for (const call of calls) ledger.record(call);
  return sharedBudget.all.spent;
}

/** The part of a model's config that a ledger needs. */
export const countedBy = (model: ModelConfig) => ({
  price: 'price' in model ? model.price : undefined,
  maxTokens: 'maxTokens' in model ? model.maxTokens : undefined,
  usesTokens: isLanguageModel(model),
});

/** As long a completion has to have room while none has been seen. */
const assumedCompletion = 1024;

export class Ledger {
  readonly #limits: LimitsConfig;
  readonly #price: PriceConfig | undefined;
  readonly #usesTokens: boolean;
  /** Length that no completion exceeds, where the model or a limit says one. */
  readonly #fixedLength: number | undefined;
  readonly #own = createBudget();
  readonly #shared: SharedBudget;
  readonly #headroom: Headroom;
  #totals: UsageTotals;
  #largestCall = nothing;
  #longestCompletion = assumedCompletion;
  /** The largest ratio of reported prompt tokens to the estimated bound; 1 while none was larger. */
  #promptFactor = 1;

  constructor(options: {
    readonly limits: LimitsConfig;
    readonly price: PriceConfig | undefined;
    /** Longest completion the model is allowed, where that is set. */
    readonly maxTokens: number | undefined;
    /** Controls use no tokens. */
    readonly usesTokens: boolean;
    /** Left out for a run that shares its limits with none. */
    readonly sharedBudget?: SharedBudget | undefined;
  }) {
    const { limits, maxTokens, price, usesTokens, sharedBudget = createSharedBudget() } = options;
    this.#limits = limits;
    this.#price = price;
    this.#usesTokens = usesTokens;
    this.#fixedLength = lowestLimit(
      maxTokens,
      limits.perCall?.completionTokens,
      limits.perCall?.reasoningTokens,
    );
    this.#shared = sharedBudget;
    this.#headroom = new Headroom(limits, price, this.#own, sharedBudget.all);
    this.#totals = { ...noUsage, ...(price && { cost: 0 }) };
  }

  get totals(): UsageTotals {
    return this.#totals;
  }

  /** Cost of one call, where there is a price: what was not reported is in it, as estimated. */
  cost(usage: Usage): number | undefined {
    return this.#price && amountsOf(usage, this.#price).cost;
  }

  /**
   * Sets aside what one call for each of these prompts could use at worst, until `release`; refused, with the limit's
   * name, when that could pass a limit.
   */
  reserve(messages: readonly (readonly ChatMessage[])[]): Reservation {
    const prompts = messages.map((prompt) => this.#promptTokens(prompt));
    const fewest = this.#usesTokens
      ? (this.#fixedLength ?? Math.min(2 * this.#longestCompletion, longestUnknown))
      : 0;
    const limit = this.#headroom.refusal(prompts, fewest);
    if (limit !== undefined) return { kind: 'refused', limit };
    const isKnown = this.#usesTokens && this.#fixedLength !== undefined;
    const isOpen = this.#usesTokens && !isKnown && this.#headroom.countsCompletions;
    const length = isOpen ? this.#headroom.longestCompletion(prompts, fewest) : fewest;
    return {
      kind: 'granted',
      maxTokens: isOpen || isKnown ? length : undefined,
      ...this.#setAside(prompts, length),
    };
  }

  /** @param earlier made by another process: a budget that is shared holds it already */
  record(call: CallRecord, earlier = false): void {
    const usage = call.completion?.usage ?? {};
    if (
      this.#usesTokens &&
      usage.promptTokens !== undefined &&
      call.completion?.faults?.includes('usage-wrong')
    ) {
      const factor = usage.promptTokens / mostTokens(call.messages);
      this.#promptFactor = Math.max(this.#promptFactor, factor);
    }
    this.#longestCompletion = Math.max(this.#longestCompletion, usage.completionTokens ?? 0);
    const used = { ...amountsOf(usage, this.#price), calls: 1 };
    this.#largestCall = largest(this.#largestCall, used);
    const all = this.#lostTries(call).reduce(plus, used);
    this.#own.spent = plus(this.#own.spent, all);
    if (!earlier) this.#shared.all.spent = plus(this.#shared.all.spent, all);
    const reported = (usage.promptTokens ?? 0) + (usage.completionTokens ?? 0);
    const unreported = all.promptTokens + all.completionTokens - reported;
    this.#totals = addUsage([this.#totals, usageOfCall(call, unreported, this.#price !== undefined)]);
  }

  /** @param elapsedMs wall time of the run */
  caps(elapsedMs: number): readonly Cap[] {
    return capsOf(this.#limits, {
      run: this.#own.spent,
      call: this.#largestCall,
      total: this.#shared.all.spent,
      runMs: elapsedMs,
      totalMs: elapsedMs + this.#shared.otherMs,
    });
  }

  #promptTokens(messages: readonly ChatMessage[]): number {
    return this.#usesTokens ? Math.ceil(mostTokens(messages) * this.#promptFactor) : 0;
  }

  #setAside(
    prompts: readonly number[],
    length: number,
  ): Pick<Reservation & { kind: 'granted' }, 'tryAgain' | 'release'> {
    const headroom = this.#headroom;
    const price = this.#price;
    let set = prompts.map((prompt) => worstOf(prompt, length, price)).reduce(plus, nothing);
    headroom.setAside(set);
    const longest = Math.max(0, ...prompts);
    return {
      tryAgain(kind, calls) {
        if (!mayBePaid(kind)) return true;
        // The same call once more, as far as the limit of calls goes.
        const again = { ...worstOf(longest, length * calls, price), calls: 0 };
        if (!headroom.holds(again)) return false;
        set = plus(set, again);
        headroom.setAside(again);
        return true;
      },
      release() {
        headroom.release(set);
        set = nothing;
      },
    };
  }

  /** The most that tries of the call may have used whose answer was lost. */
  #lostTries(call: CallRecord): readonly Amounts[] {
    if (!this.#usesTokens) return [];
    const lost = faultsOf(call).filter((kind) => mayBePaid(kind as ModelErrorKind));
    if (lost.length === 0) return [];
    const length = (this.#fixedLength ?? 2 * this.#longestCompletion) * (call.choices ?? 1);
    const worst = worstOf(this.#promptTokens(call.messages), length, this.#price);
    return lost.map(() => ({ ...worst, calls: 0, cachedTokens: 0, reasoningTokens: 0 }));
  }
}
