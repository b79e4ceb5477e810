/** The axes of a chart: ranges, ticks and their labels. */
import {
  distinctFormat,
  formatBytes,
  formatCompact,
  formatCost,
  formatDuration,
  formatNumber,
  formatShare,
} from '../../base/text/numbers.js';
import type { Axis, Chart } from '../chart.js';
import { tickStep, ticksWithin } from '../ticks.js';

/** A chart to draw; `hidden`: labels of its hidden parts. */
export interface DrawnChart {
  readonly chart: Chart;
  readonly hidden: ReadonlySet<string>;
}

export type Extent = readonly [low: number, high: number];

/** Formats a number; uses scientific notation, such as `2.5e−7`, for very large and very small ones. */
function formatPlain(value: number, digits = 6): string {
  const magnitude = Math.abs(value);
  if (magnitude === 0 || (magnitude >= 1e-4 && magnitude < 1e12)) return formatNumber(value, digits);
  return Number(value.toPrecision(digits)).toExponential().replace('+', '').replaceAll('-', '−');
}

const formatters: Readonly<Record<NonNullable<Axis['kind']>, (value: number) => string>> = {
  number: formatPlain,
  whole: (value) => formatPlain(value, 9),
  compact: formatCompact,
  cost: formatCost,
  share: formatShare,
  bytes: formatBytes,
  duration: formatDuration,
};

export const axisText = ({ kind = 'number' }: Axis, value: number): string => formatters[kind](value);

/**
 * Returns round ticks with their labels. If the axis has no `kind`, labels have enough digits to tell them apart.
 * @param axisLength in pixels @param minDistance approximate minimum distance between ticks, in pixels
 */
export function ticksOf(axis: Axis, [low, high]: Extent, axisLength: number, minDistance: number) {
  const count = Math.max(2, axisLength / minDistance);
  const hasUnitSteps = axis.kind === 'whole' && (high - low) / count <= 1;
  const ticks = ticksWithin(low, high, hasUnitSteps ? (high - low) / tickStep(1) : count);
  const text =
    axis.kind === undefined ? distinctFormat(ticks, formatPlain) : (tick: number) => axisText(axis, tick);
  return ticks.map((tick) => [tick, text(tick)] as const);
}

/** @param zoom the range that the user has zoomed to */
export function xRange({ at, marks = [], series, x }: Chart, zoom?: Extent): Extent {
  if (zoom !== undefined) return zoom;
  const markPositions = marks.flatMap((own) => own.marks.flatMap((mark) => mark.x ?? []));
  const [first, last] = extentOf([at[0] ?? 0, at.at(-1) ?? 1, ...markPositions]);
  const distance = (last - first) / Math.max(1, at.length - 1) || 1;
  // Leave room for half a bar at each end, and keep the points of a scatter plot off the edges.
  const padding = series.some(({ draw }) => draw === 'bars')
    ? 0.5 * distance
    : x.kind !== 'whole' && series[0]?.draw === 'points'
      ? 0.02 * (last - first)
      : 0;
  const [from, to] = [x.from ?? first - padding, x.to ?? last + padding];
  return to > from ? [from, to] : [from - 0.5 * distance, from + 0.5 * distance];
}

/** Larger values would make ranges overflow. */
const bound = 1e300;

const extentOf = (values: readonly number[]): Extent =>
  values.reduce<Extent>(
    ([low, high], value) => [Math.min(low, Math.max(-bound, value)), Math.max(high, Math.min(bound, value))],
    [Infinity, -Infinity],
  );

/** Returns the ends of the y axis; by default, they contain all shown data except outliers. */
export function yRange({ chart, hidden }: DrawnChart, [from, to]: Extent): Extent {
  const { at, bands, levels = [], marks = [], series, y } = chart;
  const isShown = ({ label }: { readonly label: string }) => !hidden.has(label);
  const isInView = (x: number) => x >= from && x <= to;
  const numbers = (values: readonly (number | null)[] = []) =>
    values.filter((value, i): value is number => typeof value === 'number' && isInView(at[i]!));
  const hasBands = bands === undefined || isShown(bands);
  const shownSeries = series.filter(isShown);
  const bars = shownSeries.filter(({ draw }) => draw === 'bars');
  const values = [
    ...shownSeries.flatMap((item) => {
      if (item.draw === 'bars') return [];
      const seriesValues = numbers(item.values);
      const ends = hasBands || item.draw === 'points' ? [...numbers(item.low), ...numbers(item.high)] : [];
      return clipRange(seriesValues, extentOf([...seriesValues, ...ends]), item.outliers);
    }),
    ...(bars.length === 0
      ? []
      : [0, ...numbers(at.map((_, i) => bars.reduce((sum, one) => sum + (one.values[i] ?? 0), 0)))]),
    ...levels.map((level) => level.y),
    ...marks
      .filter(isShown)
      .flatMap((item) =>
        item.marks.flatMap((mark) =>
          mark.y === undefined || (mark.x !== undefined && !isInView(mark.x))
            ? []
            : [mark.y, ...(mark.interval ?? [])],
        ),
      ),
  ].filter((value) => Number.isFinite(value));
  if (values.length === 0) return [y.from ?? 0, y.to ?? (y.from ?? 0) + 1];
  const [low, high] = extentOf(values);
  const padding = high > low ? 0.06 * (high - (y.from ?? low)) : Math.abs(high) * 0.1 || 1;
  const [least, largest] = [low - padding, high + padding];
  const bottom = y.from ?? (low === 0 ? 0 : least);
  return [bottom, Math.max(y.to ?? largest, bottom + 1e-9 * (Math.abs(bottom) || 1))];
}

/** Limits one side of a range to Tukey's outer fence (3 interquartile ranges), so outliers don't flatten the curve. */
function clipRange(values: readonly number[], [low, high]: Extent, side: 'low' | 'high' | undefined): Extent {
  if (side === undefined || values.length < 20) return [low, high];
  const ascending = values.toSorted((a, b) => a - b);
  const at = (share: number) => ascending[Math.floor(share * (ascending.length - 1))]!;
  const [lower, upper] = [at(0.25), at(0.75)];
  if (side === 'low') return [Math.max(low, lower - 3 * (upper - lower || high - lower)), high];
  return [low, Math.min(high, upper + 3 * (upper - lower || upper - low))];
}
