/**
 * Stops a run before any model call that could exceed a limit: what has been used, plus the worst case of the calls in
 * flight and of the next ones, must not be more than `limits` allow.
 */
import type { Config } from '../../config/config.js';
import type { LimitsConfig } from '../../config/limits.js';
import { type ChatMessage, type ModelErrorKind, mayBePaid, type Usage } from '../../models/language-model.js';
import type { CallPurpose, Cap, EndedCall, LimitKey, LimitName, UsageTotals } from '../../runs/calls.js';
import { addUsage, noUsage, usageOfCall } from '../../runs/usage.js';
import { smallest } from '../../statistics/descriptive.js';
import {
  CountedModel,
  type CountedOptions,
  countedBy,
  countedOthers,
  longestUnknown,
} from './counted-model.js';
import {
  type Amounts,
  type CallUsage,
  capsOf,
  nothing,
  type SharedBudget,
  sweepLimit,
  total,
} from './limits.js';

/** A request that is about to be sent. */
interface PlannedRequest {
  readonly prompt: readonly ChatMessage[];
  /** Number of answers that the request asks for. */
  readonly answers: number;
}

export interface ReservedRequest {
  /**
   * Whether the limits allow a retry. If the failed attempt may have been billed, also reserves the worst case of
   * another.
   */
  readonly mayTryAgain: (kind: ModelErrorKind) => boolean;
  readonly release: () => void;
}

type Reservation =
  | {
      readonly kind: 'granted';
      /** Maximum length of a completion, in tokens; undefined if neither a limit nor a setting bounds it. */
      readonly maxTokens: number | undefined;
      readonly requests: readonly ReservedRequest[];
    }
  | { readonly kind: 'refused'; readonly limit: LimitName };

/** Sums the usage of calls as it counts towards a run's limits. */
export function spentBy(
  calls: Iterable<EndedCall>,
  { critic, model }: Pick<Config, 'critic' | 'model'>,
): Amounts {
  const ledger = new Ledger({ ...countedBy(model), limits: {}, beside: countedOthers({ critic }) });
  for (const call of calls) ledger.record(call);
  return ledger.spent;
}

export class Ledger implements CallUsage {
  readonly #model: CountedModel;
  readonly #beside: Readonly<Partial<Record<CallPurpose, CountedModel>>>;
  readonly #limits: LimitsConfig;
  readonly #shared: SharedBudget | undefined;
  readonly #inFlight = new Set<{ worst: Amounts }>();
  #spent = nothing;
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
    this.#limits = limits;
    this.#shared = sharedBudget;
    sharedBudget?.join(this);
    const prices = [this.#model, ...Object.values(this.#beside)].flatMap(({ price = [] }) => price);
    this.#totals = addUsage(prices.map(({ listed }) => ({ ...noUsage, cost: 0, ...(listed && { listed }) })));
  }

  get totals(): UsageTotals {
    return this.#totals;
  }

  get spent(): Amounts {
    return this.#spent;
  }

  get inFlight(): Amounts {
    return total([...this.#inFlight].map(({ worst }) => worst));
  }

  /** Cost of one call, including unreported tokens (estimated); undefined if there is no price. */
  cost(usage: Usage, purpose?: CallPurpose): number | undefined {
    const model = this.#for(purpose);
    return model.price && model.used(usage).cost;
  }

  /** Counts a call that has ended. */
  record(call: EndedCall): void {
    const model = this.#for(call.purpose);
    model.learn(call);
    const used = model.usedBy(call);
    this.#spent = total([this.#spent, used]);
    const { completionTokens = 0, promptTokens = 0 } = call.completion?.usage ?? {};
    const unreported = used.tokens - promptTokens - completionTokens;
    this.#totals = addUsage([this.#totals, usageOfCall(call, unreported, model.price !== undefined)]);
  }

  /**
   * Reserves the worst case of these requests. If that could exceed a limit, refuses and names the limit.
   * @param isFree see `AskingRequest`
   */
  reserve(planned: readonly PlannedRequest[], isFree = false, purpose?: CallPurpose): Reservation {
    const model = isFree ? free : this.#for(purpose);
    const sizes = planned.map(({ answers, prompt }) => ({ answers, prompt: model.promptTokens(prompt) }));
    const worst = (length: number) =>
      total(sizes.map(({ answers, prompt }) => model.worst(prompt, length, answers)));
    const limit = this.#exceededBy(worst(model.expectedLength));
    if (limit !== undefined) return { kind: 'refused', limit };
    const isOpen = model.usesTokens && model.maxTokens === undefined && this.#budgets.some(limitsLength);
    const length = isOpen ? this.#longestCompletion(worst, model.expectedLength) : model.expectedLength;
    const requests = sizes.map(({ answers, prompt }) =>
      this.#held(
        model.worst(prompt, length, answers),
        // A retry doesn't count as another call.
        { ...model.worst(prompt, length * answers), calls: 0 },
      ),
    );
    return { kind: 'granted', maxTokens: isOpen ? length : model.maxTokens, requests };
  }

  /**
   * Whether this many more calls with a prompt fit within the limits, if no completion is more than twice as long as the
   * longest so far.
   */
  hasRoomFor(calls: number, prompt: () => readonly ChatMessage[]): boolean {
    if (!this.#budgets.some(limitsCalls)) return true;
    const model = this.#model;
    const worst = model.worst(model.promptTokens(prompt()), model.expectedLength, calls);
    return this.#exceededBy(worst) === undefined;
  }

  /** Claims evaluations for this run if it shares limits; see `SharedBudget`. */
  claim(evaluations: number): void {
    this.#shared?.claim(evaluations);
  }

  /**
   * How much of each limit has been used.
   * @param used evaluations of the run, and its active time in milliseconds
   */
  caps({ evaluations, ms }: { readonly evaluations: number; readonly ms: number }): readonly Cap[] {
    const own = { ...this.spent, evaluations, minutes: ms / 60_000 };
    const shared = this.#shared;
    if (shared === undefined) return capsOf(this.#limits, own);
    const all = total([own, ...shared.others().map(({ spent }) => spent)]);
    return [...capsOf(this.#limits, own), ...capsOf(shared.limits, all, sweepLimit)];
  }

  #for(purpose: CallPurpose | undefined): CountedModel {
    return (purpose && this.#beside[purpose]) ?? this.#model;
  }

  /** The run's limits and those of its sweep, with the usage of calls that have ended or are in flight. */
  get #budgets(): readonly Budget[] {
    const shared = this.#shared;
    const usage = (runs: readonly CallUsage[]) =>
      total(runs.flatMap(({ spent, inFlight }) => [spent, inFlight]));
    return [
      { limits: this.#limits, used: usage([this]), name: (key) => key },
      ...(shared
        ? [{ limits: shared.limits, used: usage([this, ...shared.others()]), name: sweepLimit }]
        : []),
    ];
  }

  /** The first limit on calls that this much more usage would exceed, if any. */
  #exceededBy(more: Amounts): LimitName | undefined {
    for (const { limits, name, used } of this.#budgets) {
      const key = callKeys.find((one) => used[one] + more[one] > (limits[one] ?? Number.POSITIVE_INFINITY));
      if (key !== undefined) return name(key);
    }
    return undefined;
  }

  /** The longest completions that fit the limits, in tokens: at least `fewest`, at most `longestUnknown`. */
  #longestCompletion(worst: (length: number) => Amounts, fewest: number): number {
    const [none, one] = [worst(0), worst(1)];
    const longest = this.#budgets.flatMap(({ limits, used }) =>
      callKeys
        .filter((key) => one[key] > none[key])
        .map(
          (key) =>
            ((limits[key] ?? Number.POSITIVE_INFINITY) - used[key] - none[key]) / (one[key] - none[key]),
        ),
    );
    return Math.max(fewest, Math.floor(smallest([longestUnknown, ...longest])));
  }

  #held(worst: Amounts, retry: Amounts): ReservedRequest {
    const held = { worst };
    this.#inFlight.add(held);
    return {
      mayTryAgain: (kind) => {
        if (!mayBePaid(kind)) return true;
        if (this.#exceededBy(retry) !== undefined) return false;
        held.worst = total([held.worst, retry]);
        return true;
      },
      release: () => this.#inFlight.delete(held),
    };
  }
}

interface Budget {
  readonly limits: LimitsConfig;
  readonly used: Amounts;
  readonly name: (key: LimitKey) => LimitName;
}

const callKeys = ['calls', 'tokens', 'cost'] as const;

/** Whether any limit depends on calls. */
const limitsCalls = ({ limits }: Budget) => callKeys.some((key) => limits[key] !== undefined);

/** Whether any limit depends on the length of completions. */
const limitsLength = ({ limits: { cost, tokens } }: Budget) => (tokens ?? cost) !== undefined;

/** A baseline in a portfolio or in tuning. */
const free = new CountedModel({ price: undefined, maxTokens: undefined, usesTokens: false });
