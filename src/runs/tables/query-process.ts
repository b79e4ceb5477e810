/** The process that answers SQL queries, one at a time, and exits if a query uses too much memory. */

import { closeSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import type { DuckDBConnection } from '@duckdb/node-api';
import { append } from '../../base/append.js';
import { messageOf, nearest, problemsOf, UserError } from '../../base/errors.js';
import { longestLine } from '../../storage/json-lines.js';
import { openRegularFile } from '../../storage/regular-file.js';
import { purposeSql } from '../calls.js';
import { runFiles } from '../reader.js';
import {
  type Answer,
  beyond,
  type QueriedRun,
  type QueryReply,
  type QueryRequest,
  type Value,
} from './query.js';
import { type TableName, tables } from './rows.js';

/**
 * Answers one SELECT.
 * @param mostRows maximum number of rows; larger results are refused
 * @param mostBytes DuckDB's memory limit, which doesn't cover values that functions create
 * @throws UserError without DuckDB, for anything other than a SELECT on these tables, and for errors from DuckDB
 */
export async function answerOf(
  sql: string,
  runs: readonly QueriedRun[],
  { mostBytes, mostRows }: { readonly mostBytes: number; readonly mostRows: number },
): Promise<Answer> {
  const { DuckDBInstance } = await loadDuckDB();
  const instance = await DuckDBInstance.create(':memory:', {
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    memory_limit: `${mostBytes}B`,
    temp_directory: '',
    threads: '2',
  });
  const connection = await instance.connect();
  try {
    const wanted = await tablesIn(sql, connection);
    const files = await makeTables(wanted, runs, connection);
    await shut(files, connection);
    const read = await connection.streamAndReadUntil(sql, mostRows + 1);
    if (read.currentRowCount > mostRows)
      throw new UserError({
        ...{ field: 'sql', value: sql, message: `returns more than ${mostRows} rows` },
        remedy: 'aggregate them, or add LIMIT; policyloop export writes whole tables',
      });
    const isWhole = read.columnTypes().map((type) => wholeTypes.has(String(type)));
    const rows = read.getRowsJson() as Value[][];
    return {
      columns: distinct(read.columnNames()),
      rows: rows.map((row) => row.map((value, i) => (isWhole[i] ? plain(value) : value))),
    };
  } catch (error) {
    throw error instanceof UserError ? error : refused(sql, messageOf(error));
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

/** Makes column names unique (the second `x` becomes `x_2`), so no value is lost when rows become objects. */
function distinct(names: readonly string[]): readonly string[] {
  const taken = new Set(names);
  const used = new Set<string>();
  return names.map((name) => {
    let own = name;
    for (let n = 2; used.has(own); n++) own = taken.has(`${name}_${n}`) ? own : `${name}_${n}`;
    used.add(own);
    return own;
  });
}

async function loadDuckDB() {
  try {
    return await import('@duckdb/node-api');
  } catch {
    throw new UserError({
      message: 'queries need the package @duckdb/node-api, which is not installed',
      remedy: 'run npm install @duckdb/node-api, or use policyloop export RUNS, which works without it',
    });
  }
}

/** Types whose values arrive as text because JavaScript can't represent all of them. */
const wholeTypes = new Set(['BIGINT', 'UBIGINT', 'HUGEINT', 'UHUGEINT']);

const plain = (value: Value): Value =>
  Number.isSafeInteger(Number(value)) && value !== null ? Number(value) : value;

const refused = (sql: string, message: string) =>
  new UserError({
    ...{ field: 'sql', value: sql, message: message.split('\n\nLINE')[0]! },
    remedy: 'see docs/runs.md for the tables, their columns and example queries',
  });

/** Table functions that read no files. */
const harmlessFunctions = new Set(['range', 'generate_series', 'unnest']);

type Node = Readonly<Record<string, unknown>>;

/**
 * The tables that a query reads, from its syntax tree.
 * @throws UserError for anything but one SELECT, for unknown tables, and for table functions other than
 * `harmlessFunctions`
 */
async function tablesIn(sql: string, connection: DuckDBConnection): Promise<ReadonlySet<TableName>> {
  const read = await connection.runAndReadAll('SELECT json_serialize_sql($1::VARCHAR)', [sql]);
  const tree = JSON.parse(String(read.getRowsJson()[0]![0])) as {
    readonly error: boolean;
    readonly error_message?: string;
    readonly statements?: readonly unknown[];
  };
  if (tree.error) throw refused(sql, tree.error_message ?? 'not a SELECT statement');
  if (tree.statements?.length !== 1) throw refused(sql, 'must be exactly one SELECT');
  const nodes = [...nodesIn(tree.statements)];
  const known = Object.keys(tables) as TableName[];
  // Names defined by WITH are local to the query.
  const own = new Set(nodes.flatMap(({ cte_map }) => cteNames(cte_map)));
  const found = new Set<TableName>();
  for (const { function: call, schema_name, table_name, type } of nodes) {
    if (type === 'TABLE_FUNCTION') {
      const { function_name: name } = call as Node;
      if (!harmlessFunctions.has(String(name))) throw refused(sql, `a query may not call ${String(name)}`);
    }
    if (type !== 'BASE_TABLE' || own.has(String(table_name).toLowerCase())) continue;
    const name = known.find((one) => one === String(table_name).toLowerCase());
    if (name === undefined || schema_name !== '') throw noTable(String(table_name), known);
    found.add(name);
  }
  return found;
}

const cteNames = (map: unknown): readonly string[] =>
  ((map as { readonly map?: readonly { readonly key: string }[] } | undefined)?.map ?? []).map(({ key }) =>
    key.toLowerCase(),
  );

function noTable(name: string, known: readonly TableName[]): UserError {
  const near = nearest(name, known);
  return new UserError({
    ...{ field: 'sql', value: name, message: 'unknown table' },
    alternatives: known,
    ...(near && { remedy: `did you mean ${near}?` }),
  });
}

function* nodesIn(value: unknown): Generator<Node, void> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) yield value as Node;
  for (const inner of Object.values(value)) yield* nodesIn(inner);
}

/** @throws UserError for a link, pipe or folder in place of a log */
function isReadable(file: string): boolean {
  if (!existsSync(file)) return false;
  closeSync(openRegularFile(file, 'refuse').descriptor);
  return true;
}

/** Creates the tables that a query needs. @returns the files that the query will read */
async function makeTables(
  wanted: ReadonlySet<TableName>,
  runs: readonly QueriedRun[],
  connection: DuckDBConnection,
): Promise<readonly string[]> {
  await makeRuns(runs, connection);
  const isPlay = (run: QueriedRun) => run.isPlay;
  const files = (log: 'evaluations' | 'episodes' | 'calls', of = runs) =>
    of.map(({ path }) => join(path, runFiles[log])).filter(isReadable);
  const read: string[] = [];
  const lines = (
    log: 'evaluations' | 'episodes' | 'calls',
    fields: Readonly<Record<string, string>>,
    of = runs,
  ) => {
    const own = files(log, of);
    append(read, own);
    const columns = Object.entries(fields);
    if (own.length === 0) {
      const none = columns.map(([name, type]) => `NULL::${type} AS "${name}"`);
      return `(SELECT '' AS run, 0 AS done, ${none.join(', ')} WHERE false)`;
    }
    const list = own.map(quoted).join(', ');
    const types = columns.map(([name, type]) => `"${name}": ${quoted(type)}`).join(', ');
    return `(SELECT f.run, f.done, l.* EXCLUDE (filename) FROM read_ndjson([${list}], columns = {${types}}, filename = true, ignore_errors = true, maximum_object_size = ${longestLine}) l JOIN files f ON l.filename = f."${log}")`;
  };
  const place = { iteration: 'INTEGER', candidate: 'INTEGER' };
  const evaluated = { ...place, returns: 'DOUBLE[]', lengths: 'INTEGER[]' };
  const selects: Readonly<Record<Exclude<TableName, 'runs'>, () => string>> = {
    evaluations: () =>
      `SELECT run, iteration, candidate, source, revises, feedback.rating AS rating, feedback.remark AS remark, score, len(returns)::INTEGER AS episodes, planned, list_min(returns) AS lowest, list_max(returns) AS highest, list_sum(lengths)::BIGINT AS steps, CASE WHEN program IS NULL THEN parameters ELSE parameters[2:] END AS parameters, program, CASE WHEN program IS NOT NULL THEN lpad(lower(to_hex(parameters[1]::UBIGINT)), 12, '0') END AS structure FROM ${lines('evaluations', { ...evaluated, source: 'VARCHAR', revises: 'INTEGER', feedback: 'STRUCT(rating INTEGER, remark VARCHAR)', score: 'DOUBLE', planned: 'INTEGER', parameters: 'DOUBLE[]', program: 'VARCHAR' })} WHERE iteration <= done`,
    episodes: () =>
      `SELECT run, iteration, candidate, (generate_subscripts(returns, 1) - 1)::INTEGER AS episode, unnest(returns) AS "return", unnest(lengths) AS length FROM ${lines('evaluations', evaluated)} WHERE iteration <= done UNION ALL SELECT run, iteration, candidate, episode, "return", length FROM ${lines('episodes', { ...place, episode: 'INTEGER', return: 'DOUBLE', length: 'INTEGER' }, runs.filter(isPlay))}`,
    calls: () =>
      `SELECT run, iteration, candidate, attempt, time, ${purposeSql} AS purpose, member, coalesce(behind, 0) AS behind, outcome.kind AS outcome, coalesce(outcome.failure.kind, outcome.error) AS fault, outcome.moved.distance AS moved, outcome.predicted AS predicted, completion.usage.promptTokens AS prompt_tokens, completion.usage.cachedTokens AS cached_tokens, completion.usage.completionTokens AS completion_tokens, coalesce(completion.latencyMs, outcome.latencyMs) AS latency_ms, coalesce(completion.retries, outcome.retries) AS retries, cost, completion.text AS reply FROM ${lines(
        'calls',
        {
          ...place,
          attempt: 'INTEGER',
          purpose: 'VARCHAR',
          member: 'VARCHAR',
          behind: 'INTEGER',
          time: 'TIMESTAMP',
          outcome:
            'STRUCT(kind VARCHAR, failure STRUCT(kind VARCHAR), moved STRUCT(distance DOUBLE), predicted DOUBLE, error VARCHAR, latencyMs DOUBLE, retries INTEGER)',
          completion:
            'STRUCT("text" VARCHAR, usage STRUCT(promptTokens BIGINT, cachedTokens BIGINT, completionTokens BIGINT), latencyMs DOUBLE, retries INTEGER)',
          cost: 'DOUBLE',
        },
      )}`,
    steps: () =>
      `SELECT run, iteration, candidate, episode, (generate_subscripts(rewards, 1) - 1)::INTEGER AS step, unnest(observations[:len(rewards)]) AS observation, unnest(actions) AS action, unnest(rewards) AS reward FROM ${lines(
        'episodes',
        { ...place, episode: 'INTEGER', observations: 'JSON[]', actions: 'JSON[]', rewards: 'DOUBLE[]' },
        runs.filter((run) => !isPlay(run)),
      )} WHERE iteration <= done`,
  };
  for (const name of wanted)
    if (name !== 'runs') await connection.run(`CREATE VIEW ${name} AS ${selects[name]()}`);
  return read;
}

/** Creates the table `runs`, from the manifests, and the table `files`, which locates the logs of each run. */
async function makeRuns(runs: readonly QueriedRun[], connection: DuckDBConnection): Promise<void> {
  const columns = tables.runs.map(({ name, type }) => `"${name}" ${type}`).join(', ');
  await connection.run(`CREATE TABLE runs (${columns})`);
  await connection.run(
    'CREATE TABLE files (run VARCHAR, done INTEGER, evaluations VARCHAR, episodes VARCHAR, calls VARCHAR)',
  );
  const types = Object.fromEntries(tables.runs.map(({ name, type }) => [name, type]));
  const fileTypes = {
    run: 'VARCHAR',
    done: 'INTEGER',
    evaluations: 'VARCHAR',
    episodes: 'VARCHAR',
    calls: 'VARCHAR',
  };
  await insert(
    'runs',
    runs.map(({ row }) => row),
    types,
    connection,
  );
  const files = runs.map(({ done, path, row }) => ({
    ...{ run: row.run, done },
    evaluations: join(path, runFiles.evaluations),
    episodes: join(path, runFiles.episodes),
    calls: join(path, runFiles.calls),
  }));
  await insert('files', files, fileTypes, connection);
}

/** Inserts rows as JSON in one statement. */
async function insert(
  table: string,
  rows: readonly object[],
  types: Readonly<Record<string, string>>,
  connection: DuckDBConnection,
): Promise<void> {
  if (rows.length === 0) return;
  const shape = JSON.stringify([types]);
  await connection.run(
    `INSERT INTO ${table} SELECT unnest(from_json($1::JSON, ${quoted(shape)}), recursive := true)`,
    [JSON.stringify(rows)],
  );
}

/** Locks the connection: only these files can be read, and nothing can be written, loaded or set. */
async function shut(files: readonly string[], connection: DuckDBConnection): Promise<void> {
  await connection.run(`SET allowed_paths = [${[...new Set(files)].map(quoted).join(', ')}]`);
  await connection.run('SET enable_external_access = false');
  await connection.run('SET lock_configuration = true');
}

const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;

/** Milliseconds between checks of memory use. Queries don't block the checks, because DuckDB has its own threads. */
const lookEvery = 5;

const isReady = ({ memory }: QueryRequest['limits']) => process.memoryUsage.rss() < memory / 2;

const reply = (said: QueryReply) => process.send?.(said);

process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
process.on('message', async ({ limits, runs, sql }: QueryRequest) => {
  const tooLarge = beyond(sql, `uses more than ${limits.memory / 2 ** 20} MiB of memory`);
  const look = setInterval(() => {
    if (process.memoryUsage.rss() > limits.memory)
      process.send?.(tooLarge, () => process.kill(process.pid, 'SIGKILL'));
  }, lookEvery);
  try {
    const within = { mostRows: limits.rows, mostBytes: 0.6 * limits.memory };
    const text = JSON.stringify(await answerOf(sql, runs, within));
    if (Buffer.byteLength(text) > limits.bytes)
      reply(beyond(sql, `returns more than ${limits.bytes / 2 ** 20} MiB`));
    else reply({ kind: 'answer', text, isReady: isReady(limits) });
  } catch (error) {
    const problems = problemsOf(error);
    const isMemory = problems[0]?.message.startsWith('Out of Memory');
    reply(isMemory ? tooLarge : { kind: 'problems', problems, isReady: isReady(limits) });
  } finally {
    clearInterval(look);
  }
});
