import { formatCount, formatDuration } from '../format/console.js';
import { formatCompact, formatCount as formatWhole, plural } from '../format/quantities.js';
import type { RacingTotals } from '../rollout/replay-buffer.js';
import type { Cap, UsageTotals } from './events.js';

/** `12 calls, 3 failed, 45.1k tokens in (80 % cached), 2.0k out, cost 0.0123`. */
export function formatUsage(usage: UsageTotals): string {
  const parts = [`${usage.calls} ${usage.calls === 1 ? 'call' : 'calls'}`];
  if (usage.errors > 0) parts.push(`${usage.errors} failed`);
  if (usage.retries > 0) parts.push(`${usage.retries} ${usage.retries === 1 ? 'retry' : 'retries'}`);
  if (usage.promptTokens > 0) {
    const cached = Math.round((100 * usage.cachedTokens) / usage.promptTokens);
    parts.push(`${formatCount(usage.promptTokens)} tokens in${cached > 0 ? ` (${cached} % cached)` : ''}`);
  }
  if (usage.completionTokens > 0) {
    const reasoning = usage.reasoningTokens > 0 ? ` (${formatCount(usage.reasoningTokens)} reasoning)` : '';
    parts.push(`${formatCount(usage.completionTokens)} out${reasoning}`);
  }
  if (usage.unreported !== undefined) {
    parts.push(`about ${formatCount(usage.unreported)} tokens that were not reported`);
  }
  if (usage.cost !== undefined) parts.push(`cost ${usage.cost.toFixed(4)}`);
  return parts.join(', ');
}

/** `tokens 12.3k/50k, cost 0.0123/2, time 3 min 6 s/2 h 0 min`. */
export function formatCaps(caps: readonly Cap[]): string {
  return caps
    .map(({ limit, used, cap }) => {
      const amount = limit.endsWith('minutes')
        ? (value: number) => formatDuration(60_000 * value)
        : capAmount;
      return `${limit.replace('minutes', 'time')} ${amount(used)}/${amount(cap)}`;
    })
    .join(', ');
}

const capAmount = (value: number) =>
  value >= 1000 || Number.isInteger(value) ? formatCount(value) : value.toPrecision(3).replace(/\.?0+$/, '');

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
  return `${formatWhole(cut)} of ${plural(evaluations, 'evaluation')} cut short, ${formatWhole(saved)} of ${plural(episodes, 'episode')} saved${steps}`;
}
