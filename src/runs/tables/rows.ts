/** The tables of `export`: their columns (see docs/reference/run-files.md), and the rows of a run. */

import type { BufferEntry } from '../../rollout/replay-buffer.js';
import { largest, smallest } from '../../statistics/descriptive.js';
import type { CallRecord } from '../calls.js';
import type { GameRecord } from '../events.js';
import { fieldOf } from '../listing/fields.js';
import type { LocatedRun } from '../listing/scan.js';
import { structureText } from '../program-text.js';
import { openLogs } from '../reader.js';

/** SQL names of the types in a Parquet file. Lists are JSON, and times ISO 8601. */
export type ColumnType = 'VARCHAR' | 'INTEGER' | 'BIGINT' | 'DOUBLE';

interface Column<T> {
  readonly type: ColumnType;
  readonly get: (record: T) => string | number | null | undefined;
}

const columnOf =
  (type: ColumnType) =>
  <T>(get: Column<T>['get']): Column<T> => ({ type, get });
const text = columnOf('VARCHAR');
const integer = columnOf('INTEGER');
const bigint = columnOf('BIGINT');
const double = columnOf('DOUBLE');

export type TableRow = Readonly<Record<string, string | number | null>>;

export interface RunTable {
  readonly columns: readonly { readonly name: string; readonly type: ColumnType }[];
  readonly rowsOf: (run: ExportedRun) => Iterable<TableRow>;
}

/** @param recordsOf returns one record per row; skips broken lines */
function defineTable<T>(
  columns: Readonly<Record<string, Column<T>>>,
  recordsOf: (run: ExportedRun) => Iterable<T>,
): RunTable {
  const entries = Object.entries(columns);
  return {
    columns: [{ name: 'run', type: 'VARCHAR' }, ...entries.map(([name, { type }]) => ({ name, type }))],
    *rowsOf(run) {
      for (const record of recordsOf(run))
        yield {
          run: run.item.name,
          ...Object.fromEntries(entries.map(([name, { get }]) => [name, get(record) ?? null])),
        };
    },
  };
}

interface RowPosition {
  readonly iteration: number;
  readonly candidate: number;
}

/** A run to export, with the settings of its config. */
export interface ExportedRun extends LocatedRun {
  /** Name of the run's group, as in `policyloop compare`; null if the config can't be read. */
  readonly group: string | null;
}

const positionColumns = {
  iteration: integer(({ iteration }: RowPosition) => iteration),
  candidate: integer(({ candidate }: RowPosition) => candidate),
};

type Episode = Pick<GameRecord, 'candidate' | 'episode' | 'iteration' | 'length' | 'return'>;

function* episodesOf({ path, summary }: LocatedRun): Generator<Episode> {
  const { entries, episodes } = openLogs(path, true);
  for (const { candidate, iteration, lengths, returns } of entries)
    for (const [episode, episodeReturn] of returns.entries())
      yield { iteration, candidate, episode, return: episodeReturn, length: lengths[episode]! };
  // The episodes of an agent run are recorded as games.
  if (summary.manifest.play !== undefined) yield* episodes as Iterable<unknown> as Iterable<GameRecord>;
}

const usageOf = ({ completion }: CallRecord) => completion?.usage;

/** Returns the part of a call that holds its time and retries: the completion or, for a failed call, the outcome. */
const callStatsOf = ({ completion, outcome }: CallRecord) =>
  completion ?? (outcome.kind === 'error' ? outcome : undefined);

function faultOf({ outcome }: CallRecord): string | undefined {
  if (outcome.kind === 'rejected') return outcome.failure.kind;
  return outcome.kind === 'error' ? outcome.error : undefined;
}

export const runTables = {
  runs: defineTable<ExportedRun>(
    {
      group: text(({ group }) => group),
      environment: text(({ item }) => item.environment),
      model: text(({ summary }) => summary.manifest.model),
      seed: bigint(({ item }) => item.seed),
      status: text(({ item }) => item.status),
      iterations: integer(({ item }) => item.done),
      planned: integer(({ item }) => item.of),
      best: double(({ item }) => item.observed),
      confirmed: double(({ item }) => item.confirmed),
      confirmed_low: double(({ item }) => item.ci95?.[0]),
      confirmed_high: double(({ item }) => item.ci95?.[1]),
      calls: integer(({ item }) => item.calls),
      failed_calls: integer(({ summary }) => summary.manifest.usage.errors),
      prompt_tokens: bigint(({ summary }) => summary.manifest.usage.promptTokens),
      cached_tokens: bigint(({ summary }) => summary.manifest.usage.cachedTokens),
      completion_tokens: bigint(({ summary }) => summary.manifest.usage.completionTokens),
      cost: double(({ item }) => item.cost),
      minutes: double(({ item }) => item.minutes),
      started: text(({ item }) => item.started),
      tags: text(({ item }) => JSON.stringify(item.tags)),
    },
    (run) => [run],
  ),
  evaluations: defineTable<BufferEntry>(
    {
      ...positionColumns,
      source: text(({ source }) => source),
      revises: integer(({ revises }) => revises),
      score: double(({ score }) => score),
      episodes: integer(({ returns }) => returns.length),
      lowest: double(({ returns }) => smallest(returns)),
      highest: double(({ returns }) => largest(returns)),
      steps: bigint(({ lengths }) => lengths.reduce((sum, length) => sum + length, 0)),
      parameters: text(({ parameters, program }) =>
        JSON.stringify(program === undefined ? parameters : parameters.slice(1)),
      ),
      program: text(({ program }) => program),
      structure: text(({ parameters, program }) => program && structureText(parameters)),
    },
    ({ path }) => openLogs(path, true).entries,
  ),
  episodes: defineTable<Episode>(
    {
      ...positionColumns,
      episode: integer(({ episode }) => episode),
      return: double((episode) => episode.return),
      length: integer(({ length }) => length),
    },
    episodesOf,
  ),
  calls: defineTable<CallRecord>(
    {
      ...positionColumns,
      attempt: integer(({ attempt }) => attempt),
      time: text(({ time }) => time),
      purpose: text(({ purpose }) => purpose),
      member: text(({ member }) => member),
      outcome: text(({ outcome }) => outcome.kind),
      fault: text(faultOf),
      predicted: double(({ outcome }) => (outcome.kind === 'accepted' ? outcome.predicted : undefined)),
      prompt_tokens: bigint((call) => usageOf(call)?.promptTokens),
      cached_tokens: bigint((call) => usageOf(call)?.cachedTokens),
      completion_tokens: bigint((call) => usageOf(call)?.completionTokens),
      latency_ms: double((call) => callStatsOf(call)?.latencyMs),
      retries: integer((call) => callStatsOf(call)?.retries),
      cost: double(({ cost }) => cost),
      reply: text(({ completion }) => completion?.text),
    },
    ({ path }) => openLogs(path, true).calls,
  ),
};

/** Adds a column for each config key that varies. */
export function withSettingColumns({ columns, rowsOf }: RunTable, runs: readonly ExportedRun[]): RunTable {
  const keys = [...new Set(runs.flatMap(({ item }) => Object.keys(item.settings ?? {})))].toSorted();
  const settingIn = ({ item }: LocatedRun, key: string) => fieldOf(key).get(item);
  const settingColumns = keys
    .filter((key) => new Set(runs.map((run) => settingIn(run, key))).size > 1)
    .map((key) => {
      const areNumbers = runs.every((run) => typeof (settingIn(run, key) ?? 0) === 'number');
      return { key, name: `config.${key}`, type: areNumbers ? ('DOUBLE' as const) : ('VARCHAR' as const) };
    });
  return {
    columns: [...columns, ...settingColumns],
    *rowsOf(run) {
      const settings = settingColumns.map(({ key, name, type }) => {
        const value = type === 'DOUBLE' ? settingIn(run, key) : run.item.settings?.[key];
        return [name, value ?? null] as const;
      });
      for (const row of rowsOf(run)) yield { ...row, ...Object.fromEntries(settings) };
    },
  };
}

export type TableName = keyof typeof runTables;
