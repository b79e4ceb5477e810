/**
 * Answers SQL queries on a directory of runs, in a separate process whose memory can be limited: no DuckDB setting
 * limits the memory of values that functions create.
 */
import type { ChildProcess } from 'node:child_process';
import { resolve } from 'node:path';
import { type Problem, UserError } from '../../base/errors.js';
import { formatNumber } from '../../format/numbers.js';
import { type Cell, csvTable, forMachines, number, terminalTable, text } from '../../format/table.js';
import { startProcess } from '../../storage/thread.js';
import { type ListedRun, listRuns, type RunPlaces } from '../listing/listing.js';
import { findRuns } from '../listing/names.js';
import { type Row, runRow } from './rows.js';

/** A JSON value; integers that JavaScript can't represent exactly are strings. */
export type Value = string | number | boolean | null | readonly Value[] | { readonly [key: string]: Value };

export interface Answer {
  /** Column names, without duplicates. */
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Value[])[];
}

export interface QueriedRun {
  /** Row in the table `runs`. */
  readonly row: Row;
  readonly path: string;
  /** Complete iterations. */
  readonly done: number;
  readonly isPlay: boolean;
}

export interface QueryRequest {
  readonly sql: string;
  readonly runs: readonly QueriedRun[];
  readonly limits: typeof queryLimits;
}

/** `isReady`: the process can take another query. */
export type QueryReply = { readonly isReady: boolean } & (
  | {
      readonly kind: 'answer';
      /** An `Answer` as JSON. */
      readonly text: string;
    }
  | { readonly kind: 'problems'; readonly problems: readonly Problem[] }
);

const queryLimits = {
  rows: 1_000_000,
  /** Maximum size of the answer as JSON. */
  bytes: 64 * 2 ** 20,
  /** Memory limit of the whole process. */
  memory: 512 * 2 ** 20,
  seconds: 60,
} as const;

/** An idle process, kept for the next query because starting a process takes time. */
let spare: ChildProcess | undefined;

/**
 * @param sql one SELECT
 * @throws UserError without DuckDB, for anything other than a SELECT on these tables, for errors from DuckDB,
 * and if a limit is exceeded
 */
export async function query(sql: string, runs: readonly ListedRun[]): Promise<Answer> {
  const child =
    spare ??
    startProcess(new URL('./query-process', import.meta.url), {
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      serialization: 'advanced',
    });
  spare = undefined;
  child.ref();
  child.channel?.ref();
  const reply = await replyOf(child, { sql, runs: runs.map(queriedRun), limits: queryLimits });
  if (reply.isReady) {
    spare = child;
    child.unref();
    child.channel?.unref();
  } else child.kill('SIGKILL');
  if (reply.kind === 'answer') return JSON.parse(reply.text) as Answer;
  throw new UserError(reply.problems);
}

const queriedRun = (run: ListedRun): QueriedRun => {
  const { manifest, path } = run;
  return { row: runRow(run), path, done: manifest.iterations.done, isPlay: manifest.play !== undefined };
};

function replyOf(child: ChildProcess, request: QueryRequest): Promise<QueryReply> {
  return new Promise((resolve) => {
    const end = (reply: QueryReply) => {
      clearTimeout(timer);
      child.off('message', end).off('exit', onExit).off('error', onExit);
      resolve(reply);
    };
    const onExit = () => end(beyond(request.sql, 'made the query process exit'));
    const late = () => end(beyond(request.sql, `takes longer than ${queryLimits.seconds} s`));
    const timer = setTimeout(late, 1000 * queryLimits.seconds);
    child.on('message', end).on('exit', onExit).on('error', onExit);
    child.send(request);
  });
}

export const beyond = (sql: string, message: string): QueryReply => ({
  ...{ isReady: false, kind: 'problems' },
  problems: [{ field: 'sql', value: sql, message, remedy: 'query fewer runs, aggregate, or add LIMIT' }],
});

/**
 * The runs with these names or, without names, all below the runs directory. Skips runs with a damaged manifest.
 * @throws UserError if a name matches no run
 */
export function selectRuns(names: readonly string[], places: RunPlaces): readonly ListedRun[] {
  const root = resolve(places.cwd, places.runsDir);
  if (names.length === 0) return listRuns(root).runs;
  const paths = new Set(findRuns(names, places));
  const below = listRuns(root).runs.filter(({ path }) => paths.delete(path));
  // Names may refer to paths outside the runs directory.
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
