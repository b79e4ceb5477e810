/** Rows of a resumable measurement: JSON Lines, compressed because they are stored in the repository. */
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';

/** Reads the rows of a file; none if it doesn't exist. */
export const readRows = <Row>(file: string): readonly Row[] =>
  existsSync(file)
    ? gunzipSync(readFileSync(file))
        .toString()
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Row)
    : [];

/** Appends a gzip member; `gunzip | gzip` merges all members into one. */
export function appendRow(file: string, row: object): void {
  mkdirSync(dirname(file), { recursive: true });
  appendFileSync(file, gzipSync(`${JSON.stringify(row)}\n`));
}

/** Rounds to six digits, which are enough for a table and keep committed rows small. */
export const rounded = (values: readonly number[]): readonly number[] =>
  values.map((value) => Number(value.toPrecision(6)));
