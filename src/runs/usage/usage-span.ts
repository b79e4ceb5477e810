/** Usage within a span of time: totals, and bars of an hour or of whole days. */
import { UserError } from '../../base/errors.js';
import { groupedBy } from '../../base/grouped.js';
import {
  formatCompact,
  formatCost,
  formatCount,
  formatDuration,
  formatShare,
  plural,
} from '../../format/numbers.js';
import { type Column, number, text } from '../../format/table.js';
import type { HourOfUsage, UsagePurpose } from './hourly-usage.js';
import { sumOf, UsageSum } from './usage-sum.js';

const spans = ['day', 'week', 'month', 'all'] as const;
export type Span = (typeof spans)[number];

export const spanNames: Readonly<Record<Span, string>> = {
  day: 'last 24 hours',
  week: 'last 7 days',
  month: 'last 30 days',
  all: 'all time',
};

/** @throws UserError about `field` if `value` isn't a known span */
export function requireSpan(field: string, value: string): Span {
  const span = spans.find((one) => one === value);
  if (span !== undefined) return span;
  throw new UserError({ field, value, message: 'unknown time span', alternatives: spans });
}

const hour = 3_600_000;
const day = 24 * hour;
const stepsIn = { day: 24, week: 7, month: 30 } as const;

/** Approximate maximum number of bars for `all`. */
const mostSteps = 120;

/** Sums for a model, for one of its purposes, or for all models. */
export interface UsageRow {
  readonly model: string;
  readonly purpose: string;
  readonly sum: UsageSum;
}

export interface UsageOverTime {
  readonly span: Span;
  /** Width of a bar in milliseconds: an hour, or whole days. */
  readonly step: number;
  /** Starts of the bars in milliseconds, in UTC. */
  readonly at: readonly number[];
  readonly total: UsageSum;
  /** All models, then each model, followed by its purposes if it has several; the most expensive first. */
  readonly rows: readonly UsageRow[];
  /** The sums per bar, by model or purpose; the most expensive first. */
  readonly groups: readonly { readonly name: string; readonly bars: readonly UsageSum[] }[];
}

const purposeNames: Readonly<Record<UsagePurpose, string>> = {
  proposal: 'proposals',
  correction: 'corrections',
  critic: 'critic',
  feedback: 'feedback',
  action: 'actions in games',
  rollout: 'training rollouts',
};

/** @param until the current time in milliseconds; the hour or day that contains it is the last one shown */
export function usageOver(
  hours: readonly HourOfUsage[],
  span: Span,
  until: number,
  by: 'model' | 'purpose' = 'model',
): UsageOverTime {
  const first = hours.reduce((least, { start }) => Math.min(least, start), until);
  const step =
    span === 'all' ? day * Math.ceil((until + day - first) / day / mostSteps) : span === 'day' ? hour : day;
  const end = step * Math.ceil((until + 1) / step);
  const from = span === 'all' ? step * Math.floor(first / step) : end - stepsIn[span] * step;
  const at = Array.from({ length: Math.max(1, Math.round((end - from) / step)) }, (_, i) => from + i * step);
  const parts = new Map<string, Part>();
  for (const { model, purpose, start, sum } of hours) {
    const bar = Math.floor((start - from) / step);
    if (bar < 0 || bar >= at.length) continue;
    const key = `${purpose} ${model}`;
    const part = parts.get(key) ?? {
      model,
      purpose: purposeNames[purpose],
      bars: at.map(() => new UsageSum()),
    };
    parts.set(key, part);
    part.bars[bar]!.add(sum);
  }
  const all = [...parts.values()];
  const total = sumOf(all.flatMap(({ bars }) => bars));
  const models = [...groupedBy(all, ({ model }) => model)].map(([model, own]) => {
    const purposes = own.map(({ bars, purpose }) => ({ model, purpose, sum: sumOf(bars) }));
    return { model, purpose: 'all', sum: sumOf(purposes.map(({ sum }) => sum)), purposes };
  });
  const groups = [...groupedBy(all, (part) => part[by])].map(([name, own]) => {
    const bars = at.map((_, i) => sumOf(own.map(({ bars }) => bars[i]!)));
    return { name, bars, sum: sumOf(bars) };
  });
  return {
    ...{ span, step, at, total },
    rows: [
      { model: 'all models', purpose: 'all', sum: total },
      ...models
        .toSorted(byCost)
        .flatMap(({ purposes, ...whole }) =>
          purposes.length === 1 ? purposes : [whole, ...purposes.toSorted(byCost)],
        ),
    ],
    groups: groups.toSorted(byCost),
  };
}

/** The calls of a model for one purpose. */
interface Part {
  readonly model: string;
  readonly purpose: string;
  readonly bars: readonly UsageSum[];
}

interface Summed {
  readonly sum: UsageSum;
}

const byCost = ({ sum: a }: Summed, { sum: b }: Summed) =>
  b.cost - a.cost || b.tokens - a.tokens || b.calls - a.calls;

const duration = (sum: UsageSum, share: number) => {
  const latency = sum.latency(share);
  return Number.isNaN(latency) ? null : formatDuration(latency);
};

/** The cost of the calls whose price is known; null if there are none. */
export const costOf = (sum: UsageSum): string | null => (sum.priced === 0 ? null : formatCost(sum.cost));

/** Table columns; the cached share, latencies and cost are empty if unknown. */
export const usageColumns: readonly Column<UsageRow>[] = [
  text('model', ({ model }) => model, { grouped: true }),
  text('purpose', ({ purpose }) => purpose),
  number('calls', ({ sum }) => formatCount(sum.calls)),
  number('failed', ({ sum }) => formatCount(sum.failed)),
  number('prompt tokens', ({ sum }) => formatCompact(sum.promptTokens)),
  number('cached', ({ sum }) => (sum.promptTokens === 0 ? null : formatShare(sum.cachedShare))),
  number('completion tokens', ({ sum }) => formatCompact(sum.completionTokens)),
  number('reasoning tokens', ({ sum }) => formatCompact(sum.reasoningTokens)),
  number('median latency', ({ sum }) => duration(sum, 0.5)),
  number('95th percentile', ({ sum }) => duration(sum, 0.95)),
  number('cost', ({ sum }) => costOf(sum), { strong: true }),
];

/** A row with unformatted numbers; null if unknown. */
export interface UsageFigures {
  readonly model: string;
  /** `all` for the sum of a model. */
  readonly purpose: string;
  readonly calls: number;
  readonly failedCalls: number;
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly completionTokens: number;
  readonly reasoningTokens: number;
  /** In milliseconds. */
  readonly latency: { readonly median: number | null; readonly percentile95: number | null };
  readonly cost: number | null;
  /** Calls with tokens but without a known price, which `cost` leaves out. */
  readonly unpricedCalls: number;
  /** Number of failures by kind, including retried attempts. */
  readonly failures: Readonly<Record<string, number>>;
}

export function usageFigures({ model, purpose, sum }: UsageRow): UsageFigures {
  const { cachedTokens, calls, completionTokens, promptTokens, reasoningTokens } = sum;
  const latency = (share: number) => {
    const found = sum.latency(share);
    return Number.isNaN(found) ? null : Math.round(found);
  };
  return {
    ...{ model, purpose, calls, failedCalls: sum.failed },
    ...{ promptTokens, cachedTokens, completionTokens, reasoningTokens },
    latency: { median: latency(0.5), percentile95: latency(0.95) },
    cost: sum.priced === 0 ? null : sum.cost,
    unpricedCalls: sum.unpriced,
    failures: Object.fromEntries(sum.failures),
  };
}

/** States the currency of the costs, and how many calls they leave out. */
export function costNoteOf({ priced, unpriced }: UsageSum): string {
  const unknown = `${plural(unpriced, 'call')} without a price ${unpriced === 1 ? 'is' : 'are'} left out.`;
  if (priced === 0) return unpriced === 0 ? 'No call has a cost.' : 'These models have no price.';
  return `Costs are in US dollars, at list prices without discounts, or in the currency of model.price.${unpriced === 0 ? '' : ` ${unknown}`}`;
}
