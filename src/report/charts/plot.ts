import { type Content, type Html, html } from '../../format/html.js';
import { apart, formatNumber, type NumberFormat } from '../../format/numbers.js';
import { coordinate, percent, type Scale, tickStep } from './scale.js';

/** The horizontal axis: `slots` columns of equal width, some of them labelled. */
interface SlotAxis {
  readonly slots: number;
  /** `at` is in slots from the left edge; 0.5 is the middle of the first. */
  readonly ticks: readonly { readonly at: number; readonly label: string }[];
  readonly title: string;
}

export interface Plot {
  /** The chart in words, for screen readers. */
  readonly description: string;
  readonly x: SlotAxis;
  readonly y: Scale;
  readonly yTitle: string;
  /** Height of the plot area in pixels; `y` maps to 0 … height. */
  readonly height: number;
  readonly formatY?: NumberFormat;
  /** Shapes behind the data, in percent of the width and pixels of the height. */
  readonly background?: Content;
  /** Paths in slots × pixels; they stretch with the page, but their stroke width doesn't. */
  readonly paths: Content;
  /** Shapes in front of the data, in percent of the width and pixels of the height. */
  readonly marks?: Content;
  /** Tooltips, one per column. */
  readonly columns?: readonly PlotColumn[];
}

export interface PlotColumn {
  /** Left edge and width, in slots. */
  readonly at: number;
  readonly width: number;
  readonly text: string;
  /** Fragment to navigate to on a click. */
  readonly href?: string;
}

const tickLabels = 20;

/** An SVG chart that fills the available width while text keeps its size, because no viewBox scales the whole. */
export function plotChart(plot: Plot): Html {
  const { x, y, height } = plot;
  const format = apart(y.ticks, plot.formatY ?? formatNumber);
  const share = (at: number) => percent(at / x.slots);
  return html`<div class="plot${x.slots > 150 && ' dense'}">
<p class="y-title">${plot.yTitle}</p>
<svg class="y-axis" width="52" height="${height + tickLabels}" aria-hidden="true">${y.ticks.map(
    (tick) => html`<text x="46" y="${coordinate(y.at(tick))}" dy="0.35em">${format(tick)}</text>`,
  )}</svg>
<svg class="area" width="100%" height="${height + tickLabels}" role="img" aria-label="${plot.description}">
${plot.background}
<g class="grid">${y.ticks.map((tick) => {
    const at = coordinate(y.at(tick));
    return html`<line x1="0" x2="100%" y1="${at}" y2="${at}"/>`;
  })}</g>
<svg class="paths" width="100%" height="${height}" viewBox="0 0 ${x.slots} ${height}" preserveAspectRatio="none">${plot.paths}</svg>
${plot.marks}
<g class="x-axis">${x.ticks.map(
    (tick) => html`<text x="${share(tick.at)}" y="${height + 16}">${tick.label}</text>`,
  )}</g>
<g class="columns">${plot.columns?.map((column) => {
    const target = html`<rect x="${share(column.at)}" width="${share(column.width)}" height="${height}"><title>${column.text}</title></rect>`;
    return column.href === undefined ? target : html`<a href="${column.href}" tabindex="-1">${target}</a>`;
  })}</g>
</svg>
<p class="x-title">${x.title}</p>
</div>`;
}

/** A chart with its caption, and a line that repeats the tooltip under the pointer or finger. */
export function figure(chart: Content, caption: Content, hint = ''): Html {
  return html`<figure data-readout>
${chart}
<figcaption>${caption}
<p class="readout" aria-hidden="true" data-hint="${hint}"></p></figcaption>
</figure>`;
}

/** A diamond at the mean with its interval as a bar; `share` is the x position as a share of the width. */
export function intervalMark(
  value: { readonly mean: number; readonly interval: readonly [number, number] },
  share: number,
  y: Scale,
): Html {
  const x = percent(share);
  const [low, high] = value.interval.map((end) => coordinate(y.at(end)));
  return html`<defs><path id="diamond" d="M0-6 5 0 0 6-5 0z"/></defs>
<g class="confirmed"><line x1="${x}" x2="${x}" y1="${low}" y2="${high}"/><use href="#diamond" x="${x}" y="${coordinate(y.at(value.mean))}"/></g>`;
}

/** Ticks at 1 and at round numbers, for `count` slots numbered from 1. */
export function numberedTicks(count: number): { readonly at: number; readonly label: string }[] {
  const step = Math.max(1, tickStep(count / 6));
  return Array.from({ length: count }, (_, i) => i + 1)
    .filter((number) => number === 1 || number % step === 0)
    .map((number) => ({ at: number - 0.5, label: String(number) }));
}

/** `d` attribute of a path through the points. */
export function line(points: readonly (readonly [number, number])[]): string {
  return points.map(([x, y], i) => `${i === 0 ? 'M' : 'L'}${coordinate(x)} ${coordinate(y)}`).join('');
}

/** Ticks of an iteration axis; 0 is the warm-up. */
export function iterationTicks(last: number): { at: number; label: string }[] {
  const ticks = numberedTicks(last).map(({ at, label }) => ({ at: at + 1, label }));
  return last > 6 ? ticks.filter(({ label }) => label !== '1') : ticks;
}

/** The area between the ends of the intervals. */
export function bandPath(
  summary: readonly { readonly interval: readonly [number, number] }[],
  x: (i: number) => number,
  y: Scale,
): string {
  const upper = summary.map(({ interval }, i): [number, number] => [x(i), y.at(interval[1])]);
  const lower = summary.map(({ interval }, i): [number, number] => [x(i), y.at(interval[0])]);
  return `${line([...upper, ...lower.toReversed()])}Z`;
}
