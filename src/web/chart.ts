/** Charts as data; the app draws them. */
import { embedJson, type Html, html } from '../format/html.js';

/** A colour of the style sheet: the name of a property such as `--point`, or `arm-3` for the fourth of several arms. */
export type Colour = `--${string}` | `arm-${number}`;

export interface Axis {
  readonly title: string;
  /** How values are written. `whole`: ticks only at whole numbers. Times are in milliseconds. */
  readonly kind?: 'number' | 'whole' | 'compact' | 'cost' | 'share' | 'bytes' | 'duration' | 'time';
  readonly scale?: 'linear' | 'log';
  /** Ends of the axis, if they don't follow from the data. */
  readonly from?: number;
  readonly to?: number;
  /** Labels at chosen values, instead of round numbers. */
  readonly ticks?: readonly (readonly [at: number, label: string])[];
}

/** Series and marks with the same label share a box in the legend, which shows and hides them. */
export interface Series {
  readonly label: string;
  /** `bars` of several series are stacked, the first on top. */
  readonly draw: 'line' | 'steps' | 'points' | 'bars';
  /** One value per x; null where there is none. */
  readonly values: readonly (number | null)[];
  /** Ends of an interval per x: a band behind lines and steps, a whisker behind points. */
  readonly low?: readonly (number | null)[];
  readonly high?: readonly (number | null)[];
  /** Ends of a narrower interval per x, such as quartiles, drawn thicker. */
  readonly inner?: readonly [low: readonly (number | null)[], high: readonly (number | null)[]];
  readonly colour: Colour;
  readonly width?: number;
  readonly isDashed?: boolean;
  /** Hidden until its box in the legend is checked. */
  readonly isHidden?: boolean;
  /** Outliers on this side don't stretch the y axis. */
  readonly outliers?: 'low' | 'high';
}

interface Marks {
  readonly label: string;
  /** `cross`: at the lower edge, for x without a value. `diamond`: a mean, with its interval. */
  readonly draw: 'cross' | 'diamond';
  readonly colour: Colour;
  readonly marks: readonly {
    /** Default: right of the plot. */
    readonly x?: number;
    readonly y?: number;
    readonly interval?: readonly [number, number];
  }[];
}

export interface Chart {
  /** The chart in words, for screen readers. */
  readonly label: string;
  readonly x: Axis;
  readonly y: Axis;
  /** Pixels; default: 320. */
  readonly height?: number;
  /** Ascending; values may repeat if only points are drawn. */
  readonly at: readonly number[];
  readonly series: readonly Series[];
  readonly marks?: readonly Marks[];
  /** The box in the legend that shows and hides all bands; without it, bands are always shown. */
  readonly bands?: { readonly label: string; readonly isHidden?: boolean };
  /** Horizontal lines, such as a target. */
  readonly levels?: readonly { readonly y: number; readonly label: string }[];
  /** Ranges of x with a shaded background, such as the warm-up. */
  readonly shades?: readonly (readonly [from: number, to: number])[];
  /** The line below the chart for each x (default: its values). */
  readonly notes?: readonly string[];
  /** Where a click on each x, or the line below, leads, such as `#evaluation-3-1`. */
  readonly links?: readonly (string | null)[];
  /** The line below the chart while nothing is pointed at. */
  readonly hint?: string;
}

/** The place of a chart in a page. Without JavaScript it shows the chart in words. */
export const chartFigure = (chart: Chart, caption?: Html): Html =>
  html`<figure class="chart-figure" data-chart>${embedJson(undefined, chart)}<p class="note">${chart.label}</p>${caption && html`<figcaption>${caption}</figcaption>`}</figure>`;
