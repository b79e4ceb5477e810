import { formatCompact, formatCost, formatCount, formatDuration, plural } from '../format/numbers.js';
import type { RacingTotals } from '../rollout/replay-buffer.js';
import type { Cap, UsageTotals } from './events.js';

/** `12 calls, 3 failed, 45.1k tokens in (80 % cached), 2.0k out, cost 0.0123`. */
export function formatUsage(usage: UsageTotals): string {
  const parts = [plural(usage.calls, 'call')];
  if (usage.errors > 0) parts.push(`${usage.errors} failed`);
  if (usage.retries > 0) parts.push(`${usage.retries} ${usage.retries === 1 ? 'retry' : 'retries'}`);
  if (usage.promptTokens > 0) {
    const cached = Math.round((100 * usage.cachedTokens) / usage.promptTokens);
    parts.push(`${formatCompact(usage.promptTokens)} tokens in${cached > 0 ? ` (${cached} % cached)` : ''}`);
  }
  if (usage.completionTokens > 0) {
    const reasoning = usage.reasoningTokens > 0 ? ` (${formatCompact(usage.reasoningTokens)} reasoning)` : '';
    parts.push(`${formatCompact(usage.completionTokens)} out${reasoning}`);
  }
  if (usage.unreported !== undefined) {
    parts.push(`about ${formatCompact(usage.unreported)} tokens that were not reported`);
  }
  if (usage.cost !== undefined) parts.push(`cost ${formatCost(usage.cost)}`);
  return parts.join(', ');
}

/** `tokens 12.3k/50k, cost 0.0123/2, time 3 min 6 s/2 h 0 min`. */
export function formatCaps(caps: readonly Cap[]): string {
  return caps
    .map(({ limit, used, cap }) => {
      const amount = (value: number) =>
        limit.endsWith('minutes') ? formatDuration(60_000 * value) : formatCompact(value);
      return `${limit.replace('minutes', 'time')} ${amount(used)}/${amount(cap)}`;
    })
    .join(', ');
}

/** `3 × rate-limit, 1 × cut`: the most frequent first. */
export function formatFaults(faults: Readonly<Record<string, number>>): string {
  return Object.entries(faults)
    .toSorted(([, a], [, b]) => b - a)
    .map(([kind, count]) => `${count} × ${kind}`)
    .join(', ');
}

/** `31 of 96 evaluations cut short, 412 of 1920 episodes saved (about 18.2k steps)`. */
export function racingText({ cut, episodes, evaluations, saved, savedSteps }: RacingTotals): string {
  const steps = saved === 0 ? '' : ` (about ${formatCompact(savedSteps)} steps)`;
  return `${formatCount(cut)} of ${plural(evaluations, 'evaluation')} cut short, ${formatCount(saved)} of ${plural(episodes, 'episode')} saved${steps}`;
}
