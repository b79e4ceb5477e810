/** Draws estimates with their intervals on a common axis. */
import { formatNumber } from '../../../base/text/numbers.js';
import type { IntervalAxis, TableCell } from '../../../base/text/table-data.js';
import { largest, smallest } from '../../../statistics/descriptive.js';
import { percent, ticksWithin } from '../../ticks.js';
import { html } from '../base/html.js';

/** @returns the axis, and a function that draws the estimate of a cell */
export function intervalAxis({ include = [], line }: IntervalAxis, cells: readonly TableCell[]) {
  const ends = [
    line ?? [],
    ...include,
    ...cells.flatMap(({ interval, value }) => [value ?? [], interval ?? []]),
  ]
    .flat(2)
    .filter(Number.isFinite);
  const [least, most] = ends.length === 0 ? [0, 1] : [smallest(ends), largest(ends)];
  const room = most > least ? 0 : Math.abs(least) * 0.1 || 1;
  const [low, high] = [least - room, most + room];
  const x = (value: number) => percent((Math.min(high, Math.max(low, value)) - low) / (high - low));
  return {
    axis: html`<svg width="100%" height="20" fill="var(--muted)" font-size="12" text-anchor="middle" aria-hidden="true">${ticksWithin(low, high, 4).map((tick) => html`<text x=${x(tick)} y="14">${formatNumber(tick)}</text>`)}</svg>`,
    drawn: ({ interval, value }: TableCell) =>
      html`<svg width="100%" height="24" aria-hidden="true">${line !== undefined && html`<line stroke="var(--muted)" stroke-dasharray="6 4" x1=${x(line)} x2=${x(line)} y2="24" />`}${interval && html`<line stroke="var(--accent)" stroke-width="2" x1=${x(interval[0])} x2=${x(interval[1])} y1="12" y2="12" />`}${value !== undefined && html`<circle fill="var(--accent)" cx=${x(value)} cy="12" r="5.5" />`}</svg>`,
  };
}
