/** Counts what calls used: tokens, cost, failures. */
import type { Usage } from '../models/language-model.js';
import type { PriceConfig } from '../models/settings.js';
import { type EndedCall, faultsOf, type UsageTotals } from '../runs/events.js';
import type { Amounts } from './limits.js';

export const noUsage: UsageTotals = {
  calls: 0,
  errors: 0,
  retries: 0,
  promptTokens: 0,
  cachedTokens: 0,
  completionTokens: 0,
  reasoningTokens: 0,
  latencyMs: 0,
};

type Counts = Exclude<keyof UsageTotals, 'cost' | 'faults' | 'unreported'>;
const counts = Object.keys(noUsage) as Counts[];

/** The sum of several runs' usage. */
export function addUsage(totals: readonly UsageTotals[]): UsageTotals {
  const sum: Record<Counts, number> = { ...noUsage };
  let cost: number | undefined;
  let unreported: number | undefined;
  let faults: Record<string, number> | undefined;
  for (const usage of totals) {
    for (const key of counts) sum[key] += usage[key];
    if (usage.cost !== undefined) cost = (cost ?? 0) + usage.cost;
    if (usage.unreported !== undefined) unreported = (unreported ?? 0) + usage.unreported;
    for (const kind in usage.faults) {
      faults ??= {};
      faults[kind] = (faults[kind] ?? 0) + usage.faults[kind]!;
    }
  }
  return {
    ...sum,
    ...(cost !== undefined && { cost }),
    ...(unreported !== undefined && { unreported }),
    ...(faults !== undefined && { faults }),
  };
}

/**
 * The usage of one call, to be added to the totals of its run.
 * @param unreported tokens that limits count beside those that the provider reported
 */
export function usageOfCall(call: EndedCall, unreported: number, hasPrice: boolean): UsageTotals {
  const usage = call.completion?.usage ?? {};
  const took = call.outcome?.kind === 'error' ? call.outcome : call.completion;
  const faults: Record<string, number> = {};
  for (const kind of faultsOf(call)) faults[kind] = (faults[kind] ?? 0) + 1;
  return {
    calls: 1,
    errors: call.outcome?.kind === 'error' ? 1 : 0,
    retries: took?.retries ?? 0,
    promptTokens: usage.promptTokens ?? 0,
    cachedTokens: usage.cachedTokens ?? 0,
    completionTokens: usage.completionTokens ?? 0,
    reasoningTokens: usage.reasoningTokens ?? 0,
    latencyMs: took?.latencyMs ?? 0,
    ...(hasPrice && { cost: call.cost ?? 0 }),
    ...(unreported > 0 && { unreported }),
    faults,
  };
}

function costOf(price: PriceConfig | undefined, prompt: number, cached: number, completion: number): number {
  if (price === undefined) return 0;
  const { input, cachedInput = input, output } = price;
  return ((prompt - cached) * input + cached * cachedInput + completion * output) / 1e6;
}

/** The amounts that a call used, with estimates where nothing was reported; the call itself is not counted. */
export function amountsOf({ unreported, ...usage }: Usage, price: PriceConfig | undefined): Amounts {
  const prompt = (usage.promptTokens ?? 0) + (unreported?.promptTokens ?? 0);
  const completion = (usage.completionTokens ?? 0) + (unreported?.completionTokens ?? 0);
  const cached = usage.cachedTokens ?? 0;
  return {
    calls: 0,
    promptTokens: prompt,
    cachedTokens: cached,
    completionTokens: completion,
    reasoningTokens: usage.reasoningTokens ?? 0,
    cost: costOf(price, prompt, cached, completion),
  };
}

/**
 * The most that a call with so many tokens can use: all of the prompt cached, all of the answer reasoning.
 * @param thoughtsApart thoughts may be as long as the answer, which is then asked for with them in the prompt
 */
export function worstOf(
  asked: number,
  length: number,
  price: PriceConfig | undefined,
  thoughtsApart = false,
): Amounts {
  const [prompt, completion] = thoughtsApart ? [asked + length, 2 * length] : [asked, length];
  return {
    calls: 1,
    promptTokens: prompt,
    cachedTokens: prompt,
    completionTokens: completion,
    reasoningTokens: length,
    // A cache may cost more than none.
    cost: Math.max(costOf(price, prompt, 0, completion), costOf(price, prompt, prompt, completion)),
  };
}
