import { type Config, isLanguageModel, type LimitsConfig, type ModelConfig } from '../config/config.js';
import {
  type ChatMessage,
  type ModelErrorKind,
  mayBePaid,
  smallest,
  type Usage,
} from '../models/language-model.js';
import { mostTokens } from '../models/reply-faults.js';
import type { PriceConfig } from '../models/settings.js';
import { type CallRecord, type Cap, faultsOf, type LimitName, type UsageTotals } from '../runs/events.js';
import {
  type Amounts,
  capsOf,
  createPurse,
  largest,
  minus,
  nothing,
  type Purse,
  passed,
  plus,
  type ScopeLimits,
} from './limits.js';

/** Counts what calls use and says when the next one could pass a limit. */
export interface Ledger {
  readonly totals: UsageTotals;
  /** Cost of one call, where there is a price: what was not reported is in it, as estimated. */
  cost(usage: Usage): number | undefined;
  /**
   * Sets aside what one call for each of these prompts could use at worst, until `release`; refused, with the limit's
   * name, when that could pass a limit.
   */
  reserve(prompts: readonly (readonly ChatMessage[])[]): Reservation;
  /** @param earlier made by another process: a purse that is shared holds it already */
  record(call: CallRecord, earlier?: boolean): void;
  /** @param elapsedMs wall time of the run */
  caps(elapsedMs: number): readonly Cap[];
}

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

const noUsage: UsageTotals = {
  calls: 0,
  errors: 0,
  retries: 0,
  promptTokens: 0,
  cachedTokens: 0,
  completionTokens: 0,
  reasoningTokens: 0,
  latencyMs: 0,
};

/** The sum of several runs' usage. */
export function addUsage(totals: readonly UsageTotals[]): UsageTotals {
  const sum = (key: Exclude<keyof UsageTotals, 'faults' | 'unreported'>) =>
    totals.reduce((total, usage) => total + (usage[key] ?? 0), 0);
  const unreported = totals.flatMap((usage) => usage.unreported ?? []);
  const faults = totals.flatMap((usage) => Object.entries(usage.faults ?? {}));
  return {
    calls: sum('calls'),
    errors: sum('errors'),
    retries: sum('retries'),
    promptTokens: sum('promptTokens'),
    cachedTokens: sum('cachedTokens'),
    completionTokens: sum('completionTokens'),
    reasoningTokens: sum('reasoningTokens'),
    latencyMs: sum('latencyMs'),
    ...(totals.some(({ cost }) => cost !== undefined) && { cost: sum('cost') }),
    ...(unreported.length > 0 && { unreported: unreported.reduce((total, tokens) => total + tokens, 0) }),
    ...(faults.length > 0 && { faults: addFaults({}, faults) }),
  };
}

type Faults = NonNullable<UsageTotals['faults']>;

function addFaults(counts: Faults, more: readonly (readonly [string, number])[]): Faults {
  const sum: Record<string, number> = { ...counts };
  for (const [kind, count] of more) sum[kind] = (sum[kind] ?? 0) + count;
  return sum;
}

/** What the calls of a run count for its limits. */
export function spentBy(
  calls: readonly CallRecord[],
  { limits, model }: Pick<Config, 'limits' | 'model'>,
): Amounts {
  const purse = createPurse();
  const ledger = createLedger({ ...countedBy(model), limits, purse });
  for (const call of calls) ledger.record(call);
  return purse.spent;
}

/** What a ledger has to know of the model whose calls it counts. */
export const countedBy = (model: ModelConfig) => ({
  price: 'price' in model ? model.price : undefined,
  maxTokens: 'maxTokens' in model ? model.maxTokens : undefined,
  usesTokens: isLanguageModel(model),
});

/** Longest completion that is asked for where a limit counts completions and nothing says how long they may be. */
const longestUnknown = 8192;
/** As long a completion has to have room while none has been seen. */
const assumedCompletion = 1024;

export function createLedger(options: {
  readonly limits: LimitsConfig;
  readonly price: PriceConfig | undefined;
  /** Longest completion the model is allowed, where that is set. */
  readonly maxTokens: number | undefined;
  /** Controls use no tokens. */
  readonly usesTokens: boolean;
  /** Of all repeats, where they share limits. */
  readonly purse?: Purse | undefined;
}): Ledger {
  const { limits, price, usesTokens } = options;
  const own = createPurse();
  const shared = options.purse ?? createPurse();
  let totals: UsageTotals = { ...noUsage, ...(price && { cost: 0 }) };
  let largestCall = nothing;
  let longestCompletion = assumedCompletion;
  /** How far prompts have been longer than the bound says. */
  let promptFactor = 1;
  const scopes: readonly (readonly [
    '' | 'perCall.' | 'total.',
    ScopeLimits | undefined,
    Purse | undefined,
  ])[] = [
    ['', limits, own],
    ['perCall.', limits.perCall, undefined],
    ['total.', limits.total, shared],
  ];
  const countsCompletions = scopes.some(
    ([, given]) =>
      (given?.tokens ?? given?.completionTokens ?? given?.reasoningTokens ?? given?.cost) !== undefined,
  );
  const fixedLength = smallest(
    options.maxTokens,
    limits.perCall?.completionTokens,
    limits.perCall?.reasoningTokens,
  );

  const costOf = (prompt: number, cached: number, completion: number): number =>
    price === undefined
      ? 0
      : ((prompt - cached) * price.input +
          cached * (price.cachedInput ?? price.input) +
          completion * price.output) /
        1e6;
  const worstOf = (prompt: number, completion: number): Amounts => ({
    calls: 1,
    promptTokens: prompt,
    cachedTokens: prompt,
    completionTokens: completion,
    reasoningTokens: completion,
    // A cache may cost more than none.
    cost: Math.max(costOf(prompt, 0, completion), costOf(prompt, prompt, completion)),
  });
  const promptOf = (messages: readonly ChatMessage[]) =>
    usesTokens ? Math.ceil(mostTokens(messages) * promptFactor) : 0;

  /** The limit that calls with such answers could pass. */
  const refusal = (prompts: readonly number[], length: number): LimitName | undefined => {
    const each = prompts.map((prompt) => worstOf(prompt, length));
    const all = each.reduce(plus, nothing);
    for (const [prefix, given, purse] of scopes) {
      if (given === undefined) continue;
      const would = purse ? [plus(plus(purse.spent, purse.reserved), all)] : each;
      const limit = would.map((amounts) => passed(given, amounts)).find((key) => key !== undefined);
      if (limit !== undefined) return `${prefix}${limit}` as LimitName;
    }
    return undefined;
  };
  /** The longest answers there is room for, up to what is ever asked for: by bisection. */
  const roomFor = (prompts: readonly number[], fewest: number): number => {
    let [low, high] = [fewest, longestUnknown + 1];
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (refusal(prompts, middle) === undefined) low = middle;
      else high = middle;
    }
    return low;
  };
  const setAside = (worst: Amounts) => {
    own.reserved = plus(own.reserved, worst);
    shared.reserved = plus(shared.reserved, worst);
  };

  return {
    get totals() {
      return totals;
    },
    cost: (usage) => (price === undefined ? undefined : usedBy(usage).cost),
    reserve(messages) {
      const prompts = messages.map(promptOf);
      const fewest = usesTokens ? (fixedLength ?? Math.min(2 * longestCompletion, longestUnknown)) : 0;
      const limit = refusal(prompts, fewest);
      if (limit !== undefined) return { kind: 'refused', limit };
      const isOpen = usesTokens && fixedLength === undefined && countsCompletions;
      const length = isOpen ? roomFor(prompts, fewest) : fewest;
      let set = prompts.map((prompt) => worstOf(prompt, length)).reduce(plus, nothing);
      setAside(set);
      const longest = Math.max(0, ...prompts);
      return {
        kind: 'granted',
        maxTokens: usesTokens && (isOpen || fixedLength !== undefined) ? length : undefined,
        tryAgain(kind, calls) {
          if (!mayBePaid(kind)) return true;
          // The same call once more, as far as the limit of calls goes.
          const again = { ...worstOf(longest, length * calls), calls: 0 };
          const would = (purse: Purse) => plus(plus(purse.spent, purse.reserved), again);
          if (passed(limits, would(own)) ?? passed(limits.total ?? {}, would(shared))) return false;
          set = plus(set, again);
          setAside(again);
          return true;
        },
        release() {
          own.reserved = minus(own.reserved, set);
          shared.reserved = minus(shared.reserved, set);
          set = nothing;
        },
      };
    },
    record(call, earlier = false) {
      const usage = call.completion?.usage ?? {};
      const spent = call.outcome.kind === 'error' ? call.outcome : call.completion;
      const faults = faultsOf(call);
      if (
        usesTokens &&
        usage.promptTokens !== undefined &&
        call.completion?.faults?.includes('usage-wrong')
      ) {
        promptFactor = Math.max(promptFactor, usage.promptTokens / mostTokens(call.messages));
      }
      longestCompletion = Math.max(longestCompletion, usage.completionTokens ?? 0);
      const lost = usesTokens ? faults.filter((kind) => mayBePaid(kind as ModelErrorKind)).length : 0;
      const length = (fixedLength ?? 2 * longestCompletion) * (call.choices ?? 1);
      const worst = worstOf(lost > 0 ? promptOf(call.messages) : 0, length);
      const used = { ...usedBy(usage), calls: 1 };
      largestCall = largest(largestCall, used);
      let all: Amounts = used;
      for (let i = 0; i < lost; i++)
        all = plus(all, { ...worst, calls: 0, cachedTokens: 0, reasoningTokens: 0 });
      own.spent = plus(own.spent, all);
      if (!earlier) shared.spent = plus(shared.spent, all);
      const reported = (usage.promptTokens ?? 0) + (usage.completionTokens ?? 0);
      const unreported = all.promptTokens + all.completionTokens - reported + (totals.unreported ?? 0);
      totals = {
        calls: totals.calls + 1,
        errors: totals.errors + (call.outcome.kind === 'error' ? 1 : 0),
        retries: totals.retries + (spent?.retries ?? 0),
        promptTokens: totals.promptTokens + (usage.promptTokens ?? 0),
        cachedTokens: totals.cachedTokens + (usage.cachedTokens ?? 0),
        completionTokens: totals.completionTokens + (usage.completionTokens ?? 0),
        reasoningTokens: totals.reasoningTokens + (usage.reasoningTokens ?? 0),
        latencyMs: totals.latencyMs + (spent?.latencyMs ?? 0),
        ...(price && { cost: (totals.cost ?? 0) + (call.cost ?? 0) }),
        ...(unreported > 0 && { unreported }),
        ...((totals.faults !== undefined || faults.length > 0) && {
          faults: addFaults(
            totals.faults ?? {},
            faults.map((kind) => [kind, 1] as const),
          ),
        }),
      };
    },
    caps: (elapsedMs) =>
      capsOf(limits, {
        run: own.spent,
        call: largestCall,
        total: shared.spent,
        runMs: elapsedMs,
        totalMs: elapsedMs + shared.otherMs,
      }),
  };

  function usedBy({ unreported, ...usage }: Usage): Amounts {
    const prompt = (usage.promptTokens ?? 0) + (unreported?.promptTokens ?? 0);
    const completion = (usage.completionTokens ?? 0) + (unreported?.completionTokens ?? 0);
    const cached = usage.cachedTokens ?? 0;
    return {
      calls: 0,
      promptTokens: prompt,
      cachedTokens: cached,
      completionTokens: completion,
      reasoningTokens: usage.reasoningTokens ?? 0,
      cost: costOf(prompt, cached, completion),
    };
  }
}
