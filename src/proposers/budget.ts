/**
 * Stops a run before any model call that could exceed a limit: the amounts used, plus the worst case of the calls in
 * flight and of the next call, must stay within `limits`.
 */
import type { LimitsConfig } from '../config/limits.js';
import { languageModelOf, type ModelConfig } from '../config/model.js';
import { type ChatMessage, type ModelErrorKind, mayBePaid, type Usage } from '../models/language-model.js';
import { maxPromptTokens } from '../models/reply-faults.js';
import type { PriceConfig } from '../models/settings.js';
import {
  type CallRecord,
  faultsOf,
  type LimitKey,
  type LimitName,
  type LimitUsage,
  type UsageTotals,
} from '../runs/calls.js';
import { noUsage, sumUsage, usageOfCall } from '../runs/usage.js';
import { largest, smallest } from '../statistics/descriptive.js';

export type UsageAmounts = Readonly<Record<LimitKey, number>>;

export const noSpend: UsageAmounts = { evaluations: 0, calls: 0, tokens: 0, cost: 0, minutes: 0 };

const limitKeys = Object.keys(noSpend) as readonly LimitKey[];
const callKeys = ['calls', 'tokens', 'cost'] as const;

const sumAmounts = (amounts: readonly UsageAmounts[]): UsageAmounts => {
  const sum = { ...noSpend };
  for (const one of amounts) for (const key of limitKeys) sum[key] += one[key];
  return sum;
};

/** The usage of a run's calls: of those that have ended, and the worst case of those in flight. */
export interface CallUsage {
  readonly spent: UsageAmounts;
  readonly inFlight: UsageAmounts;
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

/** Returns the name of a limit that all runs of a sweep share. */
const sweepLimit = (key: LimitKey): LimitName => `sweep.limits.${key}`;

/** The settings that determine what a model's calls can use. */
export interface UsageConfig {
  readonly price: PriceConfig | undefined;
  /** Longest completion that the model's settings allow, in tokens; undefined if they don't limit it. */
  readonly maxTokens: number | undefined;
  /** False for baselines. */
  readonly usesTokens: boolean;
}

/** Returns the usage settings of a config's language model. */
export function usageConfig(config: ModelConfig): UsageConfig {
  const model = languageModelOf(config);
  return {
    price: model && 'price' in model ? model.price : undefined,
    maxTokens: model && 'maxTokens' in model ? model.maxTokens : undefined,
    usesTokens: model !== undefined,
  };
}

/** Longest completion to request, in tokens, if a limit depends on its length but no setting bounds it. */
const maxCompletionTokens = 8192;
/** Assumed length of the longest completion, in tokens, until a longer one arrives. */
const assumedCompletionTokens = 1024;

export interface PlannedRequest {
  readonly messages: readonly ChatMessage[];
  /** Number of completions that the request asks for. */
  readonly choices: number;
  /** Number of requests like this one that share the remaining budget. Default: 1. */
  readonly among?: number | undefined;
}

export interface Reservation {
  /** Maximum length of a completion, in tokens; undefined if neither a limit nor a setting bounds it. */
  readonly maxTokens: number | undefined;
  /** True if the limits allow a retry. Reserves another worst case for it if the failed attempt may be billed. */
  readonly mayTryAgain: (kind: ModelErrorKind) => boolean;
  readonly release: () => void;
}

/** Sums the usage of calls as it counts towards a run's limits. */
export function spentBy(calls: Iterable<CallRecord>, models: RunUsageConfig): UsageAmounts {
  const ledger = new Ledger({ ...models, limits: {} });
  for (const call of calls) ledger.record(call);
  return ledger.spent;
}

export interface RunUsageConfig extends UsageConfig {
  /** The stages' own models, by stage. */
  readonly stages?: Readonly<Record<string, UsageConfig>>;
}

/** Returns the usage settings of a run's model, and of the models that are set for its stages. */
export const runUsageConfig = (
  model: ModelConfig,
  stages: Readonly<Record<string, ModelConfig>>,
): RunUsageConfig => ({
  ...usageConfig(model),
  stages: Object.fromEntries(Object.entries(stages).map(([stage, own]) => [stage, usageConfig(own)])),
});

export class Ledger implements CallUsage {
  readonly #models: RunUsageConfig;
  readonly #limits: LimitsConfig;
  readonly #shared: SharedBudget | undefined;
  readonly #inFlight = new Set<{ worst: UsageAmounts }>();
  #longestCompletion = assumedCompletionTokens;
  /** The largest ratio of reported prompt tokens to `maxPromptTokens`; at least 1. */
  #promptFactor = 1;
  #spent = noSpend;
  #totals: UsageTotals;

  /** `sharedBudget` is undefined if no other run shares the limits. */
  constructor({
    limits,
    sharedBudget,
    ...models
  }: RunUsageConfig & { readonly limits: LimitsConfig; readonly sharedBudget?: SharedBudget | undefined }) {
    this.#models = models;
    this.#limits = limits;
    this.#shared = sharedBudget;
    sharedBudget?.join(this);
    const prices = [models, ...Object.values(models.stages ?? {})].flatMap(({ price = [] }) => price);
    this.#totals = sumUsage(prices.map(({ listed }) => ({ ...noUsage, cost: 0, ...(listed && { listed }) })));
  }

  get totals(): UsageTotals {
    return this.#totals;
  }

  get spent(): UsageAmounts {
    return this.#spent;
  }

  get inFlight(): UsageAmounts {
    return sumAmounts([...this.#inFlight].map(({ worst }) => worst));
  }

  /** Computes the cost of one call, including unreported tokens (estimated); undefined if there is no price. */
  cost(usage: Usage, purpose?: string): number | undefined {
    const model = this.#for(purpose);
    return model.price && usedAmounts(model, usage).cost;
  }

  /**
   * Counts a call that has ended, with a high estimate of its failed attempts that may have been billed.
   * @param maxTokens longest completion that was requested
   */
  record(call: CallRecord, maxTokens = this.#for(call.purpose).maxTokens ?? maxCompletionTokens): void {
    const model = this.#for(call.purpose);
    const usage = call.completion?.usage ?? {};
    const { completionTokens = 0, promptTokens = 0 } = usage;
    if (model.usesTokens && call.completion?.faults?.includes('usage-wrong'))
      this.#promptFactor = Math.max(this.#promptFactor, promptTokens / maxPromptTokens(call.messages));
    this.#longestCompletion = Math.max(this.#longestCompletion, completionTokens);
    const lostKinds = faultsOf(call).filter((kind) => mayBePaid(kind as ModelErrorKind));
    const length = maxTokens * (call.choices ?? 1);
    const worst = () => this.#worst(model, { prompt: this.#promptTokens(call.messages), choices: 1, length });
    const used = sumAmounts([usedAmounts(model, usage), ...lostKinds.map(() => ({ ...worst(), calls: 0 }))]);
    this.#spent = sumAmounts([this.#spent, used]);
    const unreported = used.tokens - promptTokens - completionTokens;
    this.#totals = sumUsage([this.#totals, usageOfCall(call, unreported, model.price !== undefined)]);
  }

  /** Returns the limit that this many calls of a baseline would exceed, if any; they use no tokens. */
  exceededLimit(calls: number): LimitName | undefined {
    return this.#exceededBy({ ...noSpend, calls });
  }

  /** Reserves the worst case of a request, or returns the limit that it could exceed. */
  reserve(request: PlannedRequest, purpose?: string): Reservation | LimitName {
    const model = this.#for(purpose);
    const { choices, among = 1, messages } = request;
    const isLengthLimited = model.usesTokens && this.#budgets.some(limitsLength);
    const promptTokens = isLengthLimited ? this.#promptTokens(messages) : 0;
    const worstCase = (length: number) => this.#worst(model, { prompt: promptTokens, choices, length });
    const allWorst = (length: number) => sumAmounts(Array.from({ length: among }, () => worstCase(length)));
    const expected = model.maxTokens ?? Math.min(2 * this.#longestCompletion, maxCompletionTokens);
    const limit = this.#exceededBy(allWorst(expected));
    // This request alone may fit even if the requests that share the budget don't.
    const limitAlone = limit === undefined ? undefined : this.#exceededBy(worstCase(expected));
    if (limitAlone !== undefined) return limitAlone;
    const isOpen = isLengthLimited && model.maxTokens === undefined;
    const length = isOpen ? this.#longestFor(limit === undefined ? allWorst : worstCase, expected) : expected;
    const pending = { worst: worstCase(length) };
    this.#inFlight.add(pending);
    // A retry doesn't count as another call.
    const retry = this.#worst(model, { prompt: promptTokens, choices: 1, length: length * choices });
    const retryWorst = { ...retry, calls: 0 };
    return {
      maxTokens: isOpen ? length : model.maxTokens,
      mayTryAgain: (kind) => {
        if (!mayBePaid(kind)) return true;
        if (this.#exceededBy(retryWorst) !== undefined) return false;
        pending.worst = sumAmounts([pending.worst, retryWorst]);
        return true;
      },
      release: () => this.#inFlight.delete(pending),
    };
  }

  /** Claims evaluations for this run if it shares limits; see `SharedBudget`. */
  claim(evaluations: number): void {
    this.#shared?.claim(evaluations);
  }

  /**
   * Returns how much of each limit has been used.
   * @param used evaluations of the run, and its active time in milliseconds
   */
  caps({ evaluations, ms }: { readonly evaluations: number; readonly ms: number }): readonly LimitUsage[] {
    const ownUsage = { ...this.spent, evaluations, minutes: ms / 60_000 };
    const others = this.#shared?.others().map(({ spent }) => spent) ?? [];
    const capsOf = (limits: LimitsConfig, used: UsageAmounts, name: (key: LimitKey) => LimitName) =>
      limitKeys.flatMap((key) => {
        const cap = limits[key];
        return cap === undefined ? [] : [{ limit: name(key), used: used[key], cap }];
      });
    return [
      ...capsOf(this.#limits, ownUsage, (key) => key),
      ...capsOf(this.#shared?.limits ?? {}, sumAmounts([ownUsage, ...others]), sweepLimit),
    ];
  }

  #for(purpose: string | undefined): UsageConfig {
    return this.#models.stages?.[purpose ?? ''] ?? this.#models;
  }

  /** Returns an upper bound on the tokens of a prompt. */
  #promptTokens(messages: readonly ChatMessage[]): number {
    return Math.ceil(maxPromptTokens(messages) * this.#promptFactor);
  }

  /** Returns the maximum usage of a request with completions of `length` tokens; linear in `length`. */
  #worst(
    model: UsageConfig,
    { choices, length, prompt }: Readonly<Record<'choices' | 'length' | 'prompt', number>>,
  ): UsageAmounts {
    if (!model.usesTokens) return { ...noSpend, calls: choices };
    const [promptTokens, completionTokens] = [choices * prompt, choices * length];
    // Cached tokens may cost more than uncached ones.
    const costs = [0, promptTokens].map((cached) => costOf(model, promptTokens, cached, completionTokens));
    const cost = largest(costs);
    return { ...noSpend, calls: choices, tokens: promptTokens + completionTokens, cost };
  }

  /** The run's limits and those of its sweep, with the usage of calls that have ended or are in flight. */
  get #budgets(): readonly Budget[] {
    const shared = this.#shared;
    const usageOf = (runs: readonly CallUsage[]) =>
      sumAmounts(runs.flatMap(({ spent, inFlight }) => [spent, inFlight]));
    const own = { limits: this.#limits, used: usageOf([this]), name: (key: LimitKey) => key };
    if (shared === undefined) return [own];
    return [own, { limits: shared.limits, used: usageOf([this, ...shared.others()]), name: sweepLimit }];
  }

  /** Returns the first limit on calls, tokens or cost that this additional usage would exceed, if any. */
  #exceededBy(more: UsageAmounts): LimitName | undefined {
    for (const { limits, name, used } of this.#budgets) {
      const key = callKeys.find((one) => used[one] + more[one] > (limits[one] ?? Number.POSITIVE_INFINITY));
      if (key !== undefined) return name(key);
    }
    return undefined;
  }

  /** Returns the maximum tokens of a completion within the limits, from `minLength` to `maxCompletionTokens`. */
  #longestFor(worst: (length: number) => UsageAmounts, minLength: number): number {
    const [none, one] = [worst(0), worst(1)];
    const maxLengths = this.#budgets.flatMap(({ limits, used }) =>
      callKeys
        .filter((key) => one[key] > none[key] && limits[key] !== undefined)
        .map((key) => (limits[key]! - used[key] - none[key]) / (one[key] - none[key])),
    );
    return Math.max(minLength, Math.floor(smallest([maxCompletionTokens, ...maxLengths])));
  }
}

interface Budget {
  readonly limits: LimitsConfig;
  readonly used: UsageAmounts;
  readonly name: (key: LimitKey) => LimitName;
}

/** True if any limit depends on the lengths of prompts and completions. */
const limitsLength = ({ limits: { cost, tokens } }: Budget) => (tokens ?? cost) !== undefined;

function costOf({ price }: UsageConfig, prompt: number, cached: number, completion: number): number {
  if (price === undefined) return 0;
  const { input, cachedInput = input, output } = price;
  return ((prompt - cached) * input + cached * cachedInput + completion * output) / 1e6;
}

/** Computes the tokens and cost of a completion, estimated if the provider reported none. */
function usedAmounts(model: UsageConfig, { unreported, ...usage }: Usage): UsageAmounts {
  const promptTokens = (usage.promptTokens ?? 0) + (unreported?.promptTokens ?? 0);
  const completionTokens = (usage.completionTokens ?? 0) + (unreported?.completionTokens ?? 0);
  const cost = costOf(model, promptTokens, usage.cachedTokens ?? 0, completionTokens);
  return { ...noSpend, calls: 1, tokens: promptTokens + completionTokens, cost };
}
