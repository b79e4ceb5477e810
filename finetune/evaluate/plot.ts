/** The difference in each experiment, and in all, side by side. */

import { type Html, html } from '../../src/format/html.js';
import { formatInterval, formatSigned, plural } from '../../src/format/numbers.js';
import { armClass } from '../../src/report/charts/arm-curves.js';
import { figure, plotChart } from '../../src/report/charts/plot.js';
import { coordinate, linearScale, percent, type Scale } from '../../src/report/charts/scale.js';
import type { PairedComparison } from '../../src/statistics/paired.js';
import { onReturns } from './conclusion.js';
import type { ExperimentResult, GroupResult } from './evaluation.js';

const height = 200;

interface Mark {
  readonly name: string;
  readonly difference: number;
  readonly interval: readonly [number, number];
  readonly pairs: number;
}

/** Tuned − base in normalised returns with 95 % intervals. */
export function differencePlot(
  experiments: readonly ExperimentResult[],
  groups: readonly GroupResult[],
): Html | undefined {
  const marks = [
    ...experiments.flatMap(({ name, range, comparisons }) =>
      markOf(name, onReturns(comparisons), range === null ? 0 : range[1] - range[0]),
    ),
    ...groups.flatMap(({ group, comparisons }) => markOf(group, onReturns(comparisons), 1)),
  ];
  if (marks.length === 0) return undefined;
  const reach = Math.min(
    1,
    marks.reduce((most, { interval }) => Math.max(most, ...interval.map(Math.abs)), 0.05),
  );
  const y = linearScale([-reach, reach], [height, 0], { ticks: 6, nice: true });
  const zero = coordinate(y.at(0));
  const chart = plotChart({
    description: `Tuned minus base in normalised returns: ${marks.map(({ name, difference }) => `${name} ${formatSigned(difference)}`).join(', ')}.`,
    height,
    y,
    yTitle: 'Tuned − base, normalised return',
    x: {
      slots: marks.length,
      ticks: marks.map(({ name }, i) => ({
        at: i + 0.5,
        label: shortened(name, Math.floor(140 / marks.length)),
      })),
      title: '',
    },
    background: html`<g class="target"><line x1="0" x2="100%" y1="${zero}" y2="${zero}"/></g>`,
    paths: undefined,
    marks: marks.map((mark, i) => drawn(mark, percent((i + 0.5) / marks.length), y, i >= experiments.length)),
    columns: marks.map(({ name, difference, interval, pairs }, i) => ({
      at: i,
      width: 1,
      text: `${name}: ${formatSigned(difference)}, 95 % interval ${formatInterval(interval)}, ${plural(pairs, 'pair')}`,
    })),
  });
  const caption = html`<p class="note">Above the dashed line the tuned model is better. A bar that crosses it is no evidence of a difference; the verdicts, corrected for their number, stand below.</p>`;
  return figure(chart, caption, 'Point at a column for its figures.');
}

function markOf(name: string, comparison: PairedComparison | null, range: number): Mark[] {
  if (comparison?.interval == null || !(range > 0)) return [];
  const { difference, interval, pairs } = comparison;
  return [
    { name, difference: difference / range, interval: [interval[0] / range, interval[1] / range], pairs },
  ];
}

function drawn({ difference, interval }: Mark, x: string, y: Scale, isGroup: boolean): Html {
  const [low, high] = interval.map((end) => coordinate(y.at(end)));
  return html`<g class="arm-mark ${armClass(isGroup ? 4 : 1)}"><line x1="${x}" x2="${x}" y1="${low}" y2="${high}"/><circle cx="${x}" cy="${coordinate(y.at(difference))}" r="${isGroup ? 6 : 4.5}"/></g>`;
}

const shortened = (name: string, length: number) =>
  name.length <= length ? name : `${name.slice(0, Math.max(1, length - 1))}…`;
