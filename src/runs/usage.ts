/** Sums the usage of model calls. */
import { type CallRecord, faultsOf, type UsageTotals } from './calls.js';

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

type CountKey = Exclude<keyof UsageTotals, 'cost' | 'faults' | 'listed' | 'unreported'>;
const countKeys = Object.keys(noUsage) as CountKey[];

/** Sums the usage of several calls or runs. */
export function sumUsage(totals: readonly UsageTotals[]): UsageTotals {
  const sum: Record<CountKey, number> = { ...noUsage };
  let cost: number | undefined;
  let unreported: number | undefined;
  let listed: string | undefined;
  let faults: Record<string, number> | undefined;
  for (const usage of totals) {
    for (const key of countKeys) sum[key] += usage[key];
    if (usage.cost !== undefined) cost = (cost ?? 0) + usage.cost;
    // Keep the oldest date, because old prices are the least certain.
    if (usage.listed !== undefined && (listed === undefined || usage.listed < listed)) listed = usage.listed;
    if (usage.unreported !== undefined) unreported = (unreported ?? 0) + usage.unreported;
    for (const kind in usage.faults) {
      faults ??= {};
      faults[kind] = (faults[kind] ?? 0) + usage.faults[kind]!;
    }
  }
  return {
    ...sum,
    ...(cost !== undefined && { cost }),
    ...(listed !== undefined && { listed }),
    ...(unreported !== undefined && { unreported }),
    ...(faults !== undefined && { faults }),
  };
}

/**
 * The usage of one call, in the form of a run's totals.
 * @param unreported tokens that count towards limits in addition to those the provider reported
 */
export function usageOfCall(call: CallRecord, unreported: number, hasPrice: boolean): UsageTotals {
  const usage = call.completion?.usage ?? {};
  const callStats = call.outcome.kind === 'error' ? call.outcome : call.completion;
  const faults: Record<string, number> = {};
  for (const kind of faultsOf(call)) faults[kind] = (faults[kind] ?? 0) + 1;
  return {
    calls: 1,
    errors: call.outcome.kind === 'error' ? 1 : 0,
    retries: callStats?.retries ?? 0,
    promptTokens: usage.promptTokens ?? 0,
    cachedTokens: usage.cachedTokens ?? 0,
    completionTokens: usage.completionTokens ?? 0,
    reasoningTokens: usage.reasoningTokens ?? 0,
    latencyMs: callStats?.latencyMs ?? 0,
    ...(hasPrice && { cost: call.cost ?? 0 }),
    ...(unreported > 0 && { unreported }),
    faults,
  };
}
