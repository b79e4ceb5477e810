import { formatCost, formatNumber, plural } from '../../format/numbers.js';
import { type CallRecord, type Stage, stageOf } from '../../runs/calls.js';

/** Part of the usage of a run. */
export interface StageUsage {
  readonly calls: number;
  readonly tokens: number;
  /** Absent where it has no price. */
  readonly cost?: number;
}

export function usedFor(stage: Stage, calls: Iterable<CallRecord>): StageUsage {
  const used: { calls: number; tokens: number; cost?: number } = { calls: 0, tokens: 0 };
  for (const call of calls) {
    if (stageOf(call) !== stage) continue;
    const { promptTokens = 0, completionTokens = 0 } = call.completion?.usage ?? {};
    used.calls++;
    used.tokens += promptTokens + completionTokens;
    if (call.cost !== undefined) used.cost = (used.cost ?? 0) + call.cost;
  }
  return used;
}

/** `12 calls, 3.1k tokens of the usage` */
export function usedText({ calls, cost, tokens }: StageUsage): string {
  const used = [
    plural(calls, 'call'),
    ...(tokens === 0 ? [] : [`${formatNumber(tokens)} tokens`]),
    ...(cost === undefined ? [] : [`cost ${formatCost(cost)}`]),
  ];
  return `${used.join(', ')} of the usage`;
}
