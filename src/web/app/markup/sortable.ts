/** Sorts a table by a click on a column's header: descending, ascending, then as it was. */

/** The value by which a cell sorts: its number, or its text. */
function keyOf(row: HTMLTableRowElement, column: number): number | string {
  const cell = row.cells[column];
  const text = cell?.textContent.trim() ?? '';
  const number = cell?.dataset.value ?? text.replaceAll(/[\s,]/g, '').replace('−', '-');
  const value = Number.parseFloat(number);
  return /^[-+$]?[\d.]/.test(number) && !Number.isNaN(value) ? value : text === '–' ? '' : text;
}

function compare(a: number | string, b: number | string): number {
  // Missing values come last in either order.
  if (a === '' || b === '') return a === b ? 0 : a === '' ? Infinity : -Infinity;
  return typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b));
}

export function makeSortable(table: HTMLTableElement): void {
  const body = table.tBodies[0];
  const heads = [...(table.tHead?.rows[0]?.cells ?? [])];
  // Cells that span rows or repeat the row above belong to their neighbours.
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
      const next = before === null ? 'descending' : before === 'descending' ? 'ascending' : null;
      if (next !== null) head.setAttribute('aria-sort', next);
      const sign = next === 'ascending' ? 1 : -1;
      const rows =
        next === null
          ? original
          : original.toSorted((a, b) => order(sign, keyOf(a, column), keyOf(b, column)));
      body.append(...rows);
    });
  });
}

const order = (sign: number, a: number | string, b: number | string) => {
  const compared = compare(a, b);
  return Number.isFinite(compared) ? sign * compared : compared > 0 ? 1 : -1;
};
