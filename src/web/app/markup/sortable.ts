/** Sorts a table when a column header is clicked: descending, then ascending, then in its original order. */
import { missing } from '../../../base/text/numbers.js';
import { compareValues, type Value } from '../../../runs/listing/fields.js';

/** The value by which a cell is sorted: its number or its text; null for a missing value. */
function sortedBy(row: HTMLTableRowElement, column: number): Value {
  const cell = row.cells[column];
  const text = cell?.textContent.trim() ?? '';
  const number = cell?.dataset.value ?? text.replaceAll(/[\s,]/g, '').replace('−', '-');
  const value = Number.parseFloat(number);
  if (/^[-+$]?[\d.]/.test(number) && !Number.isNaN(value)) return value;
  return text === '' || text === missing ? null : text;
}

export function makeSortable(table: HTMLTableElement): void {
  const body = table.tBodies[0];
  const heads = [...(table.tHead?.rows[0]?.cells ?? [])];
  // In a `data-fixed` table, cells span rows or repeat the row above, so its rows must keep their order.
  if (body === undefined || body.rows.length < 3 || table.dataset.fixed !== undefined) return;
  const original = [...body.rows];
  heads.forEach((head, column) => {
    if (head.textContent.trim() === '') return;
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'sort';
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener('click', () => {
      const before = head.getAttribute('aria-sort');
      for (const other of heads) other.removeAttribute('aria-sort');
      const next = before === null ? 'descending' : before === 'descending' ? 'ascending' : undefined;
      if (next === undefined) return body.append(...original);
      head.setAttribute('aria-sort', next);
      const sign = next === 'ascending' ? 1 : -1;
      body.append(
        ...original.toSorted((a, b) => compareValues(sortedBy(a, column), sortedBy(b, column), sign)),
      );
    });
  });
}
