/** Estimates with their intervals, one per row, on a common axis (a forest plot), as data. */
import { type Content, Part } from '../base/text/content.js';
import { html } from '../base/text/html.js';
import { formatInterval, formatReturn, type NumberFormat } from '../base/text/numbers.js';

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

interface Axis {
  readonly title: string;
  /** Value of the dashed line, such as 0. */
  readonly line?: number | undefined;
  /** Values that the axis must include. */
  readonly range?: readonly [number, number];
}

/** What the app draws; the names of the rows are its children. */
export interface IntervalRows extends Axis {
  readonly caption?: string | undefined;
  readonly rows: readonly (Pick<IntervalRow, 'value' | 'interval' | 'isMuted'> & {
    readonly text: string;
    readonly detail: string;
  })[];
}

export function intervalRows(
  rows: readonly IntervalRow[],
  {
    format = formatReturn,
    ...axis
  }: Axis & Pick<IntervalRows, 'caption'> & { readonly format?: NumberFormat },
): Content {
  const data: IntervalRows = {
    ...axis,
    rows: rows.map(({ detail, interval, isMuted = false, value }) => ({
      ...{ value, interval, isMuted },
      text: value === null ? '' : format(value),
      detail:
        value === null
          ? 'no result'
          : [interval ? formatInterval(interval, format) : 'no interval', detail].filter(Boolean).join(', '),
    })),
  };
  return new Part(
    'interval-rows',
    { ...data },
    ...rows.map(({ name }) => html`<span class="name">${name}</span>`),
  );
}
