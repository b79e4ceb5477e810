/** The data of tables on pages. */

/** Text with extras that only some outputs show. In a `bar` column, pages show `share`, in [0, 1], as a bar. */
export interface MarkedText {
  readonly text: string;
  /** Explanation of the text, shown after it in parentheses or, on a page, below it; not in CSV. */
  readonly detail?: string | undefined;
  readonly href?: string | undefined;
  readonly mark?: string | undefined;
  /** True to format the text as code, in Markdown and on pages. */
  readonly code?: boolean;
  readonly share?: number;
  /** From −1 (strongly negative) to 1: the colour behind a number on a page. */
  readonly tint?: number;
}

/** Axis on which a page draws a column's estimates, with a dashed line at `line` (a forest plot). */
export interface IntervalAxis {
  readonly line?: number;
  /** Values that the axis must include. */
  readonly include?: readonly number[];
}

export interface TableData {
  readonly isTall: boolean;
  readonly columns: readonly {
    readonly kind: 'text' | 'number' | 'estimate' | 'bar';
    readonly title: string;
    readonly spoken: string;
    readonly drawn?: IntervalAxis | undefined;
  }[];
  readonly rows: readonly (readonly TableCell[])[];
}

export interface TableCell extends MarkedText {
  /** Number by which the cell is sorted; absent for text. */
  readonly value?: number | undefined;
  readonly interval?: readonly [number, number] | null | undefined;
  readonly strong?: boolean | undefined;
  /** True if it repeats the cell above, so it stays blank. */
  readonly isRepeated?: boolean;
}
