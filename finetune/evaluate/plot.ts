/** Plots the differences of all experiments and groups. */

import { type Html, html } from '../../src/format/html.js';
import { formatInterval, formatNumber, formatSigned, plural } from '../../src/format/numbers.js';
import { armClass } from '../../src/report/charts/arm-curves.js';
import { linearScale, percent, type Scale } from '../../src/report/charts/plot.js';
import { largest } from '../../src/statistics/descriptive.js';
import type { PairedComparison } from '../../src/statistics/paired.js';
import { onReturns } from './conclusion.js';
import type { ExperimentResult, GroupResult } from './evaluation.js';

interface Mark {
  readonly name: string;
  readonly difference: number;
  readonly interval: readonly [number, number];
  readonly pairs: number;
}

/** Forest plot of tuned − base in normalized returns with 95 % intervals, one row each so the names fit. */
export function differencePlot(
  experiments: readonly ExperimentResult[],
  groups: readonly GroupResult[],
): Html | undefined {
  const own = experiments.flatMap(({ name, range, comparisons }) =>
    markOf(name, onReturns(comparisons), range === null ? 0 : range[1] - range[0]),
  );
  const marks = [
    ...own,
    ...groups.flatMap(({ group, comparisons }) => markOf(group, onReturns(comparisons), 1)),
  ];
  if (marks.length === 0) return undefined;
  const reach = Math.min(
    1,
    marks.reduce((most, { interval }) => largest([most, ...interval.map(Math.abs)]), 0.05),
  );
  const x = linearScale([-reach, reach], [0, 1], { ticks: 4, nice: true });
  return html`<figure>
<p class="y-title">Tuned − base, normalised return</p>
<ul class="forest" role="list">${marks.map((mark, i) => row(mark, x, i >= own.length))}
<li class="axis" aria-hidden="true"><svg width="100%" height="20">${x.ticks.map(
    (tick) => html`<text x="${percent(x.at(tick))}" y="14">${formatNumber(tick)}</text>`,
  )}</svg></li></ul>
<figcaption>Right of the dashed line the tuned model is better. A bar that crosses it is no evidence of a difference; the verdicts, corrected for their number, stand below.</figcaption>
</figure>`;
}

function markOf(name: string, comparison: PairedComparison | null, range: number): Mark[] {
  if (comparison?.interval == null || !(range > 0)) return [];
  const { difference, interval, pairs } = comparison;
  return [
    { name, difference: difference / range, interval: [interval[0] / range, interval[1] / range], pairs },
  ];
}

function row({ name, difference, interval, pairs }: Mark, x: Scale, isGroup: boolean): Html {
  const [low, high] = interval.map((end) => percent(x.at(end)));
  const zero = percent(x.at(0));
  return html`<li><span class="name">${name}</span>
<svg width="100%" height="24" aria-hidden="true"><g class="target"><line x1="${zero}" x2="${zero}" y1="0" y2="24"/></g><g class="arm-mark ${armClass(isGroup ? 4 : 1)}"><line x1="${low}" x2="${high}" y1="12" y2="12"/><circle cx="${percent(x.at(difference))}" cy="12" r="${isGroup ? 6 : 4.5}"/></g></svg>
<span class="figures"><b>${formatSigned(difference)}</b> <span class="muted">${formatInterval(interval, formatSigned)}, ${plural(pairs, 'pair')}</span></span></li>
`;
}
