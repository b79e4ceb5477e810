/** Draws the plot of a chart as SVG. */
import type { Content } from '../../base/text/content.js';
import { html } from '../../base/text/html.js';
import type { Chart, Series } from '../chart.js';
import { type LegendEntry, savedWidth } from './picture.js';
import { axisText, type DrawnChart, type Extent, ticksOf, xRange, yRange } from './scales.js';

type HideableEntry = LegendEntry & { isHidden?: boolean };

/** Returns the parts that the legend can hide: one per label of series and marks, and one for all bands. */
export function legendEntries({ bands, marks = [], series }: Chart): readonly HideableEntry[] {
  const parts = [...series, ...marks];
  return [
    ...parts.filter(({ label }, i) => parts.findIndex((one) => one.label === label) === i),
    ...(bands ? [{ ...bands, draw: 'band', color: series.at(-1)?.color ?? '--point' } as const] : []),
  ];
}

type HiddenLabels = DrawnChart['hidden'];

export const defaultHidden = (chart: Chart): HiddenLabels =>
  new Set(legendEntries(chart).flatMap(({ isHidden, label }) => (isHidden ? [label] : [])));

/** Returns the marks to the right of the plot. */
const edgeMarks = ({ marks = [] }: Chart) =>
  marks.flatMap((own) => own.marks).filter(({ x }) => x === undefined);

/** Computes the positions of a chart's parts, in pixels. */
function plotOf(chart: Chart, hidden: HiddenLabels, width: number, zoom: Extent | undefined) {
  const height = 16 + (chart.height ?? 320);
  const [top, bottom] = [24, height - 46];
  const xEnds = xRange(chart, zoom);
  const yEnds = yRange({ chart, hidden }, xEnds);
  const yTicks = ticksOf(chart.y, yEnds, bottom - top, 40);
  const lastTickLength = axisText(chart.x, Math.round(chart.at.at(-1) ?? 0)).length;
  const edgeWidth = (width > 600 ? 14 : 7) * edgeMarks(chart).length;
  const left = 18 + 7 * yTicks.reduce((most, [, text]) => Math.max(most, text.length), 2);
  const right = Math.max(left + 1, width - Math.max(3.5 * lastTickLength + 4, 16 + edgeWidth));
  return {
    ...{ chart, hidden, width, height, left, right, top, bottom, yTicks },
    xTicks: ticksOf(chart.x, xEnds, right - left, 60 + 4 * lastTickLength),
    x: linearScale(xEnds, left, right),
    y: linearScale(yEnds, bottom, top),
    /** Returns the value of x at a horizontal position. */
    xAt: (position: number) => xEnds[0] + ((xEnds[1] - xEnds[0]) * (position - left)) / (right - left),
  };
}

type Plot = ReturnType<typeof plotOf>;

/** @param zoom the range of x, if the user has zoomed in */
export function chartPicture(chart: Chart, hidden = defaultHidden(chart), width = savedWidth, zoom?: Extent) {
  const plot = plotOf(chart, hidden, width, zoom);
  const parts = legendEntries(chart);
  const levels = chart.levels?.map(
    ({ label }): LegendEntry => ({ label, draw: 'line', color: '--muted', isDashed: true }),
  );
  // Diamonds with the label of a line have no entry of their own.
  const lineMark = chart.marks?.find(({ label }) => chart.series.some((one) => one.label === label));
  const marks: readonly LegendEntry[] = lineMark
    ? [{ label: 'confirmed', draw: lineMark.draw, color: '--text' }]
    : [];
  const entries = [...parts.filter(({ label }) => !hidden.has(label)), ...marks, ...(levels ?? [])];
  const legend = parts.length + (levels?.length ?? 0) > 1 ? entries : [];
  return { ...plot, label: chart.label, content: plotDrawing(plot), legend };
}

/** Maps values to coordinates. Clamps them, because browsers don't draw lines to points that are too far away. */
const linearScale =
  ([low, high]: Extent, from: number, to: number) =>
  (value: number) => {
    const coordinate = from + ((to - from) * (value - low)) / (high - low);
    return Math.max(-1e5, Math.min(1e5, Math.round(10 * coordinate) / 10));
  };

/** Room around the plot for points at its edges. */
const room = 4;

function plotDrawing(plot: Plot): Content {
  const { bottom, chart, hidden, height, left, right, top, x, xTicks, y, yTicks } = plot;
  const { at, bands, levels = [], shades = [] } = chart;
  const shownSeries = chart.series.filter(({ label }) => !hidden.has(label));
  const hasBands = bands === undefined || !hidden.has(bands.label);
  const box = [left - room, top - room, right - left + 2 * room, bottom - top + 2 * room] as const;
  return html`<g fill="var(--muted)" font-size="12" text-anchor="middle">
<text text-anchor="start" y="12">${chart.y.title}</text>
${yTicks.map(([tick, text]) => html`<path stroke="var(--grid)" d=${`M${left} ${y(tick)}H${right}`} /><text text-anchor="end" x=${left - 6} y=${y(tick)} dy="0.35em">${text}</text>`)}
${xTicks.map(([tick, text]) => html`<text x=${x(tick)} y=${bottom + 17}>${text}</text>`)}
<text x=${(left + right) / 2} y=${height - 6}>${chart.x.title}</text></g>
<svg x=${box[0]} y=${box[1]} width=${box[2]} height=${box[3]} viewBox=${box.join(' ')} fill="none">
${shades.map(([from, to]) => html`<rect fill="var(--grid)" opacity="0.5" x=${x(from)} y=${top} width=${x(to) - x(from)} height=${bottom - top} />`)}
${shownSeries.map((series) => (series.draw === 'points' ? whiskers(plot, series) : hasBands && band(plot, series)))}
${shownSeries.map((series) => seriesPath(plot, series, stackedBelow(shownSeries, series)))}
</svg>
${levels.map((level) => html`<path stroke="var(--muted)" stroke-dasharray="6 4" d=${`M${left} ${y(level.y)}H${right}`} />`)}
${markPaths(plot)}
${shownSeries.map(({ color, draw, outliers, values }) => draw === 'points' && outliers && html`<path fill=${`var(${color})`} d=${values.map((value, i) => outlierPath(plot, at[i]!, value)).join('')} />`)}`;
}

/** Returns the indices at which all of these lists have a number. */
const indicesWith = (...all: readonly (Series['values'] | undefined)[]): readonly number[] =>
  [...(all[0]?.keys() ?? [])].filter((i) => all.every((values) => typeof values?.[i] === 'number'));

function band({ chart: { at }, x, y }: Plot, { color, high, low }: Series): Content {
  const known = indicesWith(low, high);
  const edge = [
    ...known.map((i) => `${x(at[i]!)} ${y(high![i]!)}`),
    ...known.toReversed().map((i) => `${x(at[i]!)} ${y(low![i]!)}`),
  ];
  return known.length > 0 && html`<path fill=${`var(${color})`} opacity="0.15" d=${`M${edge.join('L')}`} />`;
}

/** Maximum number of points with whiskers. The whiskers of more points would cover everything. */
const maxWhiskers = 1500;

function whiskers({ chart: { at }, x, y }: Plot, { high, inner, low }: Series): Content {
  if (at.length > maxWhiskers) return undefined;
  return [[1, low, high] as const, [4, inner?.[0], inner?.[1]] as const].map(
    ([width, from, to]) =>
      html`<path stroke="var(--spread)" stroke-width=${width} d=${indicesWith(from, to)
        .filter((i) => from![i] !== to![i])
        .map((i) => `M${x(at[i]!)} ${y(from![i]!)}V${y(to![i]!)}`)
        .join('')} />`,
  );
}

/** Returns a function that sums the bars below a series at an index. */
const stackedBelow = (shown: readonly Series[], series: Series) => {
  const seriesBelow = shown.slice(shown.indexOf(series) + 1).filter(({ draw }) => draw === 'bars');
  return (i: number) => seriesBelow.reduce((sum, { values }) => sum + (values[i] ?? 0), 0);
};

function seriesPath(
  { chart: { at }, x, y }: Plot,
  { color, draw, isDashed, values, width = 1.5 }: Series,
  below: (i: number) => number,
): Content {
  const indices = indicesWith(values);
  if (indices.length === 0) return undefined;
  const kind = draw !== 'bars' && indices.length === 1 ? 'points' : draw;
  const pointAt = (i: number) => `${x(at[i]!)} ${y(values[i]!)}`;
  const path = indices.map((i, n) => {
    if (kind === 'bars') return `M${x(at[i]!)} ${y(below(i))}V${y(below(i) + values[i]!)}`;
    if (kind === 'points') return `M${pointAt(i)}h0`;
    if (n === 0) return `M${pointAt(i)}`;
    return kind === 'line' ? `L${pointAt(i)}` : `H${x(at[i]!)}V${y(values[i]!)}`;
  });
  const spacing = (x(at.at(-1)!) - x(at[0]!)) / (at.length - 1) || 75;
  const widths = { bars: Math.min(60, 0.8 * spacing), points: values.length > 600 ? 3 : 5 };
  const strokeWidth = kind === 'bars' || kind === 'points' ? widths[kind] : width;
  return html`<path class="line" stroke=${`var(${color})`} stroke-width=${strokeWidth} stroke-dasharray=${isDashed && '6 4'} stroke-linecap=${kind === 'points' && 'round'} stroke-linejoin="round" d=${path.join('')} />`;
}

function markPaths({ bottom, chart, hidden, left, right, width, x, y }: Plot): Content {
  const edges = edgeMarks(chart);
  const shownMarks = chart.marks?.filter(({ label }) => !hidden.has(label));
  return shownMarks?.map(({ color, draw, marks }) => {
    const path = marks.map((mark) => {
      const edgeX = right + 6 + ((edges.indexOf(mark) + 0.5) / edges.length) * (width - 12 - right);
      const at = mark.x === undefined ? edgeX : x(mark.x);
      if (mark.x !== undefined && (at < left - 1 || at > right + 1)) return '';
      if (draw === 'cross') return `M${at - 3.5} ${bottom - 11.5}l7 7m0-7l-7 7`;
      const interval = mark.interval ? `M${at} ${y(mark.interval[0])}V${y(mark.interval[1])}` : '';
      return `${interval}M${at} ${y(mark.y!) - 6}l6 6l-6 6l-6-6z`;
    });
    return html`<path stroke=${`var(${color})`} stroke-width="1.5" fill=${`var(${color})`} d=${path.join('')} />`;
  });
}

/** Draws a triangle at the upper or lower edge for an outlier beyond it. */
function outlierPath({ bottom, left, right, top, x, y }: Plot, at: number, value?: number | null): string {
  if (typeof value !== 'number' || x(at) < left || x(at) > right) return '';
  if (y(value) < top - 1) return `M${x(at)} ${top}l5 8h-10z`;
  return y(value) > bottom + 1 ? `M${x(at)} ${bottom}l5-8h-10z` : '';
}

/** Returns the index of the point whose x is nearest to a position; of points with equal x, the vertically nearest. */
export function nearestPoint({ chart: { at, series }, hidden, x, y }: Plot, px: number, py: number): number {
  const values = series.find(({ label }) => !hidden.has(label))?.values ?? [];
  const dx = (i: number) => Math.abs(x(at[i]!) - px);
  const dy = (i: number) => Math.abs(y(values[i] ?? Infinity) - py);
  return [...at.keys()].reduce(
    (best, i) => (dx(i) < dx(best) || (at[i] === at[best] && dy(i) < dy(best)) ? i : best),
    0,
  );
}
