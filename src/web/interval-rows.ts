/** Estimates with their intervals, one per row, on a common axis (a forest plot). */
import { type Content, type Html, html } from '../base/text/html.js';
import { formatInterval, formatNumber, formatReturn, type NumberFormat } from '../base/text/numbers.js';
import { largest, smallest } from '../statistics/descriptive.js';
import { percent, ticksWithin } from './ticks.js';

export interface IntervalRow {
  readonly name: Content;
  /** Null if there is no estimate yet; the row then reads `no result`. */
  readonly value: number | null;
  readonly interval: readonly [number, number] | null;
  /** Shown after the interval, such as the number of pairs. */
  readonly detail?: string;
  /** True for rows that only provide context, such as a baseline. */
  readonly isMuted?: boolean;
}

interface Options {
  readonly title: string;
  readonly caption?: Content;
  readonly format?: NumberFormat;
  /** Format of the labels on the axis. */
  readonly formatTick?: NumberFormat;
  /** Value of the dashed line, such as 0. */
  readonly line?: number | undefined;
  /** Values that the axis must include. */
  readonly range?: readonly [number, number];
}

export function intervalRows(rows: readonly IntervalRow[], options: Options): Html {
  const { caption, format = formatReturn, formatTick = formatNumber, line, range = [], title } = options;
  const ends = [
    ...range,
    ...(line === undefined ? [] : [line]),
    ...rows.flatMap(({ interval, value }) => [value ?? Number.NaN, ...(interval ?? [])]),
  ].filter(Number.isFinite);
  const [least, most] = ends.length === 0 ? [0, 1] : [smallest(ends), largest(ends)];
  const room = most > least ? 0 : Math.abs(least) * 0.1 || 1;
  const [low, high] = [least - room, most + room];
  const x = (value: number) => percent((Math.min(high, Math.max(low, value)) - low) / (high - low));
  const dash = line !== undefined && html`<line class="level" x1="${x(line)}" x2="${x(line)}" y2="24"/>`;
  return html`<figure class="intervals">
<p class="y-title">${title}</p>
<ul role="list">${rows.map(
    ({
      detail,
      interval,
      isMuted,
      name,
      value,
    }) => html`<li${isMuted && html` class="aside"`}><span class="name">${name}</span>
<svg width="100%" height="24" aria-hidden="true">${dash}${interval && html`<line x1="${x(interval[0])}" x2="${x(interval[1])}" y1="12" y2="12"/>`}${value !== null && html`<circle cx="${x(value)}" cy="12" r="4.5"/>`}</svg>
<span>${value === null ? html`<span class="muted">no result</span>` : html`<b>${format(value)}</b> <span class="muted">${interval ? formatInterval(interval, format) : 'no interval'}${detail && `, ${detail}`}</span>`}</span></li>
`,
  )}<li class="axis" aria-hidden="true"><svg width="100%" height="20">${ticksWithin(low, high, 4).map((tick) => html`<text x="${x(tick)}" y="14">${formatTick(tick)}</text>`)}</svg></li></ul>
${caption && html`<figcaption>${caption}</figcaption>`}
</figure>`;
}
