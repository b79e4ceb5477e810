import { type Content, html } from '../../../base/text/content.js';
import {
  formatCompact,
  formatCost,
  formatCount,
  formatDuration,
  formatNumber,
  missing,
  plural,
} from '../../../base/text/numbers.js';
import { bar as barColumn, number, pageTable, text } from '../../../base/text/table.js';
import type { CallRecord, Cap, LimitName, UsageTotals } from '../../../runs/calls.js';
import { addUsage, usageOfCall } from '../../../runs/usage.js';
import { type Chart, chartFigure } from '../../chart.js';
import type { RunData } from '../data/proposals.js';

/** Shows tokens and latency of each iteration, the cost so far, the totals, and the use of limits. */
export function usageView(
  { caps, usage: totals }: Pick<RunData['manifest'], 'caps' | 'usage'>,
  iterations: readonly UsageTotals[],
): Content {
  const usage = spansOf(iterations);
  const tokens = totals.promptTokens + totals.completionTokens > 0;
  // Shorter latencies, such as a baseline's, are only noise.
  const slow = usage.some((iteration) => iteration.latencyMs >= 100);
  return html`<div class="charts">
${tokens && tokenChart(usage)}
${slow && latencyChart(usage)}
${totals.cost !== undefined && totals.cost > 0 && costChart(usage)}
<div>${!tokens && html`<p class="note">This model uses no tokens, or its provider doesn't report them.</p>`}
${totalsTable(totals)}
${capsTable(caps)}</div>
</div>`;
}

/** Shows how much of each limit has been used. */
function capsTable(caps: readonly Cap[] | undefined): Content | undefined {
  if (caps === undefined || caps.length === 0) return undefined;
  const amount = (limit: string, value: number) => {
    if (limit.endsWith('minutes')) return formatDuration(60_000 * value);
    return limit.endsWith('cost') ? formatCost(value) : formatNumber(value, value < 100 ? 3 : 6);
  };
  return html`${pageTable(caps, [
    text('limit', ({ limit }) => spelled(limit)),
    number('used', ({ limit, used }) => amount(limit, used)),
    number('of', ({ cap, limit }) => amount(limit, cap)),
    barColumn(({ cap, used }) => used / cap),
  ])}
<p class="note">A run stops before a call that could exceed a limit, so usage usually stays below the limit.</p>`;
}

/** Spells out a limit: `sweep.limits.calls` becomes `calls, all runs of the sweep`. */
function spelled(limit: LimitName): string {
  const name = limit.replace(/^.*\./, '');
  const words = name === 'minutes' ? 'time' : name;
  return limit.startsWith('sweep.') ? `${words}, all runs of the sweep` : words;
}

/** Adds up the usage of each iteration, call by call. */
export class UsageByIteration {
  readonly #usage: UsageTotals[] = [];

  add(call: CallRecord): void {
    const own = this.#usage[call.iteration - 1] ?? addUsage([]);
    this.#usage[call.iteration - 1] = addUsage([own, usageOfCall(call, 0, true)]);
  }

  get totals(): readonly UsageTotals[] {
    return Array.from(this.#usage, (own = addUsage([])) => own);
  }
}

/** One iteration or, in a long run, several consecutive iterations that share a bar. */
interface Span extends UsageTotals {
  readonly first: number;
  readonly last: number;
}

/** Kinds of tokens that the chart shows separately. */
const tokenKinds = [
  { label: 'prompt', colour: '--tokens-fresh', of: (span: Span) => span.promptTokens - span.cachedTokens },
  { label: 'prompt, cached', colour: '--tokens-cached', of: (span: Span) => span.cachedTokens },
  {
    label: 'answer',
    colour: '--tokens-answer',
    of: (span: Span) => span.completionTokens - span.reasoningTokens,
  },
  { label: 'reasoning', colour: '--tokens-reasoning', of: (span: Span) => span.reasoningTokens },
] as const;

const mostBars = 600;

function spansOf(iterations: readonly UsageTotals[]): readonly Span[] {
  const size = Math.ceil(iterations.length / mostBars);
  return Array.from({ length: Math.ceil(iterations.length / Math.max(1, size)) }, (_, i) => {
    const own = iterations.slice(i * size, (i + 1) * size);
    const first = i * size + 1;
    return { ...addUsage(own), first, last: first + own.length - 1 };
  });
}

/** `Tokens per iteration` or, for longer spans, `Tokens per 3 iterations`. */
const ofEach = (what: string, [first]: readonly Span[]) => {
  const size = first === undefined ? 1 : first.last - first.first + 1;
  return size === 1 ? `${what} per iteration` : `${what} per ${size} iterations`;
};

function tokenChart(usage: readonly Span[]): Content {
  const shown = tokenKinds.filter(({ of }) => usage.some((span) => of(span) > 0));
  return iterationChart(usage, {
    y: { title: ofEach('Tokens', usage), kind: 'compact' },
    series: shown.map(({ of, ...kind }) => ({ ...kind, draw: 'bars', values: usage.map(of) })),
    noteOf: (span) => shown.map(({ of, label }) => `${label} ${formatCount(of(span))}`).join(', '),
  });
}

const latencyChart = (usage: readonly Span[]): Content =>
  iterationChart(usage, {
    y: { title: ofEach('Latency', usage), kind: 'duration' },
    series: [{ ...bars, label: 'latency', values: usage.map(({ latencyMs }) => latencyMs) }],
    noteOf: ({ latencyMs }) => formatDuration(latencyMs),
  });

const bars = { draw: 'bars', colour: '--point' } as const;

const area = { draw: 'line', colour: '--accent', width: 2 } as const;

function costChart(usage: readonly Span[]): Content {
  const sums: number[] = [];
  for (const { cost = 0 } of usage) sums.push((sums.at(-1) ?? 0) + cost);
  return iterationChart(usage, {
    y: { title: 'Cost so far', kind: 'cost', from: 0 },
    series: [{ ...area, label: 'cost so far', values: sums, low: sums.map(() => 0), high: sums }],
    noteOf: ({ cost = 0, first, last }, i) =>
      `${formatCost(sums[i]!)} so far, ${formatCost(cost)} in ${first === last ? 'this iteration' : 'these iterations'}`,
  });
}

function iterationChart(
  usage: readonly Span[],
  chart: Pick<Chart, 'series' | 'y'> & { readonly noteOf: (usage: Span, index: number) => string },
): Content {
  const { noteOf, ...rest } = chart;
  return chartFigure({
    ...rest,
    label: `${chart.y.title}, ${plural(usage.at(-1)?.last ?? 0, 'iteration')}.`,
    x: { title: 'Iteration', kind: 'whole' },
    height: 190,
    at: usage.map(({ first, last }) => (first + last) / 2),
    notes: usage.map(
      (u, i) =>
        `${u.first === u.last ? `Iteration ${u.first}` : `Iterations ${u.first} to ${u.last}`}: ${noteOf(u, i)}`,
    ),
  });
}

function totalsTable(usage: UsageTotals): Content {
  const finished = usage.calls - usage.errors;
  const mean = (total: number, format: (value: number) => string) =>
    finished > 0 ? format(total / finished) : missing;
  const part = (share: number, whole: number) =>
    `${formatCount(share)}${whole > 0 ? ` (${Math.round((100 * share) / whole)} %)` : ''}`;
  const { cachedTokens, completionTokens, cost, errors, latencyMs, promptTokens, reasoningTokens } = usage;
  const failed = errors > 0 ? ` (${formatCount(errors)} without a reply)` : '';
  const hasTokens = promptTokens + completionTokens > 0;
  const rows: readonly (false | readonly [name: string, total: string, perCall?: string])[] = [
    ['calls', `${formatCount(usage.calls)}${failed}`],
    ['HTTP retries', formatCount(usage.retries)],
    hasTokens && ['prompt tokens', formatCount(promptTokens), mean(promptTokens, formatCompact)],
    hasTokens && ['of which cached', part(cachedTokens, promptTokens), mean(cachedTokens, formatCompact)],
    hasTokens && ['completion tokens', formatCount(completionTokens), mean(completionTokens, formatCompact)],
    hasTokens && [
      ...(['of which reasoning', part(reasoningTokens, completionTokens)] as const),
      mean(reasoningTokens, formatCompact),
    ],
    usage.unreported !== undefined && ['unreported tokens', `about ${formatCount(usage.unreported)}`],
    ['model latency', formatDuration(latencyMs), mean(latencyMs, formatDuration)],
    cost !== undefined && ['cost', formatCost(cost), mean(cost, formatCost)],
  ];
  return pageTable(
    rows.filter((row) => row !== false),
    [
      text('usage', ([name]) => name),
      number('total', ([, total]) => total),
      number('mean per call', ([, , perCall]) => perCall ?? ''),
    ],
  );
}
