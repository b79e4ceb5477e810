/** Writes tables of runs as CSV or Parquet, a run at a time. */
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer';
import type { ListedRun } from '../archive/listing.js';
import { version } from '../base/package.js';
import { csvTable, forMachines } from '../format/table.js';
import { writeWhole } from '../storage/draft.js';
import { makeDirectory } from '../storage/files.js';
import { type ColumnType, tables } from './columns.js';
import { type Row, rowsOf, runRow } from './rows.js';

export const exportFormats = ['csv', 'parquet'] as const;
export type ExportFormat = (typeof exportFormats)[number];

const exported = ['runs', 'evaluations', 'episodes', 'calls'] as const;

export interface ExportedTable {
  readonly table: (typeof exported)[number];
  readonly file: string;
  readonly rows: number;
}

/** Writes a file for each table into `directory`; those that are there are replaced, each once it is complete. */
export async function exportRuns(
  runs: readonly ListedRun[],
  format: ExportFormat,
  directory: string,
): Promise<readonly ExportedTable[]> {
  makeDirectory(directory, '--out');
  const written: ExportedTable[] = [];
  for (const table of exported) {
    const file = join(directory, `${table}.${format}`);
    const rows = await writeWhole(file, async (draft) => {
      const writer = format === 'csv' ? csvWriter(table, draft) : parquetWriter(table, draft);
      let count = 0;
      for (const run of runs) {
        const own = table === 'runs' ? [runRow(run)] : [...rowsOf(table, run)];
        count += own.length;
        await writer.write(own);
      }
      await writer.finish();
      return count;
    });
    written.push({ table, file, rows });
  }
  return written;
}

interface TableWriter {
  write(rows: readonly Row[]): void | Promise<void>;
  finish(): void | Promise<void>;
}

/** Lists are JSON. */
const flat = (value: Row[string]): string | number | null =>
  typeof value === 'object' && value !== null ? JSON.stringify(value) : (value ?? null);

function csvWriter(table: ExportedTable['table'], file: string): TableWriter {
  const columns = tables[table].map(({ name }) => forMachines(name, (row: Row) => flat(row[name] ?? null)));
  const header = csvTable<Row>([], columns);
  writeFileSync(file, header);
  return {
    write: (rows) => appendFileSync(file, csvTable(rows, columns).slice(header.length)),
    finish: () => undefined,
  };
}

const parquetTypes: Readonly<Record<ColumnType, Partial<SchemaElement>>> = {
  VARCHAR: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  TIMESTAMP: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  JSON: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  'DOUBLE[]': { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  'VARCHAR[]': { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  INTEGER: { type: 'INT32' },
  BIGINT: { type: 'INT64' },
  DOUBLE: { type: 'DOUBLE' },
};

function parquetWriter(table: ExportedTable['table'], file: string): TableWriter {
  const columns = tables[table];
  const writer = new ParquetWriter({
    writer: fileWriter(file),
    schema: [
      { name: 'schema', num_children: columns.length },
      ...columns.map(
        ({ name, type }): SchemaElement => ({ name, ...parquetTypes[type], repetition_type: 'OPTIONAL' }),
      ),
    ],
    createdBy: `policyloop ${version()}`,
  });
  const asStored = (value: Row[string], type: ColumnType) => {
    const own = flat(value);
    return type === 'BIGINT' && typeof own === 'number' ? BigInt(own) : own;
  };
  return {
    write: async (rows) => {
      if (rows.length === 0) return;
      await writer.write({
        columnData: columns.map(({ name, type }) => ({
          name,
          data: rows.map((row) => asStored(row[name] ?? null, type)),
        })),
      });
    },
    finish: async () => {
      await writer.finish();
    },
  };
}
