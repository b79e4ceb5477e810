/** Parameters of evaluations as data; the app draws them. */
export interface HeatMap {
  /** Describes the map, for screen readers. */
  readonly label: string;
  /** Short names of the rows; `titles`: their full names. */
  readonly names: readonly string[];
  readonly titles: readonly string[];
  /** The parameters of each shown evaluation. */
  readonly columns: readonly (readonly number[])[];
  /** The scores of the columns, scaled to 0 to 1. */
  readonly scores: readonly number[];
  /** Descriptions of the columns. */
  readonly evaluations: readonly string[];
  /** The possible values, if they have colours of their own. */
  readonly choices?: readonly { readonly value: number; readonly name: string }[] | undefined;
  /** Magnitude with the strongest colour. */
  readonly scale: number;
  /** The highest score: index of its column, and number of its evaluation. */
  readonly best: { readonly column: number; readonly number: number };
  /** Number of columns of the warm-up. */
  readonly warmup: number;
  /** Number of evaluations; more than columns if not all are shown. */
  readonly total: number;
}
