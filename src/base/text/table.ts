/**
 * Tables as data: columns define the cells of each row, and a table can be rendered for the terminal, CSV,
 * Markdown and HTML.
 */
import { type Html, html } from './html.js';
import { apart, formatInterval, formatNumber, formatReturn, missing, type NumberFormat } from './numbers.js';
import { fittedTable, type TextTable } from './text-table.js';

export interface Column<Row> {
  /** Header for people; without one (not even an empty string), the column appears only in CSV. */
  readonly title?: string;
  /** Header for screen readers if the title is empty. Default: "name" for the first column, "value" for the others. */
  readonly spoken?: string;
  /** Header in CSV, followed by `_low` and `_high` columns for an estimate; without one, the column isn't in CSV. */
  readonly name?: string;
  /** Number columns are right-aligned, even if they contain text such as `3 of 20`. An estimate has an interval. */
  readonly kind?: 'text' | 'number' | 'estimate' | 'bar';
  /** Number format for people, who see enough digits to tell numbers apart; CSV has all digits. */
  readonly format?: NumberFormat;
  /** Shown in bold on pages, for the main column of the table. */
  readonly strong?: boolean;
  /** Leaves a cell empty if it and all grouped columns before it repeat the row above; not in CSV and Markdown. */
  readonly grouped?: boolean;
  readonly cell: (row: Row) => Cell;
}

export type Cell = string | number | null | undefined | Estimate | Marked;

interface Estimate {
  readonly value: number;
  readonly interval: readonly [number, number] | null | undefined;
}

/** Text with extras that only some outputs show. In a `bar` column, pages show `share`, in [0, 1], as a bar. */
interface Marked {
  readonly text: string;
  /** Explanation of the text, shown after it in parentheses or, on a page, below it; not in CSV. */
  readonly detail?: string | undefined;
  readonly href?: string | undefined;
  readonly mark?: string | undefined;
  /** True to format the text as code, in Markdown and on pages. */
  readonly code?: boolean;
  readonly share?: number;
}

type More<Row> = Omit<Column<Row>, 'title' | 'kind' | 'cell'>;
type Title = string | false;
type CellOf<Row> = Column<Row>['cell'];

/** A column of text; if the title is `false`, it appears only in CSV. */
export const text = <Row>(title: Title, cell: CellOf<Row>, more: More<Row> = {}): Column<Row> => ({
  ...(title !== false && { title }),
  cell,
  ...more,
});

/** A column of numbers, or of text such as `3 of 20` that is aligned like numbers. */
export const number = <Row>(title: Title, cell: CellOf<Row>, more: More<Row> = {}): Column<Row> => ({
  ...text(title, cell, more),
  kind: 'number',
});

/** A column of estimates, formatted as returns by default. */
export const estimate = <Row>(title: Title, cell: CellOf<Row>, more: More<Row> = {}): Column<Row> => ({
  format: formatReturn,
  ...text(title, cell, more),
  kind: 'estimate',
});

/** A column of percentages. Pages show bars instead, with the percentage for screen readers. */
export const bar = <Row>(shareOf: (row: Row) => number): Column<Row> => ({
  ...text('', (row) => ({ text: `${Math.round(100 * shareOf(row))} %`, share: shareOf(row) }), {
    spoken: 'share',
  }),
  kind: 'bar',
});

/** A column that appears only in CSV. */
export const forMachines = <Row>(name: string, cell: CellOf<Row>): Column<Row> => ({ name, cell });

type Columns<Row> = readonly Column<Row>[];

/**
 * A table for the terminal, with columns padded to their widest cell. Control characters, which could control the
 * terminal, become spaces.
 * @param width of the terminal, in columns; a wider table wraps its text, then moves columns below (Infinity: no limit)
 */
export function terminalTable<Row>(
  rows: readonly Row[],
  columns: Columns<Row>,
  width = Number.POSITIVE_INFINITY,
): string {
  return fittedTable(
    readable(columns, rows, (text) => text.replaceAll(/\p{Cc}/gu, ' ')),
    width,
  );
}

/** A table in GitHub's Markdown: https://github.github.com/gfm/#tables-extension- */
export function markdownTable<Row>(rows: readonly Row[], columns: Columns<Row>): string {
  const whole = columns.map((column) => ({ ...column, grouped: false }));
  const { titles, right, lines } = readable(whole, rows, markdownText, markdownCode);
  const line = (texts: readonly string[]) => `| ${texts.join(' | ')} |`;
  return [line(titles), line(right.map((isRight) => (isRight ? '--:' : '---'))), ...lines.map(line)].join(
    '\n',
  );
}

/** Comma-separated values (RFC 4180, but with line feeds). Numbers have all digits; missing values are empty. */
export function csvTable<Row>(rows: readonly Row[], columns: Columns<Row>): string {
  const named = columns.filter(({ name }) => name !== undefined);
  const header = named.flatMap(({ name, kind }) =>
    kind === 'estimate' ? [name, `${name}_low`, `${name}_high`] : [name],
  );
  const lines = rows.map((row) =>
    named.flatMap(({ kind, cell }) => csvCells(cell(row), kind === 'estimate')),
  );
  return [header, ...lines].map((line) => `${line.map(csvText).join(',')}\n`).join('');
}

/** Maximum number of columns that fit side by side on a phone; with more, each row becomes a list of its cells. */
const mostOnPhone = 4;

/** A table for a page. Scrolls if it is wide, also vertically if `tall`. On a phone, long rows become lists. */
export function htmlTable<Row>(
  rows: readonly Row[],
  columns: Columns<Row>,
  { tall = false }: { readonly tall?: boolean } = {},
): Html {
  const shown = shownColumns(columns, rows);
  const number = ({ kind = 'text' }: Column<Row>) =>
    kind !== 'text' && html` class="${kind === 'bar' ? 'bar-cell' : 'number'}"`;
  const stacks = shown.length > mostOnPhone;
  // Sorting would separate blank cells from the cell above that they repeat.
  const repeated = rows.map((_, r) => repetitions(shown, rows, r));
  const isFixed = repeated.flat().includes(true);
  return html`<div class="scroll${tall && ' tall'}" tabindex="0"><table${stacks && html` class="stack"`}${isFixed && ' data-fixed'}>
<thead><tr>${shown.map((column, c) => html`<th scope="col"${number(column)}>${column.title || html`<span class="repeated">${column.spoken ?? (c === 0 ? 'name' : 'value')}</span>`}</th>`)}</tr></thead>
<tbody>${rows.map((row, r) => {
    return html`<tr>${shown.map((column, c) => {
      const cell = htmlCell(column, column.cell(row));
      // On a phone, the list of each row must be self-contained; screen readers need each row's header.
      const content = repeated[r]![c]
        ? (stacks || c === 0) && html`<span class="repeated">${cell}</span>`
        : cell;
      const label = stacks && column.title !== '' && html` data-label="${column.title}"`;
      return c === 0
        ? html`<th scope="row"${number(column)}${label}>${content}</th>`
        : html`<td${number(column)}${label}>${content}</td>`;
    })}</tr>
`;
  })}</tbody></table></div>`;
}

/** The columns that people see. `asText` formats a column's numbers with enough digits to tell them apart. */
function shownColumns<Row>(columns: Columns<Row>, rows: readonly Row[]) {
  return columns
    .filter(({ title }) => title !== undefined)
    .map((column) => ({
      ...column,
      asText: apart(
        rows.map((row) => numberIn(column.cell(row))),
        column.format ?? formatNumber,
      ),
    }));
}

type Shown<Row> = ReturnType<typeof shownColumns<Row>>[number];

function numberIn(cell: Cell): number | undefined {
  if (typeof cell === 'object' && cell !== null && 'value' in cell) return cell.value;
  return typeof cell === 'number' ? cell : undefined;
}

/** The table as text for people; an estimate's interval has its own column. */
function readable<Row>(
  columns: Columns<Row>,
  rows: readonly Row[],
  plain: (text: string) => string,
  code: (text: string) => string = plain,
): TextTable {
  const shown = shownColumns(columns, rows);
  const isEstimate = ({ kind }: Column<Row>) => kind === 'estimate';
  const lines = rows.map((row, r) => {
    const repeated = repetitions(shown, rows, r);
    return shown.flatMap((column, c) => {
      const cell = column.cell(row);
      const isCode = typeof cell === 'object' && cell !== null && 'text' in cell && cell.code === true;
      const text = repeated[c] ? '' : (isCode ? code : plain)(cellText(cell, column.asText));
      return isEstimate(column) ? [text, formatInterval(intervalOf(cell), column.format)] : [text];
    });
  });
  return {
    titles: shown.flatMap((column) => [
      plain(column.title!),
      ...(isEstimate(column) ? ['95 % interval'] : []),
    ]),
    right: shown.flatMap((column) =>
      isEstimate(column) ? [true, true] : [(column.kind ?? 'text') === 'number'],
    ),
    joined: shown.flatMap((column) => (isEstimate(column) ? [false, true] : [false])),
    lines,
  };
}

function cellText(cell: Cell, format: (value: number) => string): string {
  if (cell === null || cell === undefined) return missing;
  if (typeof cell === 'string') return cell;
  if (typeof cell === 'number') return format(cell);
  if ('value' in cell) return format(cell.value);
  return cell.detail === undefined ? cell.text : `${cell.text} (${cell.detail})`;
}

const intervalOf = (cell: Cell) =>
  typeof cell === 'object' && cell !== null && 'value' in cell ? cell.interval : null;

/** Per column: true if it is grouped, and the row above has the same text in it and in all earlier grouped columns. */
function repetitions<Row>(
  columns: readonly Shown<Row>[],
  rows: readonly Row[],
  r: number,
): readonly boolean[] {
  const [above, row] = [rows[r - 1], rows[r]!];
  let same = above !== undefined;
  return columns.map(({ grouped, cell, asText }) => {
    if (grouped !== true || above === undefined) return false;
    same &&= cellText(cell(above), asText) === cellText(cell(row), asText);
    return same;
  });
}

/** Puts text on one line, and escapes pipes (which would end the cell) and the backslashes before them. */
const markdownText = (text: string) =>
  text.replaceAll(/\s*[\r\n]+\s*/g, ' ').replaceAll(/(\\*)\|/g, (_, slashes) => `${slashes}${slashes}\\|`);

const markdownCode = (text: string) => (text === '' ? '' : `\`${markdownText(text.replaceAll('`', "'"))}\``);

function csvCells(cell: Cell, isEstimate: boolean): readonly (string | number | null | undefined)[] {
  const interval = intervalOf(cell) ?? [null, null];
  if (typeof cell !== 'object' || cell === null) return isEstimate ? [cell, ...interval] : [cell];
  return 'value' in cell ? [cell.value, ...interval] : [cell.text];
}

/** Start of a formula: spreadsheets ignore invisible characters before the sign, and accept full-width signs. */
const formula = /^(?:[\t\r\n]|[\s\p{Cf}\p{Cc}]*[=+\-@＝＋－＠])/u;

/**
 * Puts an apostrophe before text that spreadsheets would run as a formula:
 * https://owasp.org/www-community/attacks/CSV_Injection
 */
function csvText(value: string | number | null | undefined): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number') return String(value);
  const isFormula = formula.test(value) && Number.isNaN(Number(value));
  const text = isFormula ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function htmlCell<Row>({ kind, format = formatNumber, strong, asText }: Shown<Row>, cell: Cell): Html {
  if (typeof cell !== 'object' || cell === null || 'value' in cell) {
    const text = cellText(cell, asText);
    const bold = text !== '' && (strong || (kind === 'estimate' && text !== missing));
    const ends = typeof cell === 'object' && cell !== null && muted(intervalText(cell, format));
    return html`${bold ? html`<b>${text}</b>` : text}${ends}`;
  }
  const { text, detail, href, mark, code, share } = cell;
  if (kind === 'bar')
    return html`<svg width="100%" height="12" role="img" aria-label="${text}"><rect class="room" width="100%" height="12" rx="2"/><rect class="bar" width="${Math.round(1e5 * Math.min(1, share ?? 0)) / 1000}%" height="12" rx="2"/></svg>`;
  const marked = mark === undefined ? text : html`<span class="${mark}">${text}</span>`;
  const worded = code === true ? html`<code>${marked}</code>` : marked;
  const strongly = strong ? html`<b>${worded}</b>` : worded;
  return html`${href === undefined ? strongly : html`<a href="${href}">${strongly}</a>`}${detail !== undefined && muted(detail)}`;
}

const intervalText = ({ interval }: Estimate, format: NumberFormat) =>
  interval ? formatInterval(interval, format) : 'no interval';

const muted = (text: string) => html`<br><span class="muted">${text}</span>`;
