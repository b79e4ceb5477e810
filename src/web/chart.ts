/** Charts as data; the app draws them. */
import { type Content, Part } from '../base/text/content.js';

/** A colour of the style sheet: a property such as `--point`, or `--arm-3` for the fourth of several arms. */
export type Color = `--${string}`;

export interface Axis {
  readonly title: string;
  /** Format of the values. `whole`: ticks only at whole numbers. Durations are in milliseconds. */
  readonly kind?: 'number' | 'whole' | 'compact' | 'cost' | 'share' | 'bytes' | 'duration';
  /** Ends of the axis (default: chosen to fit the data). */
  readonly from?: number;
  readonly to?: number;
}

/** Series and marks with the same label share a checkbox in the legend, which shows or hides them. */
export interface Series {
  readonly label: string;
  /** `bars` of several series are stacked, the first on top. */
  readonly draw: 'line' | 'steps' | 'points' | 'bars';
  /** One value per x; null if there is none. */
  readonly values: readonly (number | null)[];
  /** Ends of an interval per x: a band behind lines and steps, a whisker behind points. */
  readonly low?: readonly (number | null)[];
  readonly high?: readonly (number | null)[];
  /** Ends of a narrower interval per x, such as quartiles, drawn thicker. */
  readonly inner?: readonly [low: readonly (number | null)[], high: readonly (number | null)[]];
  readonly color: Color;
  readonly width?: number;
  readonly isDashed?: boolean;
  /** True if it stays hidden until its checkbox in the legend is checked. */
  readonly isHidden?: boolean;
  /** Outliers on this side don't stretch the y axis. */
  readonly outliers?: 'low' | 'high';
}

interface MarkSeries {
  readonly label: string;
  /** `cross`: at the lower edge, for an x without a value. `diamond`: at y, with the interval if there is one. */
  readonly draw: 'cross' | 'diamond';
  readonly color: Color;
  readonly marks: readonly {
    /** Default: to the right of the plot. */
    readonly x?: number;
    readonly y?: number;
    readonly interval?: readonly [number, number] | null;
  }[];
}

export interface Chart {
  /** Describes the chart, for screen readers. */
  readonly label: string;
  readonly x: Axis;
  readonly y: Axis;
  /** Pixels; default: 320. */
  readonly height?: number;
  /** x values, ascending. They may repeat, except with bars or steps. */
  readonly at: readonly number[];
  readonly series: readonly Series[];
  readonly marks?: readonly MarkSeries[];
  /** The checkbox in the legend that shows or hides all bands; without it, bands are always visible. */
  readonly bands?: { readonly label: string; readonly isHidden?: boolean };
  /** Horizontal lines, such as a target. */
  readonly levels?: readonly { readonly y: number; readonly label: string }[];
  /** Ranges of x with a shaded background, such as the warm-up. */
  readonly shades?: readonly (readonly [from: number, to: number])[];
  /** Text below the chart for each x (default: its values). */
  readonly notes?: readonly string[];
  /** Link for each x, such as `#iteration-3-0`. A click on the chart follows the link of the nearest point. */
  readonly links?: readonly (string | null)[];
  /** Text below the chart until a point is selected. */
  readonly hint?: string;
}

/** @param caption text below the chart */
export const chartFigure = (chart: Chart, caption?: Content): Content =>
  new Part('chart-figure', { chart }, caption);

/** Returns up to `maxStretches` items unchanged, and joins more in equal stretches (the last may be shorter). */
export function downsample<T>(
  items: readonly T[],
  maxStretches: number,
  join: (stretch: readonly T[]) => readonly T[],
): readonly T[] {
  let length = 1;
  while (items.length > maxStretches * length) length *= 2;
  if (length === 1) return items;
  const starts = items.flatMap((_, i) => (i % length === 0 ? i : []));
  return starts.flatMap((start) => join(items.slice(start, start + length)));
}
