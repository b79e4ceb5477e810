/** Rows of a resumable measurement: JSON Lines, compressed because they are stored in the repository. */
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';

/** Rows of a file, none if it doesn't exist. */
export const readRows = <Row>(file: string): readonly Row[] =>
  existsSync(file)
    ? gunzipSync(readFileSync(file))
        .toString()
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Row)
    : [];

/** Appends a member; `gunzip | gzip` makes one of them all. */
export function appendRow(file: string, row: object): void {
  mkdirSync(dirname(file), { recursive: true });
  appendFileSync(file, gzipSync(`${JSON.stringify(row)}\n`));
}

/** Six digits are enough for a table, and keep committed rows small. */
export const rounded = (values: readonly number[]): readonly number[] =>
  values.map((value) => Number(value.toPrecision(6)));
