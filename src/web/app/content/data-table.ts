/** A table that sorts by the column whose header is clicked: descending, then ascending, then in its original order. */
import { useState } from 'preact/hooks';
import { formatNumber, missingMark } from '../../../base/text/numbers.js';
import type { IntervalAxis, TableCell, TableData } from '../../../base/text/table-data.js';
import { compareValues, type Value } from '../../../runs/listing/fields.js';
import { largest, smallest } from '../../../statistics/descriptive.js';
import { percentText, ticksWithin } from '../../ticks.js';
import { html } from '../base/html.js';

/** Maximum number of columns that fit side by side on a phone; with more, each row becomes a list of its cells. */
const maxPhoneColumns = 4;

export function DataTable({ columns, isTall, rows }: TableData) {
  const [order, setOrder] = useState({ column: -1, sign: 1 as 1 | -1 });
  const isStacked = columns.length > maxPhoneColumns;
  // Sorting would separate blank cells from the cell above that they repeat.
  const isSortable = rows.length > 2 && !rows.flat().some(({ isRepeated }) => isRepeated);
  const { column: sortColumn, sign } = isSortable ? order : { column: -1, sign: 1 as const };
  const shownRows =
    sortColumn < 0
      ? rows
      : rows.toSorted((a, b) => compareValues(sortValue(a[sortColumn]!), sortValue(b[sortColumn]!), sign));
  const sort = (column: number) =>
    setOrder(
      sortColumn !== column ? { column, sign: -1 } : sign < 0 ? { column, sign: 1 } : { column: -1, sign: 1 },
    );
  const classOf = (c: number) =>
    ({ text: undefined, bar: 'bar-cell', number: 'number', estimate: 'number' })[columns[c]!.kind];
  const cellsIn = (c: number) => rows.flatMap((row) => row[c] ?? []);
  const plots = columns.map(({ drawn }, c) => drawn && intervalAxis(drawn, cellsIn(c)));
  return html`<div class=${isTall ? 'scroll tall' : 'scroll'} tabindex="0"><table class=${isStacked ? 'stack' : undefined}>
<thead><tr>${columns.map(({ spoken, title }, c) => {
    const text = title || html`<span class="repeated">${spoken}</span>`;
    const direction = c === sortColumn ? (sign < 0 ? 'descending' : 'ascending') : undefined;
    return html`${plots[c] && html`<th scope="col" class="drawn">${plots[c].axis}<span class="repeated">drawn</span></th>`}<th scope="col" class=${classOf(c)} aria-sort=${direction}>${isSortable ? html`<button type="button" class="sort" onClick=${() => sort(c)}>${text}</button>` : text}</th>`;
  })}</tr></thead>
<tbody>${shownRows.map(
    (row, r) =>
      html`<tr key=${r}>${row.map((cell, c) => {
        const cellContent = columns[c]!.kind === 'bar' ? barOf(cell) : contentOf(cell);
        // Repeat the text on phones, which show each row as a list of its own, and for screen readers.
        const content = !cell.isRepeated
          ? cellContent
          : (isStacked || c === 0) && html`<span class="repeated">${cellContent}</span>`;
        const label = isStacked && columns[c]!.title !== '' ? columns[c]!.title : undefined;
        return c === 0
          ? html`<th scope="row" class=${classOf(c)} data-label=${label}>${content}</th>`
          : html`${plots[c] && html`<td class="drawn">${plots[c].draw(cell)}</td>`}<td class=${classOf(c)} data-label=${label}>${content}</td>`;
      })}</tr>`,
  )}</tbody></table></div>`;
}

/** Returns the value by which a cell is sorted: its number or its text; null for a missing value. */
function sortValue({ share, text, value }: TableCell): Value {
  if (value !== undefined || share !== undefined) return value ?? share!;
  const number = text.replaceAll(/[\s,]/g, '').replace('−', '-');
  if (/^[-+$]?[\d.]/.test(number)) return Number.parseFloat(number.replace('$', ''));
  return text === '' || text === missingMark ? null : text;
}

const tintOf = (tint: number) =>
  `color-mix(in srgb, var(--${tint < 0 ? 'negative' : 'positive'}) ${Math.round(55 * Math.abs(tint))}%, transparent)`;

function contentOf({ code, detail, href, mark, strong, text, tint }: TableCell) {
  if (tint !== undefined)
    return html`<span class="tint" style=${{ background: tintOf(tint) }}>${text}</span>`;
  const markedText = mark === undefined ? text : html`<span class=${mark}>${text}</span>`;
  const codeText = code ? html`<code>${markedText}</code>` : markedText;
  const strongText = strong && text !== missingMark ? html`<b>${codeText}</b>` : codeText;
  return html`${href === undefined ? strongText : html`<a href=${href}>${strongText}</a>`}${detail !== undefined && html`<br /><span class="muted">${detail}</span>`}`;
}

const barOf = ({ share = 0, text }: TableCell) =>
  html`<svg width="100%" height="12" role="img" aria-label=${text}><rect class="room" width="100%" height="12" rx="2" /><rect class="bar" width=${`${100 * Math.min(1, share)}%`} height="12" rx="2" /></svg>`;

/** Draws estimates with intervals on a common axis. @returns the axis, and a function that draws a cell's estimate */
function intervalAxis({ include = [], line }: IntervalAxis, cells: readonly TableCell[]) {
  const numbers = [
    line ?? [],
    ...include,
    ...cells.flatMap(({ interval, value }) => [value ?? [], interval ?? []]),
  ]
    .flat(2)
    .filter(Number.isFinite);
  const [min, max] = numbers.length === 0 ? [0, 1] : [smallest(numbers), largest(numbers)];
  const padding = max > min ? 0 : Math.abs(min) * 0.1 || 1;
  const [low, high] = [min - padding, max + padding];
  const x = (value: number) => percentText((Math.min(high, Math.max(low, value)) - low) / (high - low));
  return {
    axis: html`<svg width="100%" height="20" fill="var(--muted)" font-size="12" text-anchor="middle" aria-hidden="true">${ticksWithin(low, high, 4).map((tick) => html`<text x=${x(tick)} y="14">${formatNumber(tick)}</text>`)}</svg>`,
    draw: ({ interval, value }: TableCell) =>
      html`<svg width="100%" height="24" aria-hidden="true">${line !== undefined && html`<line stroke="var(--muted)" stroke-dasharray="6 4" x1=${x(line)} x2=${x(line)} y2="24" />`}${interval && html`<line stroke="var(--accent)" stroke-width="2" x1=${x(interval[0])} x2=${x(interval[1])} y1="12" y2="12" />`}${value !== undefined && html`<circle fill="var(--accent)" cx=${x(value)} cy="12" r="5.5" />`}</svg>`,
  };
}
