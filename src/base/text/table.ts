/**
 * Tables as data: columns define the cells of each row, and a table can be rendered for the terminal, CSV,
 * Markdown, LaTeX and pages.
 */
import { Part } from './content.js';
import {
  distinctFormat,
  formatInterval,
  formatNumber,
  formatReturn,
  missingMark,
  type NumberFormat,
} from './numbers.js';
import type { IntervalAxis, MarkedText, TableData } from './table-data.js';
import { fitTable, type TextTable } from './text-table.js';

export interface Column<Row> {
  /** Header for people; without one (not even an empty string), the column appears only in CSV. */
  readonly title?: string;
  /** Header for screen readers if the title is empty. Default: "name" for the first column, "value" for the others. */
  readonly spoken?: string;
  /** Header in CSV, followed by `_low` and `_high` columns for an estimate; without one, the column isn't in CSV. */
  readonly name?: string;
  /** Number columns are right-aligned, even if they contain text such as `3 of 20`. An estimate has an interval. */
  readonly kind?: 'text' | 'number' | 'estimate' | 'bar';
  /** Number format for people, with enough digits to tell numbers apart; CSV has all digits. */
  readonly format?: NumberFormat;
  /** Shown in bold on pages, for the main column of the table. */
  readonly strong?: boolean;
  /** On a terminal or page, leaves a cell empty if it and all grouped columns before it repeat the row above. */
  readonly grouped?: boolean;
  /** Pages also draw the estimates and their intervals. */
  readonly drawn?: IntervalAxis;
  readonly cell: (row: Row) => Cell;
}

type Cell = string | number | null | undefined | Estimate | MarkedText;

interface Estimate {
  readonly value: number;
  readonly interval: readonly [number, number] | null | undefined;
}

type Options<Row> = Omit<Column<Row>, 'title' | 'kind' | 'cell'>;
type Title = string | false;
type GetCell<Row> = Column<Row>['cell'];

/** A column of text; if the title is `false`, it appears only in CSV. */
export const text = <Row>(title: Title, cell: GetCell<Row>, options: Options<Row> = {}): Column<Row> => ({
  ...(title !== false && { title }),
  cell,
  ...options,
});

/** A column of numbers, or of text such as `3 of 20` that is aligned like numbers. */
export const number = <Row>(title: Title, cell: GetCell<Row>, options: Options<Row> = {}): Column<Row> => ({
  ...text(title, cell, options),
  kind: 'number',
});

/** A column of estimates, formatted as returns by default. */
export const estimate = <Row>(title: Title, cell: GetCell<Row>, options: Options<Row> = {}): Column<Row> => ({
  format: formatReturn,
  ...text(title, cell, options),
  kind: 'estimate',
});

/** A column of percentages. Pages show bars instead, with the percentage for screen readers. */
export const shareBar = <Row>(shareOf: (row: Row) => number): Column<Row> => ({
  ...text('', (row) => ({ text: `${Math.round(100 * shareOf(row))} %`, share: shareOf(row) }), {
    spoken: 'share',
  }),
  kind: 'bar',
});

/** A column that appears only in CSV. */
export const csvColumn = <Row>(name: string, cell: GetCell<Row>): Column<Row> => ({ name, cell });

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
  const table = readableTable(columns, rows, (text) => text.replaceAll(/\p{Cc}/gu, ' '));
  return fitTable(table, width);
}

/** A table in GitHub's Markdown: https://github.github.com/gfm/#tables-extension- */
export function markdownTable<Row>(rows: readonly Row[], columns: Columns<Row>): string {
  const ungrouped = columns.map((column) => ({ ...column, grouped: false }));
  const { titles, rightAligned, lines } = readableTable(ungrouped, rows, markdownText, markdownCode);
  const line = (texts: readonly string[]) => `| ${texts.join(' | ')} |`;
  const rule = rightAligned.map((isRight) => (isRight ? '--:' : '---'));
  return [line(titles), line(rule), ...lines.map(line)].join('\n');
}

/** A LaTeX table with the rules of the package booktabs. */
function latexTable<Row>(rows: readonly Row[], columns: Columns<Row>): string {
  const ungrouped = columns.map((column) => ({ ...column, grouped: false }));
  const { titles, rightAligned, lines } = readableTable(ungrouped, rows, (text) => text);
  const line = (texts: readonly string[]) => `${texts.map(latexText).join(' & ')} \\\\`;
  const align = rightAligned.map((isRight) => (isRight ? 'r' : 'l')).join('');
  return [
    ...[`\\begin{tabular}{${align}}`, '\\toprule', line(titles), '\\midrule'],
    ...[...lines.map(line), '\\bottomrule', '\\end{tabular}'],
  ].join('\n');
}

/** Tables for a paper or a spreadsheet. */
export const tableFormats = { markdown: markdownTable, latex: latexTable, csv: csvTable };

/** Comma-separated values (RFC 4180, but with line feeds). Numbers have all digits; missing values are empty. */
export function csvTable<Row>(rows: readonly Row[], columns: Columns<Row>): string {
  const named = columns.filter(({ name }) => name !== undefined);
  const header = named.flatMap(({ name, kind }) =>
    kind === 'estimate' ? [name, `${name}_low`, `${name}_high`] : [name],
  );
  const lineOf = (row: Row) => named.flatMap(({ kind, cell }) => csvCells(cell(row), kind === 'estimate'));
  return [header, ...rows.map(lineOf)].map((line) => `${line.map(csvText).join(',')}\n`).join('');
}

/** A table for a page, which the app draws. It scrolls horizontally if it is wide, and vertically if `tall`. */
export function pageTable<Row>(
  rows: readonly Row[],
  columns: Columns<Row>,
  { tall = false }: { readonly tall?: boolean } = {},
): Part {
  const shown = shownColumns(columns, rows);
  const data: TableData = {
    isTall: tall,
    columns: shown.map(({ drawn, kind = 'text', spoken, title = '' }, c) => ({
      drawn,
      kind,
      title,
      spoken: spoken ?? (c === 0 ? 'name' : 'value'),
    })),
    rows: rows.map((row, r) => {
      const repeated = repeatFlags(shown, rows, r);
      return shown.map((column, c) => ({
        ...pageCell(column, column.cell(row)),
        ...(repeated[c] && { isRepeated: true }),
      }));
    }),
  };
  return new Part('data-table', { ...data });
}

function pageCell<Row>({ asText, format = formatNumber, kind, strong }: ShownColumn<Row>, cell: Cell) {
  if (typeof cell === 'object' && cell !== null && 'text' in cell) return { ...cell, strong };
  const text = cellText(cell, asText);
  return {
    text,
    value: numberIn(cell),
    ...((strong || (kind === 'estimate' && text !== missingMark)) && { strong: true }),
    ...(typeof cell === 'object' &&
      cell !== null && { detail: intervalText(cell, format), interval: cell.interval }),
  };
}

/** The columns that people see. `asText` formats a column's numbers with enough digits to tell them apart. */
function shownColumns<Row>(columns: Columns<Row>, rows: readonly Row[]) {
  return columns
    .filter(({ title }) => title !== undefined)
    .map((column) => {
      const numbers = rows.map((row) => numberIn(column.cell(row)));
      return { ...column, asText: distinctFormat(numbers, column.format ?? formatNumber) };
    });
}

type ShownColumn<Row> = ReturnType<typeof shownColumns<Row>>[number];

function numberIn(cell: Cell): number | undefined {
  if (typeof cell === 'object' && cell !== null && 'value' in cell) return cell.value;
  return typeof cell === 'number' ? cell : undefined;
}

/** The table as text for people; an estimate's interval has its own column. */
function readableTable<Row>(
  columns: Columns<Row>,
  rows: readonly Row[],
  formatPlain: (text: string) => string,
  formatCode: (text: string) => string = formatPlain,
): TextTable {
  const shown = shownColumns(columns, rows);
  const isEstimate = ({ kind }: Column<Row>) => kind === 'estimate';
  const lines = rows.map((row, r) => {
    const repeated = repeatFlags(shown, rows, r);
    return shown.flatMap((column, c) => {
      const cell = column.cell(row);
      const isCode = typeof cell === 'object' && cell !== null && 'text' in cell && cell.code === true;
      const text = repeated[c] ? '' : (isCode ? formatCode : formatPlain)(cellText(cell, column.asText));
      return isEstimate(column) ? [text, formatInterval(intervalOf(cell), column.format)] : [text];
    });
  });
  return {
    titles: shown.flatMap((column) => [
      formatPlain(column.title!),
      ...(isEstimate(column) ? ['95 % interval'] : []),
    ]),
    rightAligned: shown.flatMap((column) =>
      isEstimate(column) ? [true, true] : [(column.kind ?? 'text') === 'number'],
    ),
    mergedWithPrevious: shown.flatMap((column) => (isEstimate(column) ? [false, true] : [false])),
    lines,
  };
}

function cellText(cell: Cell, format: (value: number) => string): string {
  if (cell === null || cell === undefined) return missingMark;
  if (typeof cell === 'string') return cell;
  if (typeof cell === 'number') return format(cell);
  if ('value' in cell) return format(cell.value);
  return cell.detail === undefined ? cell.text : `${cell.text} (${cell.detail})`;
}

const intervalOf = (cell: Cell) =>
  typeof cell === 'object' && cell !== null && 'value' in cell ? cell.interval : null;

/** Per column: true if it is grouped, and the row above has the same text in it and in all earlier grouped columns. */
function repeatFlags<Row>(
  columns: readonly ShownColumn<Row>[],
  rows: readonly Row[],
  r: number,
): readonly boolean[] {
  const [rowAbove, row] = [rows[r - 1], rows[r]!];
  let isSame = rowAbove !== undefined;
  return columns.map(({ grouped, cell, asText }) => {
    if (grouped !== true || rowAbove === undefined) return false;
    isSame &&= cellText(cell(rowAbove), asText) === cellText(cell(row), asText);
    return isSame;
  });
}

/** Puts text on one line, and escapes pipes (which would end the cell) and the backslashes before them. */
const markdownText = (text: string) =>
  text
    .replaceAll(/\s+/g, (run) => (/[\r\n]/.test(run) ? ' ' : run))
    .replaceAll(/(?<!\\)(\\*)\|/g, (_, slashes) => `${slashes}${slashes}\\|`);

const latexSigns: Readonly<Record<string, string>> = {
  '\\': '\\textbackslash{}',
  '~': '\\textasciitilde{}',
  '^': '\\textasciicircum{}',
  '…': '\\ldots{}',
  '±': '$\\pm$',
  '−': '$-$',
  '<': '$<$',
  '>': '$>$',
};

const latexText = (text: string) =>
  text.replaceAll(/\s+/g, ' ').replaceAll(/[{}$&#_%\\~^…±−<>]/g, (sign) => latexSigns[sign] ?? `\\${sign}`);

const markdownCode = (text: string) => (text === '' ? '' : `\`${markdownText(text.replaceAll('`', "'"))}\``);

function csvCells(cell: Cell, isEstimate: boolean): readonly (string | number | null | undefined)[] {
  const interval = intervalOf(cell) ?? [null, null];
  if (typeof cell !== 'object' || cell === null) return isEstimate ? [cell, ...interval] : [cell];
  return 'value' in cell ? [cell.value, ...interval] : [cell.text];
}

/** Start of a formula: spreadsheets ignore invisible characters before the sign, and accept full-width signs. */
const formulaStart = /^(?:[\t\r\n]|[\s\p{Cf}\p{Cc}]*[=+\-@＝＋－＠])/u;

/**
 * Puts an apostrophe before text that spreadsheets would run as a formula:
 * https://owasp.org/www-community/attacks/CSV_Injection
 */
function csvText(value: string | number | null | undefined): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number') return String(value);
  const isFormula = formulaStart.test(value) && Number.isNaN(Number(value));
  const text = isFormula ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const intervalText = ({ interval }: Estimate, format: NumberFormat) =>
  interval ? formatInterval(interval, format) : 'no interval';
