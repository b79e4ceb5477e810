import { type Html, html } from '../../format/html.js';
import {
  formatCompact,
  formatCost,
  formatCount,
  formatDuration,
  formatNumber,
} from '../../format/numbers.js';
import type { CallRecord, Cap } from '../../runs/events.js';
import { figure, line, numberedTicks, type Plot, plotChart } from '../charts/plot.js';
import { coordinate, linearScale, percent, type Scale } from '../charts/scale.js';
import type { RunData } from '../data/run-data.js';

const height = 130;

/** What the calls of one iteration used. */
interface IterationUsage {
  fresh: number;
  cached: number;
  answer: number;
  reasoning: number;
  latencyMs: number;
  cost: number;
}

/** Tokens and latency of each iteration, cost so far, and the totals. */
export function usageView(data: RunData): Html {
  const usage = usageByIteration(data);
  const { usage: totals } = data.manifest;
  const tokens = totals.promptTokens + totals.completionTokens > 0;
  // The time of a control is noise.
  const slow = usage.some((iteration) => iteration.latencyMs >= 100);
  return html`<div class="charts">
${tokens && tokenChart(usage)}
${slow && latencyChart(usage)}
${totals.cost !== undefined && totals.cost > 0 && costChart(usage)}
<div>${!tokens && html`<p class="note">This model uses no tokens, or its provider reports none.</p>`}
${totalsTable(data)}
${capsTable(data.manifest.caps)}</div>
</div>`;
}

/** How far each limit is used. */
function capsTable(caps: readonly Cap[] | undefined): Html | undefined {
  if (caps === undefined || caps.length === 0) return undefined;
  const amount = (limit: string, value: number) => {
    if (limit.endsWith('minutes')) return formatDuration(60_000 * value);
    return limit.endsWith('cost') ? formatCost(value) : formatNumber(value, value < 100 ? 3 : 6);
  };
  return html`<div class="scroll" tabindex="0"><table class="totals limits">
<thead><tr><th scope="col">limit</th><th scope="col" class="number">used</th><th scope="col" class="number">of</th><th scope="col" class="bar-cell"></th></tr></thead>
<tbody>${caps.map(
    ({
      limit,
      used,
      cap,
    }) => html`<tr><th scope="row">${spelled(limit)}</th><td class="number">${amount(limit, used)}</td><td class="number">${amount(limit, cap)}</td>
<td class="bar-cell"><svg width="100%" height="12" role="img" aria-label="${Math.round((100 * used) / cap)} %"><rect class="room" width="100%" height="12" rx="2"/><rect class="used" width="${percent(Math.min(1, used / cap))}" height="12" rx="2"/></svg></td></tr>`,
  )}</tbody>
</table></div>
<p class="note">A call is not made when it could pass a limit at worst, so a run ends somewhat below.</p>`;
}

/** `perCall.promptTokens` as `prompt tokens, a call`. */
function spelled(limit: string): string {
  const name = limit.replace(/^.*\./, '').replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  const words = name === 'minutes' ? 'time' : name;
  if (limit.startsWith('perCall.')) return `${words}, a call`;
  return limit.startsWith('total.') ? `${words}, all repeats` : words;
}

function usageByIteration(data: RunData): readonly IterationUsage[] {
  const last = data.calls.reduce((most, call) => Math.max(most, call.iteration), 0);
  const usage = Array.from(
    { length: last },
    (): IterationUsage => ({ fresh: 0, cached: 0, answer: 0, reasoning: 0, latencyMs: 0, cost: 0 }),
  );
  for (const call of data.calls) {
    const sum = usage[call.iteration - 1];
    if (sum === undefined) continue;
    const {
      promptTokens = 0,
      cachedTokens = 0,
      completionTokens = 0,
      reasoningTokens = 0,
    } = call.completion?.usage ?? {};
    sum.fresh += promptTokens - cachedTokens;
    sum.cached += cachedTokens;
    sum.answer += completionTokens - reasoningTokens;
    sum.reasoning += reasoningTokens;
    sum.latencyMs += latencyOf(call);
    sum.cost += call.cost ?? 0;
  }
  return usage;
}

function latencyOf({ completion, outcome }: CallRecord): number {
  return completion?.latencyMs ?? (outcome.kind === 'error' ? outcome.latencyMs : 0);
}

type TokenKind = 'cached' | 'fresh' | 'reasoning' | 'answer';
const tokenKinds: readonly { readonly kind: TokenKind; readonly label: string }[] = [
  { kind: 'cached', label: 'prompt, cached' },
  { kind: 'fresh', label: 'prompt' },
  { kind: 'reasoning', label: 'reasoning' },
  { kind: 'answer', label: 'answer' },
];

function tokenChart(usage: readonly IterationUsage[]): Html {
  const shown = tokenKinds.filter(({ kind }) => usage.some((iteration) => iteration[kind] > 0));
  const y = scaleFor(usage.map((u) => u.cached + u.fresh + u.reasoning + u.answer));
  const base = usage.map(() => 0);
  const paths = shown.map(({ kind }) => {
    let d = '';
    for (const [i, iteration] of usage.entries()) {
      const from = base[i]!;
      base[i] = from + iteration[kind];
      if (iteration[kind] > 0) d += bar(i, y.at(from), y.at(base[i]!));
    }
    return html`<path class="tokens-${kind}" d="${d}"/>`;
  });
  const legend = html`<ul class="legend">${shown.map(({ kind, label }) => html`<li><span class="swatch tokens-${kind}"></span>${label}</li>`)}</ul>`;
  const tooltip = (u: IterationUsage) =>
    shown.map(({ kind, label }) => `${label} ${formatCount(u[kind])}`).join(', ');
  return figure(
    iterationChart(usage, {
      description: 'Tokens of each iteration.',
      yTitle: 'Tokens of each iteration',
      y,
      formatY: formatCompact,
      paths,
      tooltip,
    }),
    legend,
  );
}

function latencyChart(usage: readonly IterationUsage[]): Html {
  const y = scaleFor(usage.map((u) => u.latencyMs / 1000));
  const d = usage.map((u, i) => (u.latencyMs > 0 ? bar(i, height, y.at(u.latencyMs / 1000)) : '')).join('');
  return figure(
    iterationChart(usage, {
      description: 'Latency of each iteration in seconds.',
      yTitle: 'Latency of each iteration in seconds',
      y,
      paths: html`<path class="latency" d="${d}"/>`,
      tooltip: (u) => formatDuration(u.latencyMs),
    }),
    undefined,
  );
}

function costChart(usage: readonly IterationUsage[]): Html {
  const sums: number[] = [];
  for (const u of usage) sums.push((sums.at(-1) ?? 0) + u.cost);
  const y = scaleFor(sums);
  const points = sums.map((sum, i): [number, number] => [i + 0.5, y.at(sum)]);
  const d = line([[0, height], ...points, [usage.length, y.at(sums.at(-1) ?? 0)]]);
  return figure(
    iterationChart(usage, {
      description: 'Cost so far.',
      yTitle: 'Cost so far',
      y,
      paths: [html`<path class="cost-area" d="${d}V${height}H0Z"/>`, html`<path class="cost" d="${d}"/>`],
      tooltip: (u, i) => `${formatCost(sums[i]!)} so far, ${formatCost(u.cost)} in this iteration`,
    }),
    undefined,
  );
}

function iterationChart(
  usage: readonly IterationUsage[],
  chart: Pick<Plot, 'description' | 'yTitle' | 'y' | 'formatY' | 'paths'> & {
    readonly tooltip: (usage: IterationUsage, index: number) => string;
  },
): Html {
  const { tooltip, ...plot } = chart;
  return plotChart({
    ...plot,
    height,
    x: {
      slots: Math.max(1, usage.length),
      ticks: numberedTicks(usage.length),
      title: 'Iteration',
    },
    columns: usage.map((u, i) => ({ at: i, width: 1, text: `Iteration ${i + 1}: ${tooltip(u, i)}` })),
  });
}

function scaleFor(values: readonly number[]): Scale {
  return linearScale([0, Math.max(...values, 0)], [height, 0], { ticks: 3, nice: true });
}

function bar(slot: number, from: number, to: number): string {
  return `M${slot + 0.1} ${coordinate(from)}H${slot + 0.9}V${coordinate(to)}H${slot + 0.1}z`;
}

function totalsTable(data: RunData): Html {
  const { usage } = data.manifest;
  const share = (part: number, whole: number) =>
    whole > 0 ? ` (${Math.round((100 * part) / whole)} %)` : '';
  const finished = usage.calls - usage.errors;
  const tokens = usage.promptTokens + usage.completionTokens > 0;
  const perCall = (total: number) => (finished > 0 ? formatCompact(total / finished) : '–');
  const row = (name: string, total: string, mean: string) =>
    html`<tr><th scope="row">${name}</th><td class="number">${total}</td><td class="number">${mean}</td></tr>`;
  return html`<div class="scroll" tabindex="0"><table class="totals">
<thead><tr><th scope="col">use</th><th scope="col" class="number">total</th><th scope="col" class="number">mean of a call</th></tr></thead>
<tbody>
${row('calls', `${formatCount(usage.calls)}${usage.errors > 0 ? ` (${formatCount(usage.errors)} without a reply)` : ''}`, '')}
${row('HTTP retries', formatCount(usage.retries), '')}
${
  tokens && [
    row('prompt tokens', formatCount(usage.promptTokens), perCall(usage.promptTokens)),
    row(
      'of them cached',
      `${formatCount(usage.cachedTokens)}${share(usage.cachedTokens, usage.promptTokens)}`,
      perCall(usage.cachedTokens),
    ),
    row('completion tokens', formatCount(usage.completionTokens), perCall(usage.completionTokens)),
    row(
      'of them reasoning',
      `${formatCount(usage.reasoningTokens)}${share(usage.reasoningTokens, usage.completionTokens)}`,
      perCall(usage.reasoningTokens),
    ),
  ]
}
${usage.unreported !== undefined && row('tokens not reported', `about ${formatCount(usage.unreported)}`, '')}
${row('model latency', formatDuration(usage.latencyMs), finished > 0 ? formatDuration(usage.latencyMs / finished) : '–')}
${usage.cost !== undefined && row('cost', formatCost(usage.cost), finished > 0 ? formatCost(usage.cost / finished) : '–')}
</tbody>
</table></div>`;
}
