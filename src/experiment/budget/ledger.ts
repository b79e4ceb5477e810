/** Tracks the usage of model calls and decides whether the next call could exceed a limit. */
import type { Config } from '../../config/config.js';
import type { LimitsConfig } from '../../config/limits.js';
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
import { largest } from '../../statistics/descriptive.js';
import {
  type Amounts,
  type Budget,
  capsOf,
  createBudget,
  exceeded,
  limitsCalls,
  limitsLength,
  minus,
  nothing,
  plus,
  type SharedBudget,
  sweepLimit,
} from './limits.js';
import {
  addUsage,
  amountsOf,
  CountedModel,
  type CountedOptions,
  countedBy,
  countedOthers,
  noUsage,
  tokensOf,
  usageOfCall,
} from './usage.js';

/** Longest completion to request, in tokens, if a limit depends on its length but no setting bounds it. */
const longestUnknown = 8192;

type Reservation =
  | {
      readonly kind: 'granted';
      /** Maximum completion length of one call, in tokens; undefined if neither a limit nor a setting bounds it. */
      readonly maxTokens: number | undefined;
      /**
       * Returns whether the limits allow a retry. If the failed request may have been billed, also reserves the retry's
       * worst case, for `calls` candidates.
       */
      tryAgain(kind: ModelErrorKind, calls: number): boolean;
      /** Reduces the reservation to what these calls used, which frees the rest for other calls. */
      settle(calls: readonly EndedCall[]): void;
      release(): void;
    }
  | { readonly kind: 'refused'; readonly limit: LimitName };

/** Sums the usage of calls as it counts towards a run's limits. */
export function spentBy(
  calls: Iterable<EndedCall>,
  { critic, model }: Pick<Config, 'critic' | 'model'>,
): Amounts {
  const beside = countedOthers({ critic });
  const ledger = new Ledger({ ...countedBy(model), limits: {}, beside });
  for (const call of calls) ledger.record(call);
  return ledger.spent;
}

export class Ledger {
  readonly #model: CountedModel;
  readonly #beside: Readonly<Partial<Record<CallPurpose, CountedModel>>>;
  readonly #own: Budget;
  readonly #shared: SharedBudget | undefined;
  #totals: UsageTotals;

  constructor(
    options: CountedOptions & {
      readonly limits: LimitsConfig;
      /** Separate models for calls other than proposals. */
      readonly beside?: Readonly<Partial<Record<CallPurpose, CountedOptions>>>;
      /** Omit if no other run shares the limits. */
      readonly sharedBudget?: SharedBudget | undefined;
    },
  ) {
    const { beside = {}, limits, sharedBudget, ...model } = options;
    this.#model = new CountedModel(model);
    this.#beside = Object.fromEntries(
      Object.entries(beside).map(([purpose, counted]) => [purpose, new CountedModel(counted)]),
    );
    this.#own = createBudget(limits);
    this.#shared = sharedBudget;
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

  /** Usage as it counts towards the run's limits. */
  get spent(): Amounts {
    return this.#own.spent;
  }

  get #budgets(): readonly Budget[] {
    return this.#shared === undefined ? [this.#own] : [this.#own, this.#shared.budget];
  }

  /** Cost of one call, including unreported tokens (estimated); undefined if there is no price. */
  cost(usage: Usage, purpose?: CallPurpose): number | undefined {
    const { price } = this.#for(purpose);
    return price && amountsOf(usage, price).cost;
  }

  /**
   * Reserves the worst-case usage of one call per prompt until `release`. If that could exceed a limit, refuses and
   * names the limit.
   * @param isFree see `AskingRequest`
   */
  reserve(messages: readonly (readonly ChatMessage[])[], isFree = false, purpose?: CallPurpose): Reservation {
    return this.#reserve(messages, isFree, this.#for(purpose));
  }

  get isLimited(): boolean {
    return this.#budgets.some(limitsCalls);
  }

  /**
   * True if this many more calls with this prompt fit within the limits, assuming that no completion is more than twice
   * as long as the longest so far.
   */
  hasRoomFor(prompt: readonly ChatMessage[], calls: number): boolean {
    const model = this.#model;
    const length = model.usesTokens ? Math.min(2 * model.longestCompletion, longestUnknown) : 0;
    const prompts = Array<number>(calls).fill(model.usesTokens ? model.promptTokens(prompt) : 0);
    return this.#refusal(model, prompts, length) === undefined;
  }

  /** The first limit that one call per prompt, with completions of `length` tokens, could exceed, if any. */
  #refusal(
    { worst }: Pick<CountedModel, 'worst'>,
    prompts: readonly number[],
    length: number,
  ): LimitName | undefined {
    return this.#exceeded(prompts.map((prompt) => worst(prompt, length)).reduce(plus, nothing));
  }

  #exceeded(more: Amounts): LimitName | undefined {
    const own = exceeded(this.#own, more);
    const shared = this.#shared && exceeded(this.#shared.budget, more);
    return own ?? (shared && sweepLimit(shared));
  }

  /** The largest completion length that fits the limits, in tokens: at least `fewest`, at most `longestUnknown`. */
  #longestCompletion(model: CountedModel, prompts: readonly number[], fewest: number): number {
    let [low, high] = [fewest, longestUnknown + 1];
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (this.#refusal(model, prompts, middle) === undefined) low = middle;
      else high = middle;
    }
    return low;
  }

  #reserve(messages: readonly (readonly ChatMessage[])[], isFree: boolean, model: CountedModel): Reservation {
    const usesTokens = model.usesTokens && !isFree;
    const prompts = messages.map((prompt) => (usesTokens ? model.promptTokens(prompt) : 0));
    const { maxTokens: fixedLength } = model;
    const fewest = usesTokens ? (fixedLength ?? Math.min(2 * model.longestCompletion, longestUnknown)) : 0;
    const limit = this.#refusal(model, prompts, fewest);
    if (limit !== undefined) return { kind: 'refused', limit };
    const isKnown = usesTokens && fixedLength !== undefined;
    const isOpen = usesTokens && !isKnown && this.#budgets.some(limitsLength);
    const length = isOpen ? this.#longestCompletion(model, prompts, fewest) : fewest;
    return {
      kind: 'granted',
      maxTokens: isOpen || isKnown ? length : undefined,
      ...this.#held(model, prompts, length),
    };
  }

  /** @param earlier true if an earlier process made the call and the shared budget already counts it */
  record(call: EndedCall, earlier = false): void {
    const model = this.#for(call.purpose);
    const usage = call.completion?.usage ?? {};
    model.learn(call);
    const used = this.#usedBy(call);
    this.#own.spent = plus(this.#own.spent, used);
    const shared = this.#shared?.budget;
    if (shared && !earlier) shared.spent = plus(shared.spent, used);
    const unreported = used.tokens - tokensOf(usage);
    this.#totals = addUsage([this.#totals, usageOfCall(call, unreported, model.price !== undefined)]);
  }

  /** A call's usage, including failed attempts that may have been billed. */
  #usedBy(call: EndedCall): Amounts {
    const { price } = this.#for(call.purpose);
    return this.#lostTries(call).reduce(plus, {
      ...amountsOf(call.completion?.usage ?? {}, price),
      calls: 1,
    });
  }

  /**
   * How much of each limit has been used.
   * @param used evaluations of the run, and its active time in milliseconds
   */
  caps(used: { readonly evaluations: number; readonly ms: number }): readonly Cap[] {
    const shared = this.#shared;
    return [
      ...capsOf(this.#own, used, (key) => key),
      ...(shared === undefined
        ? []
        : capsOf(
            shared.budget,
            {
              evaluations: used.evaluations + shared.otherEvaluations,
              ms: used.ms + shared.otherMs,
            },
            sweepLimit,
          )),
    ];
  }

  #setAside(amounts: Amounts): void {
    for (const budget of this.#budgets) budget.reserved = plus(budget.reserved, amounts);
  }

  #free(amounts: Amounts): void {
    for (const budget of this.#budgets) budget.reserved = minus(budget.reserved, amounts);
  }

  /** Sets the worst case of these calls aside. */
  #held(
    model: CountedModel,
    prompts: readonly number[],
    length: number,
  ): Pick<Reservation & { kind: 'granted' }, 'tryAgain' | 'settle' | 'release'> {
    const worst = model.worst;
    let set = prompts.map((prompt) => worst(prompt, length)).reduce(plus, nothing);
    this.#setAside(set);
    const longest = largest([0, ...prompts]);
    return {
      tryAgain: (kind, calls) => {
        if (!mayBePaid(kind)) return true;
        // A retry of the same call doesn't count as another call.
        const again = { ...worst(longest, length * calls), calls: 0 };
        if (this.#exceeded(again) !== undefined) return false;
        set = plus(set, again);
        this.#setAside(again);
        return true;
      },
      settle: (calls) => {
        this.#free(set);
        set = calls.map((call) => this.#usedBy(call)).reduce(plus, nothing);
        this.#setAside(set);
      },
      release: () => {
        this.#free(set);
        set = nothing;
      },
    };
  }

  /** High estimates of the tokens and cost of failed attempts that may have been billed. */
  #lostTries(call: EndedCall): readonly Amounts[] {
    const model = this.#for(call.purpose);
    if (!model.usesTokens || isByBaseline(call)) return [];
    const lost = faultsOf(call).filter((kind) => mayBePaid(kind as ModelErrorKind));
    if (lost.length === 0) return [];
    const longest = model.maxTokens ?? 2 * model.longestCompletion;
    const worst = model.worst(model.promptTokens(call.messages), longest * (call.choices ?? 1));
    return lost.map(() => ({ ...worst, calls: 0 }));
  }
}
