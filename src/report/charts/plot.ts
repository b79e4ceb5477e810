import { type Content, type Html, html } from '../../format/html.js';
import { apart, formatNumber, type NumberFormat } from '../../format/numbers.js';
import { quantile } from '../../statistics/descriptive.js';

/** The horizontal axis: `slots` columns of equal width, some of them labelled. */
interface SlotAxis {
  readonly slots: number;
  /** `at` is in slots from the left edge; 0.5 is the middle of the first slot. */
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
  /** Paths in slots × pixels; they stretch with the page, but keep their stroke width. */
  readonly paths: Content;
  /** Shapes in front of the data, in percent of the width and pixels of the height. */
  readonly marks?: Content;
  readonly columns?: readonly PlotColumn[];
}

export interface PlotColumn {
  readonly at: number;
  readonly width: number;
  readonly text: string;
  /** Link to follow on a click, such as `#evaluation`. */
  readonly href?: string;
}

const tickLabels = 20;

/** An SVG chart that fills the available width. Text keeps its size, because no viewBox scales the chart. */
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

/** A chart with its caption, and a line below that repeats the tooltip of the column under the pointer or finger. */
export function figure(chart: Content, caption: Content, hint = ''): Html {
  return html`<figure data-readout>
${chart}
<figcaption>${caption}
<p class="readout" aria-hidden="true" data-hint="${hint}"></p></figcaption>
</figure>`;
}

/** A diamond at the mean, with its interval as a bar. `share`: x position as a fraction of the width. */
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

/** Ticks for `count` slots numbered from 1: at 1 and at round numbers. */
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

/** Ticks of an iteration axis, where 0 is the warm-up. */
export function iterationTicks(last: number): { at: number; label: string }[] {
  const ticks = numberedTicks(last).map(({ at, label }) => ({ at: at + 1, label }));
  return last > 6 ? ticks.filter(({ label }) => label !== '1') : ticks;
}

export function bandPath(
  summary: readonly { readonly interval: readonly [number, number] }[],
  x: (i: number) => number,
  y: Scale,
): string {
  const upper = summary.map(({ interval }, i): [number, number] => [x(i), y.at(interval[1])]);
  const lower = summary.map(({ interval }, i): [number, number] => [x(i), y.at(interval[0])]);
  return `${line([...upper, ...lower.toReversed()])}Z`;
}

/** A linear map from data to pixels; `ticks` are round values within the domain. */
export interface Scale {
  readonly low: number;
  readonly high: number;
  readonly ticks: readonly number[];
  /** Pixel position of a value; values outside the domain are drawn at its edge. */
  at(value: number): number;
}

/** Maps `domain` to `range`, in pixels; `nice` first widens the domain to round ticks. */
export function linearScale(
  domain: readonly [number, number],
  range: readonly [number, number],
  options: { readonly ticks: number; readonly nice?: boolean },
): Scale {
  let [low, high] = domain;
  if (!(high > low)) {
    const margin = Math.max(Math.abs(low) * 0.05, 0.5);
    low -= margin;
    high += margin;
  }
  const step = tickStep((high - low) / Math.max(1, options.ticks));
  if (options.nice === true) {
    low = Math.floor(low / step + 1e-9) * step;
    high = Math.ceil(high / step - 1e-9) * step;
  }
  const ticks: number[] = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++)
    ticks.push(roundTick(i * step));
  const [from, to] = range;
  return {
    low,
    high,
    ticks,
    at: (value) => from + ((Math.min(high, Math.max(low, value)) - low) / (high - low)) * (to - from),
  };
}

/** The smallest 1, 2 or 5 × 10ⁿ that is at least `rough`. */
export function tickStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough));
  const fraction = rough / power;
  return (fraction <= 1.0001 ? 1 : fraction <= 2.0001 ? 2 : fraction <= 5.0001 ? 5 : 10) * power;
}

function roundTick(value: number): number {
  return Number(value.toPrecision(12)) + 0;
}

/**
 * The range of the values without low outliers, which would flatten the rest: its lower end is at
 * most three interquartile ranges below the lower quartile (Tukey's outer fence).
 */
export function robustDomain(values: readonly number[]): readonly [number, number] {
  const sorted = values.toSorted((a, b) => a - b);
  const lower = quantile(sorted, 0.25);
  const spread = quantile(sorted, 0.75) - lower;
  const fence = spread > 0 ? lower - 3 * spread : sorted[0]!;
  return [Math.max(sorted[0]!, fence), sorted.at(-1)!];
}

/** The maximum without high outliers, by the rule that `robustDomain` uses for low ones. */
export function robustMaximum(values: readonly number[]): number {
  return -robustDomain(values.map((value) => -value))[0];
}

/** Formats a coordinate with at most two decimals, to keep pages small. */
export function coordinate(value: number): string {
  return String(Math.round(value * 100) / 100);
}

export function percent(share: number): string {
  return `${Math.round(share * 100_000) / 1000}%`;
}
