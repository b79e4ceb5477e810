/** Parameters of evaluations as data; the app draws them. */
import { embedJson, type Html, html } from '../base/text/html.js';

export interface HeatMap {
  /** Describes the map, for screen readers. */
  readonly label: string;
  /** Short names of the rows, and their names in full. */
  readonly names: readonly string[];
  readonly titles: readonly string[];
  /** The parameters of each shown evaluation. */
  readonly columns: readonly (readonly number[])[];
  /** The scores of the columns, from 0 to 1. */
  readonly scores: readonly number[];
  /** Descriptions of the columns. */
  readonly evaluations: readonly string[];
  /** The possible values, if they have colours of their own. */
  readonly choices?: readonly number[] | undefined;
  /** Magnitude with the strongest colour. */
  readonly scale: number;
  /** Index of the column with the highest score. */
  readonly best: number;
  /** Number of columns of the warm-up. */
  readonly warmup: number;
  /** Number of evaluations; more than columns if not all are shown. */
  readonly total: number;
}

/** The element in which the app draws a heat map. Without JavaScript, it shows only the description. */
export const heatMapFigure = (map: HeatMap, caption: Html): Html =>
  html`<figure data-heat-map>${embedJson(undefined, map)}<p class="note">${map.label}</p><figcaption>${caption}</figcaption></figure>`;
