import type { LimitsConfig, PriceConfig } from './config.js';
import type { ChatMessage, Usage } from './models/language-model.js';
import { estimatePromptTokens } from './prompting/token-estimate.js';
import type { CallRecord, UsageTotals } from './run-log.js';

/** Counts what calls use and says when the next one could pass a limit. */
export interface Ledger {
  readonly totals: UsageTotals;
  /** Cost of one call, where there is a price. */
  cost(usage: Usage): number | undefined;
  /**
   * Sets aside what `calls` calls with these messages could use at worst, until `release`; refused, with the
   * limit's name, when that could pass a limit.
   */
  reserve(messages: readonly ChatMessage[], calls: number): Reservation;
  record(call: CallRecord): void;
}

export type LimitName = 'calls' | 'tokens' | 'cost';

export type Reservation =
  | { readonly kind: 'granted'; release(): void }
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
  const sum = (key: keyof UsageTotals) => totals.reduce((total, usage) => total + (usage[key] ?? 0), 0);
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
  };
}

/** Used while no completion has been seen and the config sets no `maxTokens`. */
const assumedCompletionTokens = 2048;

export function createLedger(options: {
  readonly limits: LimitsConfig;
  readonly price: PriceConfig | undefined;
  /** Longest completion the model is allowed, where that is set. */
  readonly maxTokens: number | undefined;
  /** Controls use no tokens. */
  readonly usesTokens: boolean;
}): Ledger {
  const { limits, price } = options;
  let totals: UsageTotals = { ...noUsage, ...(price && { cost: 0 }) };
  let longestCompletion = assumedCompletionTokens / 2;
  const reserved = { calls: 0, prompt: 0, completion: 0 };

  const worstCase = (messages: readonly ChatMessage[], calls: number) => {
    if (!options.usesTokens) return { prompt: 0, completion: 0 };
    const prompt = estimatePromptTokens(messages);
    return { prompt: prompt * calls, completion: (options.maxTokens ?? 2 * longestCompletion) * calls };
  };
  const costOf = (prompt: number, cached: number, completion: number): number | undefined =>
    price &&
    ((prompt - cached) * price.input +
      cached * (price.cachedInput ?? price.input) +
      completion * price.output) /
      1e6;

  return {
    get totals() {
      return totals;
    },
    cost: (usage) => costOf(usage.promptTokens ?? 0, usage.cachedTokens ?? 0, usage.completionTokens ?? 0),
    reserve(messages, calls) {
      const worst = worstCase(messages, calls);
      const prompt = reserved.prompt + worst.prompt;
      const completion = reserved.completion + worst.completion;
      if (limits.calls !== undefined && totals.calls + reserved.calls + calls > limits.calls) {
        return { kind: 'refused', limit: 'calls' };
      }
      const tokens = totals.promptTokens + totals.completionTokens + prompt + completion;
      if (limits.tokens !== undefined && tokens > limits.tokens) return { kind: 'refused', limit: 'tokens' };
      const cost = (totals.cost ?? 0) + (costOf(prompt, 0, completion) ?? 0);
      if (limits.cost !== undefined && cost > limits.cost) return { kind: 'refused', limit: 'cost' };
      reserved.calls += calls;
      reserved.prompt = prompt;
      reserved.completion = completion;
      return {
        kind: 'granted',
        release: () => {
          reserved.calls -= calls;
          reserved.prompt -= worst.prompt;
          reserved.completion -= worst.completion;
        },
      };
    },
    record(call) {
      const usage = call.completion?.usage ?? {};
      const spent = call.outcome.kind === 'error' ? call.outcome : call.completion;
      longestCompletion = Math.max(longestCompletion, usage.completionTokens ?? 0);
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
      };
    },
  };
}
