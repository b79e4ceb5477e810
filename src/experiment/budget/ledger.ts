/** Tracks the usage of model calls and decides whether the next call could exceed a limit. */
import type { Config, LimitsConfig } from '../../config/config.js';
import { isByBaseline } from '../../config/model.js';
import { type ChatMessage, type ModelErrorKind, mayBePaid, type Usage } from '../../models/language-model.js';
import {
  type CallPurpose,
  type Cap,
  type EndedCall,
  faultsOf,
  type LimitName,
  type UsageTotals,
} from '../../runs/calls.js';
import { largest as highest } from '../../statistics/descriptive.js';
import {
  type Amounts,
  type Budget,
  capsOf,
  createBudget,
  createSharedBudget,
  isAnyLimit,
  largest,
  minus,
  nothing,
  passed,
  plus,
  type ScopeLimits,
  type SharedBudget,
} from './limits.js';
import {
  addUsage,
  amountsOf,
  CountedModel,
  type CountedOptions,
  countedBy,
  countedOthers,
  noUsage,
  usageOfCall,
} from './usage.js';

/** Longest completion to request, in tokens, if a limit depends on its length but no setting bounds it. */
const longestUnknown = 8192;

/** Tracks the usage that the limits still allow: of this run, of all runs that share the budget, and per call. */
export class Headroom {
  limits: LimitsConfig;
  readonly #own: Budget;
  readonly #shared: Budget;

  constructor(limits: LimitsConfig, own: Budget, shared: Budget) {
    this.limits = limits;
    this.#own = own;
    this.#shared = shared;
  }

  /** True if any limit depends on the length of completions. */
  get countsCompletions(): boolean {
    return this.#scopes().some(
      ([, given]) =>
        (given.tokens ?? given.completionTokens ?? given.reasoningTokens ?? given.cost) !== undefined,
    );
  }

  get isLimited(): boolean {
    return this.#scopes().some(([, given]) => isAnyLimit(given));
  }

  /** The first limit that one call per prompt, with completions of `length` tokens, could exceed, if any. */
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

  /** The largest completion length that fits the limits, in tokens: at least `fewest`, at most `longestUnknown`. */
  longestCompletion(model: Pick<CountedModel, 'worst'>, prompts: readonly number[], fewest: number): number {
    let [low, high] = [fewest, longestUnknown + 1];
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (this.refusal(model, prompts, middle) === undefined) low = middle;
      else high = middle;
    }
    return low;
  }

  /** True if this much more usage would exceed neither the run's own limits nor the shared ones. */
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

type Reservation =
  | {
      readonly kind: 'granted';
      /** Maximum completion length of one call, in tokens; undefined if neither a limit nor a setting bounds it. */
      readonly maxTokens: number | undefined;
      /**
       * Returns whether the limits allow a retry. If the failed request may have been billed, also reserves the retry's
       * worst case, for `calls` candidates.
       */
      tryAgain(kind: ModelErrorKind, calls: number): boolean | Promise<boolean>;
      /** Reduces the reservation to what these calls used, which frees the rest for other calls. */
      settle(calls: readonly EndedCall[]): void;
      release(): void;
    }
  | { readonly kind: 'refused'; readonly limit: LimitName };

/** Sums the usage of calls as it counts towards a run's limits. */
export function spentBy(
  calls: Iterable<EndedCall>,
  { critic, limits, model }: Pick<Config, 'critic' | 'limits' | 'model'>,
): Amounts {
  const sharedBudget = createSharedBudget();
  const beside = countedOthers({ critic });
  const ledger = new Ledger({ ...countedBy(model), limits, sharedBudget, beside });
  for (const call of calls) ledger.record(call);
  return sharedBudget.all.spent;
}

export class Ledger {
  #limits: LimitsConfig;
  readonly #model: CountedModel;
  readonly #beside: Readonly<Partial<Record<CallPurpose, CountedModel>>>;
  readonly #own = createBudget();
  readonly #shared: SharedBudget;
  readonly #headroom: Headroom;
  #totals: UsageTotals;
  #largestCall = nothing;

  constructor(
    options: CountedOptions & {
      readonly limits: LimitsConfig;
      /** Separate models for calls other than proposals. */
      readonly beside?: Readonly<Partial<Record<CallPurpose, CountedOptions>>>;
      /** Omit if no other run shares the limits. */
      readonly sharedBudget?: SharedBudget | undefined;
    },
  ) {
    const { beside = {}, limits, sharedBudget = createSharedBudget(), ...model } = options;
    this.#limits = limits;
    this.#model = new CountedModel(model);
    this.#beside = Object.fromEntries(
      Object.entries(beside).map(([purpose, counted]) => [purpose, new CountedModel(counted)]),
    );
    this.#shared = sharedBudget;
    this.#headroom = new Headroom(limits, this.#own, sharedBudget.all);
    const prices = [this.#model, ...Object.values(this.#beside)].flatMap(({ price = [] }) => price);
    const priced = prices.map(({ listed }) => ({ ...noUsage, cost: 0, ...(listed && { listed }) }));
    this.#totals = addUsage(priced);
  }

  #for(purpose: CallPurpose | undefined): CountedModel {
    return (purpose && this.#beside[purpose]) ?? this.#model;
  }

  get totals(): UsageTotals {
    return this.#totals;
  }

  /** Cost of one call, including unreported tokens (estimated); undefined if there is no price. */
  cost(usage: Usage, purpose?: CallPurpose): number | undefined {
    const { price } = this.#for(purpose);
    return price && amountsOf(usage, price).cost;
  }

  /**
   * Reserves the worst-case usage of one call per prompt until `release`. If that could exceed a limit, refuses and
   * names the limit. If processes share limits, call this within `exclusively`.
   * @param isFree see `AskingRequest`
   */
  reserve(messages: readonly (readonly ChatMessage[])[], isFree = false, purpose?: CallPurpose): Reservation {
    return this.#reserve(messages, isFree, this.#for(purpose));
  }

  get isLimited(): boolean {
    return this.#headroom.isLimited;
  }

  /**
   * True if this many more calls with this prompt fit within the limits, assuming that no completion is more than twice
   * as long as the longest so far.
   */
  hasRoomFor(prompt: readonly ChatMessage[], calls: number): boolean {
    const model = this.#model;
    const length = model.usesTokens ? Math.min(2 * model.longestCompletion, longestUnknown) : 0;
    const prompts = Array<number>(calls).fill(model.usesTokens ? model.promptTokens(prompt) : 0);
    return this.#headroom.refusal(model, prompts, length) === undefined;
  }

  /** Runs `work`, which reserves part of the budget, while other processes can't reserve any. */
  async exclusively<T>(work: () => T): Promise<T> {
    return this.#shared.exclusively === undefined ? work() : this.#shared.exclusively(work);
  }

  #reserve(messages: readonly (readonly ChatMessage[])[], isFree: boolean, model: CountedModel): Reservation {
    const usesTokens = model.usesTokens && !isFree;
    const prompts = messages.map((prompt) => (usesTokens ? model.promptTokens(prompt) : 0));
    const fixedLength = model.fixedLength(this.#limits);
    const fewest = usesTokens ? (fixedLength ?? Math.min(2 * model.longestCompletion, longestUnknown)) : 0;
    const limit = this.#headroom.refusal(model, prompts, fewest);
    if (limit !== undefined) return { kind: 'refused', limit };
    const isKnown = usesTokens && fixedLength !== undefined;
    const isOpen = usesTokens && !isKnown && this.#headroom.countsCompletions;
    const length = isOpen ? this.#headroom.longestCompletion(model, prompts, fewest) : fewest;
    return {
      kind: 'granted',
      maxTokens: isOpen || isKnown ? length : undefined,
      ...this.#setAside(model, prompts, length),
    };
  }

  /** Replaces the limits; calls in flight keep their reservations. */
  limit(limits: LimitsConfig): void {
    this.#limits = limits;
    this.#headroom.limits = limits;
  }

  /** @param earlier true if an earlier process made the call and the shared budget already counts it */
  record(call: EndedCall, earlier = false): void {
    const model = this.#for(call.purpose);
    const usage = call.completion?.usage ?? {};
    model.learn(call);
    const [used, all] = this.#usedBy(call);
    this.#largestCall = largest(this.#largestCall, used);
    this.#own.spent = plus(this.#own.spent, all);
    if (!earlier) {
      this.#shared.all.spent = plus(this.#shared.all.spent, all);
      this.#shared.publish?.();
    }
    const reported = (usage.promptTokens ?? 0) + (usage.completionTokens ?? 0);
    const unreported = all.promptTokens + all.completionTokens - reported;
    this.#totals = addUsage([this.#totals, usageOfCall(call, unreported, model.price !== undefined)]);
  }

  /** A call's usage, excluding and including failed attempts that may have been billed. */
  #usedBy(call: EndedCall): readonly [used: Amounts, all: Amounts] {
    const { price } = this.#for(call.purpose);
    const used = { ...amountsOf(call.completion?.usage ?? {}, price), calls: 1 };
    return [used, this.#lostTries(call).reduce(plus, used)];
  }

  /** @param elapsedMs active time of the run, in milliseconds */
  caps(elapsedMs: number): readonly Cap[] {
    return capsOf(this.#limits, {
      run: this.#own.spent,
      call: this.#largestCall,
      total: this.#shared.all.spent,
      runMs: elapsedMs,
      totalMs: elapsedMs + this.#shared.otherMs,
    });
  }

  #setAside(
    model: CountedModel,
    prompts: readonly number[],
    length: number,
  ): Pick<Reservation & { kind: 'granted' }, 'tryAgain' | 'settle' | 'release'> {
    const headroom = this.#headroom;
    const worst = model.worst;
    const { exclusively = <T>(work: () => T) => work() } = this.#shared;
    let set = prompts.map((prompt) => worst(prompt, length)).reduce(plus, nothing);
    headroom.setAside(set);
    const longest = highest([0, ...prompts]);
    return {
      tryAgain(kind, calls) {
        if (!mayBePaid(kind)) return true;
        // A retry of the same call doesn't count as another call.
        const again = { ...worst(longest, length * calls), calls: 0 };
        return exclusively(() => {
          if (!headroom.holds(again)) return false;
          set = plus(set, again);
          headroom.setAside(again);
          return true;
        });
      },
      settle: (calls) => {
        headroom.release(set);
        set = calls.map((call) => this.#usedBy(call)[1]).reduce(plus, nothing);
        headroom.setAside(set);
        this.#shared.publish?.();
      },
      release: () => {
        headroom.release(set);
        set = nothing;
        this.#shared.publish?.();
      },
    };
  }

  /** High estimates of the prompt tokens, completion tokens and cost of failed attempts that may have been billed. */
  #lostTries(call: EndedCall): readonly Amounts[] {
    const model = this.#for(call.purpose);
    if (!model.usesTokens || isByBaseline(call)) return [];
    const lost = faultsOf(call).filter((kind) => mayBePaid(kind as ModelErrorKind));
    if (lost.length === 0) return [];
    const longest = model.fixedLength(this.#limits) ?? 2 * model.longestCompletion;
    const worst = model.worst(model.promptTokens(call.messages), longest * (call.choices ?? 1));
    return lost.map(() => ({ ...worst, calls: 0, cachedTokens: 0, reasoningTokens: 0 }));
  }
}
