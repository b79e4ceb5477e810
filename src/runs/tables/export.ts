/** Writes tables of runs as CSV or Parquet, and their curves as TensorBoard event files. */
import { appendFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer';
import { openDraft, writeAtomic } from '../../base/files/draft.js';
import { makeDirectory } from '../../base/files/files.js';
import { EventFile, type Scalars } from '../../base/files/tensorboard.js';
import { groupBy } from '../../base/grouped.js';
import { packageVersion } from '../../base/package.js';
import { csvColumn, csvTable } from '../../base/text/table.js';
import { largest, mean } from '../../statistics/descriptive.js';
import { listLines, type RunFolders } from '../listing/listing.js';
import { findRuns } from '../listing/names.js';
import { type LocatedRun, scanItems } from '../listing/scan.js';
import { openLogs } from '../reader.js';
import {
  type ColumnType,
  type ExportedRun,
  type RunTable,
  runTables,
  type TableName,
  type TableRow,
  withSettingColumns,
} from './rows.js';

export interface ExportedTable {
  readonly table: TableName;
  readonly file: string;
  readonly rows: number;
}

/**
 * The runs with these names: first those that `policyloop list` shows, in its order. Skips runs with damaged manifests.
 * @throws UserError if a name matches no run
 */
export function selectRuns(names: readonly string[], folders: RunFolders): readonly LocatedRun[] {
  const paths = new Set(findRuns(names, folders));
  const listedItems = listLines(folders)
    .lines.flatMap((line) => line.places)
    .filter(({ path }) => paths.delete(path));
  // Names may refer to paths outside the runs directory.
  const otherItems = [...paths].flatMap((path) => [...scanItems([{ path, prefix: '' }]).values()]);
  return [...listedItems, ...otherItems].filter((item): item is LocatedRun => item.summary !== undefined);
}

/** Writes one file per table into `directory`; replaces existing files once the new ones are complete. */
export async function exportRuns(
  runs: readonly ExportedRun[],
  format: 'csv' | 'parquet',
  directory: string,
): Promise<readonly ExportedTable[]> {
  makeDirectory(directory, '--out');
  const exportedTables: ExportedTable[] = [];
  for (const [name, baseTable] of Object.entries(runTables)) {
    const table = name === 'runs' ? withSettingColumns(baseTable, runs) : baseTable;
    const file = join(directory, `${name}.${format}`);
    const rowCount = await writeAtomic(file, async (draft) => {
      const writer = format === 'csv' ? csvWriter(table, draft) : parquetWriter(table, draft);
      let count = 0;
      for (const run of runs) {
        const rows = [...table.rowsOf(run)];
        count += rows.length;
        await writer.write(rows);
      }
      await writer.finish();
      return count;
    });
    exportedTables.push({ table: name as TableName, file, rows: rowCount });
  }
  return exportedTables;
}

interface TableWriter {
  write(rows: readonly TableRow[]): void | Promise<void>;
  finish(): void | Promise<void>;
}

function csvWriter(table: RunTable, file: string): TableWriter {
  const columns = table.columns.map(({ name }) => csvColumn(name, (row: TableRow) => row[name]));
  const header = csvTable<TableRow>([], columns);
  writeFileSync(file, header);
  return {
    write: (rows) => appendFileSync(file, csvTable(rows, columns).slice(header.length)),
    finish: () => undefined,
  };
}

const parquetTypes: Readonly<Record<ColumnType, Partial<SchemaElement>>> = {
  VARCHAR: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  INTEGER: { type: 'INT32' },
  BIGINT: { type: 'INT64' },
  DOUBLE: { type: 'DOUBLE' },
};

function parquetWriter({ columns }: RunTable, file: string): TableWriter {
  const writer = new ParquetWriter({
    writer: fileWriter(file),
    schema: [
      { name: 'schema', num_children: columns.length },
      ...columns.map(
        ({ name, type }): SchemaElement => ({ name, ...parquetTypes[type], repetition_type: 'OPTIONAL' }),
      ),
    ],
    createdBy: `policyloop ${packageVersion()}`,
  });
  const toStored = (value: TableRow[string] = null, type: ColumnType) =>
    type === 'BIGINT' && value !== null ? BigInt(value) : value;
  return {
    write: async (rows) => {
      if (rows.length === 0) return;
      await writer.write({
        columnData: columns.map(({ name, type }) => ({
          name,
          data: rows.map((row) => toStored(row[name], type)),
        })),
      });
    },
    finish: async () => {
      await writer.finish();
    },
  };
}

interface CurvePoint {
  readonly kind: 'start' | 'evaluation' | 'iteration' | 'result';
  /** Number of the iteration. */
  readonly step: number;
  /** ISO 8601. */
  readonly time: string;
  readonly values: Scalars;
}

export interface ExportedCurves {
  readonly run: string;
  readonly file: string;
  readonly values: number;
}

/**
 * Writes the curves of each run into a folder below `directory`, replacing earlier files.
 * @returns the folders, and the number of values in each
 */
export function exportEventFiles(runs: readonly LocatedRun[], directory: string): readonly ExportedCurves[] {
  return runs.map((run) => {
    const { name } = run.item;
    const folder = join(directory, name);
    const draft = openDraft(join(folder, 'events'));
    try {
      const events = new EventFile<CurvePoint>(draft.path, (point) => point.values);
      let valueCount = 0;
      for (const point of pointsOf(run)) {
        events.add(point);
        valueCount += Object.values(point.values).filter((value) => value !== undefined).length;
      }
      events.close();
      const [newFile] = readdirSync(draft.path);
      // Remove the files of an earlier export, which TensorBoard would read as the start of the curves.
      const oldFiles = readdirSync(folder).filter(
        (oldFile) => oldFile.startsWith('events.out.tfevents.') && oldFile !== newFile,
      );
      renameSync(join(draft.path, newFile!), join(folder, newFile!));
      for (const oldFile of oldFiles) rmSync(join(folder, oldFile));
      return { run: name, file: folder, values: valueCount };
    } finally {
      draft.discard();
    }
  });
}

/**
 * Yields an empty point for the start, then a point for each iteration with scores, at the time when it ended
 * (for the warm-up, when the run started). A confirmed return gets another point, at the last of these iterations.
 */
function* pointsOf(run: LocatedRun): Generator<CurvePoint> {
  const { entries, events } = openLogs(run.path, true);
  const times = new Map<number, string>();
  for (const event of events) if (event.kind === 'iteration-finished') times.set(event.iteration, event.time);
  const { ci95, confirmed, started } = run.item;
  const timeOf = (iteration: number) => times.get(iteration) ?? started!;
  yield { kind: 'start', step: 0, time: started!, values: {} };
  let best = Number.NEGATIVE_INFINITY;
  let lastIteration = 0;
  for (const [iteration, group] of groupBy(entries, (entry) => entry.iteration)) {
    const scores = group.map(({ score }) => score);
    const highest = largest(scores);
    best = Math.max(best, highest);
    lastIteration = iteration;
    const values = {
      'return/best so far': best,
      'return/best of iteration': highest,
      'return/mean of iteration': mean(scores),
    };
    yield { kind: 'iteration', step: iteration, time: timeOf(iteration), values };
  }
  if (confirmed === null) return;
  const values = { 'confirmed/mean': confirmed, 'confirmed/low': ci95?.[0], 'confirmed/high': ci95?.[1] };
  yield { kind: 'result', step: lastIteration, time: timeOf(lastIteration), values };
}
