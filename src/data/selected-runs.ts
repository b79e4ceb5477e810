/** Which runs a query or an export is about, and an answer as it is printed. */
import { resolve } from 'node:path';
import { type ListedRun, listRuns, type RunPlaces } from '../archive/listing.js';
import { findRuns } from '../archive/names.js';
import { formatNumber } from '../format/numbers.js';
import { type Cell, csvTable, forMachines, number, terminalTable, text } from '../format/table.js';
import type { Answer, Value } from './query.js';

/**
 * The runs that names mean; all below the runs directory without any. Those whose manifest is damaged are left out.
 * @throws UserError where a name means no run
 */
export function selectRuns(names: readonly string[], places: RunPlaces): readonly ListedRun[] {
  const root = resolve(places.cwd, places.runsDir);
  if (names.length === 0) return listRuns(root).runs;
  const paths = new Set(findRuns(names, places));
  const below = listRuns(root).runs.filter(({ path }) => paths.delete(path));
  // Names may lead out of the runs directory.
  return [...below, ...[...paths].flatMap((path) => listRuns(path).runs)];
}

export function answerText(answer: Answer, format: 'table' | 'csv' | 'json', width?: number): string {
  const { columns, rows } = answer;
  if (format === 'json') {
    return JSON.stringify(rows.map((row) => Object.fromEntries(columns.map((name, i) => [name, row[i]]))));
  }
  const cell =
    (i: number) =>
    (row: readonly Value[]): Cell => {
      const value = row[i] ?? null;
      if (typeof value === 'boolean') return String(value);
      return typeof value === 'object' && value !== null ? JSON.stringify(value) : value;
    };
  if (format === 'csv')
    return csvTable(
      rows,
      columns.map((name, i) => forMachines(name, cell(i))),
    ).trimEnd();
  const isNumber = (i: number) => rows.every((row) => row[i] === null || typeof row[i] === 'number');
  const digits = (value: number) => (Number.isInteger(value) ? String(value) : formatNumber(value, 4));
  return terminalTable(
    rows,
    columns.map((name, i) => (isNumber(i) ? number(name, cell(i), { format: digits }) : text(name, cell(i)))),
    width,
  );
}
