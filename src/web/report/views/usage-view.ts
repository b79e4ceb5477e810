import type { Content } from '../../../base/text/content.js';
import { html } from '../../../base/text/html.js';
import {
  formatCompact,
  formatCost,
  formatCount,
  formatDuration,
  missingMark,
  plural,
} from '../../../base/text/numbers.js';
import { number, pageTable, text } from '../../../base/text/table.js';
import type { CallRecord, UsageTotals } from '../../../runs/calls.js';
import { formatCaps } from '../../../runs/summary.js';
import { sumUsage, usageOfCall } from '../../../runs/usage.js';
import { type Axis, chartFigure, downsample, type Series } from '../../chart.js';
import type { RunData } from '../data/proposals.js';

/** Maximum number of bars in a chart; in a longer run, each shows several iterations. */
const maxBars = 600;

/** Kinds of tokens that the chart shows separately. */
const tokenKinds = [
  { label: 'prompt', color: '--tokens-fresh', of: (one: UsageTotals) => one.promptTokens - one.cachedTokens },
  { label: 'prompt, cached', color: '--tokens-cached', of: (one: UsageTotals) => one.cachedTokens },
  {
    label: 'reply',
    color: '--tokens-answer',
    of: (one: UsageTotals) => one.completionTokens - one.reasoningTokens,
  },
  { label: 'reasoning', color: '--tokens-reasoning', of: (one: UsageTotals) => one.reasoningTokens },
] as const;

/** Shows tokens and latency of each iteration, the cost so far, the totals, and the use of limits. */
export function usageView(
  { caps, usage: totals }: Pick<RunData['manifest'], 'caps' | 'usage'>,
  iterations: readonly UsageTotals[],
): Content {
  const numbered = iterations.map((usage, i) => ({ ...usage, iteration: i + 1 }));
  const shown = downsample(numbered, maxBars, (own) => [{ ...sumUsage(own), iteration: own[0]!.iteration }]);
  const barSize = (shown[1]?.iteration ?? 2) - 1;
  const unitText = barSize === 1 ? 'per iteration' : `per ${barSize} iterations`;
  const chart = (y: Axis, series: readonly Series[]) =>
    chartFigure({
      label: `${y.title}, ${plural(iterations.length, 'iteration')}.`,
      x: { title: 'Iteration', kind: 'whole' },
      y,
      height: 190,
      at: shown.map(({ iteration }) => iteration),
      series,
    });
  const tokens: readonly Series[] = tokenKinds.flatMap(({ color, label, of }) => {
    const values = shown.map(of);
    return values.some((value) => value > 0) ? { label, color, draw: 'bars', values } : [];
  });
  const latencies = shown.map(({ latencyMs }) => latencyMs);
  const cumulativeCosts: number[] = [];
  for (const { cost = 0 } of shown) cumulativeCosts.push((cumulativeCosts.at(-1) ?? 0) + cost);
  return html`<div class="charts">
${tokens.length > 0 && chart({ title: `Tokens ${unitText}`, kind: 'compact' }, tokens)}
${
  // Shorter latencies, such as a baseline's, are only noise.
  latencies.some((latency) => latency >= 100) &&
  chart({ title: `Latency ${unitText}`, kind: 'duration' }, [
    { label: 'latency', draw: 'bars', color: '--point', values: latencies },
  ])
}
${
  totals.cost !== undefined &&
  totals.cost > 0 &&
  chart({ title: 'Cost so far', kind: 'cost', from: 0 }, [
    { label: 'cost so far', draw: 'line', color: '--accent', width: 2, values: cumulativeCosts },
  ])
}
<div>${tokens.length === 0 && html`<p class="note">This model uses no tokens, or its provider doesn't report them.</p>`}
${totalsTable(totals)}
${caps !== undefined && caps.length > 0 && html`<p class="note">Limits: ${formatCaps(caps)}. A run stops before a call that could exceed a limit, so usage usually stays below it.</p>`}</div>
</div>`;
}

/** Adds up the usage of each iteration, call by call. */
export class UsageByIteration {
  readonly #usage: UsageTotals[] = [];

  add(call: CallRecord): void {
    const usage = this.#usage[call.iteration - 1] ?? sumUsage([]);
    this.#usage[call.iteration - 1] = sumUsage([usage, usageOfCall(call, 0, true)]);
  }

  get totals(): readonly UsageTotals[] {
    return Array.from(this.#usage, (own = sumUsage([])) => own);
  }
}

function totalsTable(usage: UsageTotals): Content {
  const finishedCalls = usage.calls - usage.errors;
  const mean = (total: number, format: (value: number) => string) =>
    finishedCalls > 0 ? format(total / finishedCalls) : missingMark;
  const part = (share: number, whole: number) =>
    `${formatCount(share)}${whole > 0 ? ` (${Math.round((100 * share) / whole)} %)` : ''}`;
  const { cachedTokens, completionTokens, cost, errors, latencyMs, promptTokens, reasoningTokens } = usage;
  const failedText = errors > 0 ? ` (${formatCount(errors)} without a reply)` : '';
  const hasTokens = promptTokens + completionTokens > 0;
  const rows: readonly (false | readonly [name: string, total: string, perCall?: string])[] = [
    ['calls', `${formatCount(usage.calls)}${failedText}`],
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
