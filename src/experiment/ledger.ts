/** Counts what calls use and says when the next one could pass a limit. */
import type { Config, LimitsConfig } from '../config/config.js';
import { isByControl, languageModelOf, type ModelConfig, type SingleModelConfig } from '../config/model.js';
import {
  type ChatMessage,
  lowestLimit,
  type ModelErrorKind,
  mayBePaid,
  type Usage,
} from '../models/language-model.js';
import { mostTokens } from '../models/reply-faults.js';
import type { PriceConfig } from '../models/settings.js';
import { type Cap, type EndedCall, faultsOf, type LimitName, type UsageTotals } from '../runs/events.js';
import {
  type Amounts,
  type Budget,
  capsOf,
  createBudget,
  createSharedBudget,
  largest,
  minus,
  nothing,
  passed,
  plus,
  type ScopeLimits,
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
      /** Holds no more than what these calls used, until they are counted: others need room of their own. */
      settle(calls: readonly EndedCall[]): void;
      release(): void;
    }
  | { readonly kind: 'refused'; readonly limit: LimitName };

/** The amounts that the calls of a run count for its limits. */
export function spentBy(
  calls: Iterable<EndedCall>,
  { limits, model }: Pick<Config, 'limits' | 'model'>,
): Amounts {
  const sharedBudget = createSharedBudget();
  const ledger = new Ledger({ ...countedBy(model), limits, sharedBudget });
  for (const call of calls) ledger.record(call);
  return sharedBudget.all.spent;
}

/** The part of a model's config that a ledger needs: of a portfolio, that of its language model. */
export function countedBy(config: ModelConfig) {
  const model = languageModelOf(config);
  return {
    price: model && 'price' in model ? model.price : undefined,
    maxTokens: model && 'maxTokens' in model ? model.maxTokens : undefined,
    usesTokens: model !== undefined,
    thoughtsApart: model === undefined ? ('never' as const) : thoughtsApart(model),
  };
}

/** Whether Ollama may ask its model twice, once for thoughts and once for an answer of the form that it enforces. */
function thoughtsApart(model: SingleModelConfig): ThoughtsApart {
  if (model.provider !== 'ollama' || model.format !== 'json' || model.think === false) return 'never';
  return model.think === true ? 'always' : 'unless seen otherwise';
}

/** A model that isn't told may think by itself: the first answer shows. */
type ThoughtsApart = 'never' | 'unless seen otherwise' | 'always';

/** As long a completion has to have room while none has been seen. */
const assumedCompletion = 1024;

export class Ledger {
  #limits: LimitsConfig;
  readonly #price: PriceConfig | undefined;
  readonly #usesTokens: boolean;
  readonly #maxTokens: number | undefined;
  #thoughtsApart: ThoughtsApart;
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
    readonly thoughtsApart?: ThoughtsApart;
    /** Left out for a run that shares its limits with none. */
    readonly sharedBudget?: SharedBudget | undefined;
  }) {
    const { limits, maxTokens, price, usesTokens, sharedBudget = createSharedBudget() } = options;
    this.#thoughtsApart = options.thoughtsApart ?? 'never';
    this.#maxTokens = maxTokens;
    this.#limits = limits;
    this.#price = price;
    this.#usesTokens = usesTokens;
    this.#shared = sharedBudget;
    this.#headroom = new Headroom(limits, this.#worst, this.#own, sharedBudget.all);
    this.#totals = { ...noUsage, ...(price && { cost: 0 }) };
  }

  /** Length that no completion exceeds, where the model or a limit says one; of each where thoughts come apart. */
  get #fixedLength(): number | undefined {
    const { completionTokens, reasoningTokens } = this.#limits.perCall ?? {};
    const half = completionTokens && Math.floor(completionTokens / 2);
    const mostOfEach = this.#thoughtsApart === 'never' ? completionTokens : half;
    return lowestLimit(this.#maxTokens, mostOfEach, reasoningTokens);
  }

  /** The most that one call can use. */
  readonly #worst = (prompt: number, length: number): Amounts =>
    worstOf(prompt, length, this.#price, this.#thoughtsApart !== 'never');

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
   * @param isFree whether a control answers, beside a language model
   */
  reserve(messages: readonly (readonly ChatMessage[])[], isFree = false): Reservation {
    return this.#exclusively(() => this.#reserve(messages, isFree));
  }

  #exclusively<T>(work: () => T): T {
    return this.#shared.exclusively === undefined ? work() : this.#shared.exclusively(work);
  }

  #reserve(messages: readonly (readonly ChatMessage[])[], isFree: boolean): Reservation {
    const usesTokens = this.#usesTokens && !isFree;
    const prompts = messages.map((prompt) => (usesTokens ? this.#promptTokens(prompt) : 0));
    const fewest = usesTokens
      ? (this.#fixedLength ?? Math.min(2 * this.#longestCompletion, longestUnknown))
      : 0;
    const limit = this.#headroom.refusal(prompts, fewest);
    if (limit !== undefined) return { kind: 'refused', limit };
    const isKnown = usesTokens && this.#fixedLength !== undefined;
    const isOpen = usesTokens && !isKnown && this.#headroom.countsCompletions;
    const length = isOpen ? this.#headroom.longestCompletion(prompts, fewest) : fewest;
    return {
      kind: 'granted',
      maxTokens: isOpen || isKnown ? length : undefined,
      ...this.#setAside(prompts, length),
    };
  }

  /** Takes over other limits; what is under way has been granted. */
  limit(limits: LimitsConfig): void {
    this.#limits = limits;
    this.#headroom.limits = limits;
  }

  /** @param earlier made by another process, and held by a budget that is shared */
  record(call: EndedCall, earlier = false): void {
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
    const isPlain = call.completion !== undefined && call.completion.reasoning === undefined;
    if (isPlain && !isByControl(call) && this.#thoughtsApart === 'unless seen otherwise')
      this.#thoughtsApart = 'never';
    const [used, all] = this.#usedBy(call);
    this.#largestCall = largest(this.#largestCall, used);
    this.#own.spent = plus(this.#own.spent, all);
    if (!earlier) {
      this.#shared.all.spent = plus(this.#shared.all.spent, all);
      this.#shared.tell?.();
    }
    const reported = (usage.promptTokens ?? 0) + (usage.completionTokens ?? 0);
    const unreported = all.promptTokens + all.completionTokens - reported;
    this.#totals = addUsage([this.#totals, usageOfCall(call, unreported, this.#price !== undefined)]);
  }

  /** What a call used, and that with the tries whose answers were lost. */
  #usedBy(call: EndedCall): readonly [used: Amounts, all: Amounts] {
    const used = { ...amountsOf(call.completion?.usage ?? {}, this.#price), calls: 1 };
    return [used, this.#lostTries(call).reduce(plus, used)];
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
  ): Pick<Reservation & { kind: 'granted' }, 'tryAgain' | 'settle' | 'release'> {
    const headroom = this.#headroom;
    const worst = this.#worst;
    const exclusively = <T>(work: () => T) => this.#exclusively(work);
    let set = prompts.map((prompt) => worst(prompt, length)).reduce(plus, nothing);
    headroom.setAside(set);
    const longest = Math.max(0, ...prompts);
    return {
      tryAgain(kind, calls) {
        if (!mayBePaid(kind)) return true;
        // The same call once more, as far as the limit of calls goes.
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
        this.#shared.tell?.();
      },
      release: () => {
        headroom.release(set);
        set = nothing;
        this.#shared.tell?.();
      },
    };
  }

  /** The most that tries of the call may have used whose answer was lost. */
  #lostTries(call: EndedCall): readonly Amounts[] {
    if (!this.#usesTokens || isByControl(call)) return [];
    const lost = faultsOf(call).filter((kind) => mayBePaid(kind as ModelErrorKind));
    if (lost.length === 0) return [];
    const length = (this.#fixedLength ?? 2 * this.#longestCompletion) * (call.choices ?? 1);
    const worst = this.#worst(this.#promptTokens(call.messages), length);
    return lost.map(() => ({ ...worst, calls: 0, cachedTokens: 0, reasoningTokens: 0 }));
  }
}

/** Longest completion that is asked for where a limit counts completions and nothing says how long they may be. */
const longestUnknown = 8192;

/** The room that is left for calls: in a run's own budget, in the shared one, and for each call. */
class Headroom {
  limits: LimitsConfig;
  readonly #worst: (prompt: number, length: number) => Amounts;
  readonly #own: Budget;
  readonly #shared: Budget;

  constructor(
    limits: LimitsConfig,
    worst: (prompt: number, length: number) => Amounts,
    own: Budget,
    shared: Budget,
  ) {
    this.limits = limits;
    this.#worst = worst;
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

  /** The limit that one call for each of the prompts could pass, with completions of this length; all in tokens. */
  refusal(prompts: readonly number[], length: number): LimitName | undefined {
    const each = prompts.map((prompt) => this.#worst(prompt, length));
    const all = each.reduce(plus, nothing);
    for (const [prefix, given, budget] of this.#scopes()) {
      const would = budget ? [withMore(budget, all)] : each;
      const limit = would.map((amounts) => passed(given, amounts)).find((key) => key !== undefined);
      if (limit !== undefined) return `${prefix}${limit}` as LimitName;
    }
    return undefined;
  }

  /** The longest completions there is room for, up to what is ever asked for: by bisection. */
  longestCompletion(prompts: readonly number[], fewest: number): number {
    let [low, high] = [fewest, longestUnknown + 1];
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (this.refusal(prompts, middle) === undefined) low = middle;
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
