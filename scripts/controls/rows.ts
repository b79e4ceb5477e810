/** Rows of a measurement that goes on where it stopped. */
import { appendFileSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { readJsonLines } from '../../src/storage/json-lines.js';

/** Rows of a file, none where it is not there; a torn last line is cut. */
export const readRows = <Row>(file: string): readonly Row[] =>
  readJsonLines<Row>(file, { repair: true }) ?? [];

export function appendRow(file: string, row: object): void {
  mkdirSync(dirname(file), { recursive: true });
  appendFileSync(file, `${JSON.stringify(row)}\n`);
}

/** Six digits are enough for a table, and keep committed rows small. */
export const rounded = (values: readonly number[]): readonly number[] =>
  values.map((value) => Number(value.toPrecision(6)));
