import { appendFileSync, cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { beforeAll, describe, expect, it } from 'vitest';
import { execute as exportCommand } from '../../../src/commands/runs/export.js';
import { execute as queryCommand } from '../../../src/commands/runs/query.js';
import { formatValue } from '../../../src/prompting/notation/grammar.js';
import { changeLabels } from '../../../src/runs/listing/listing.js';
import { tables } from '../../../src/runs/tables/rows.js';
import {
  quick,
  recordingContext,
  runExperimentFrom,
  seededModel,
  temporaryDirectory,
} from '../../support/experiments.js';
import { createScriptedModel } from '../../support/scripted-model.js';

const root = resolve(import.meta.dirname, '../../..');
const cwd = temporaryDirectory();
const at = (...path: readonly string[]) => join(cwd, 'buffers', ...path);

beforeAll(async () => {
  mkdirSync(at());
  cpSync(join(root, 'buffers/example-cartpole'), at('3'), { recursive: true });
  const model = { provider: 'openai', name: 'm', baseUrl: 'http://127.0.0.1:9' } as const;
  await runExperimentFrom({ ...quick, model }, { path: at('faulty'), model: seededModel(0.4) });
  await changeLabels(at('faulty'), () => ({ tags: ['paper', 'x'], note: "it's the first" }));
  // What a crash leaves: a line of an iteration that is not complete, and a torn one.
  appendFileSync(
    at('faulty', 'evaluations.jsonl'),
    '{"iteration":7,"candidate":0,"source":"proposal","returns":[1],"lengths":[1],"score":1,"parameters":[0]}\n{"iter',
  );
});

async function ask(sql: string, more: Partial<Parameters<typeof queryCommand>[0]> = {}, place = cwd) {
  const { context, printed } = recordingContext(place);
  await queryCommand({ sql, runsDir: 'buffers', csv: false, json: true, ...more }, context);
  return printed.join('\n');
}

const rows = async (sql: string, runs?: string[]) =>
  JSON.parse(await ask(sql, runs && { runs })) as readonly Record<string, unknown>[];

describe('policyloop query', () => {
  it('gives the figures and labels of each run, with their types', async () => {
    expect(
      await rows('SELECT run, seed, status, iterations, best, tags, note FROM runs ORDER BY run'),
    ).toEqual([
      { ...{ run: '3', seed: 0, status: 'completed', iterations: 30, best: 128.8 }, tags: [], note: null },
      {
        ...{ run: 'faulty', seed: 0, status: 'completed', iterations: 6, best: expect.any(Number) },
        ...{ tags: ['paper', 'x'], note: "it's the first" },
      },
    ]);
    expect(await rows('SELECT count(*) AS n FROM runs', ['latest', 'faulty'])).toEqual([{ n: 2 }]);
    expect(await rows('SELECT run FROM runs', ['faulty'])).toEqual([{ run: 'faulty' }]);
  });

  it('also prints tables and CSV', async () => {
    const sql = "SELECT run, best, tags FROM runs WHERE run = 'faulty' OR best > 1000 ORDER BY 1";
    expect(await ask(sql, { json: false })).toMatch(/^run +best +tags\nfaulty +[\d.]+ +\["paper","x"\]$/);
    expect(await ask(sql, { json: false, csv: true })).toMatch(
      /^run,best,tags\nfaulty,[\d.]+,"\[""paper"",""x""\]"$/,
    );
    await expect(ask(sql, { csv: true })).rejects.toThrow(/--csv.*--json/);
  });

  it.each(['evaluations', 'episodes', 'calls'] as const)(
    'gives the same rows of %s that export writes',
    async (table) => {
      const { context, printed } = recordingContext(cwd);
      const common = { runsDir: 'buffers', json: true, runs: ['*'] };
      await exportCommand({ ...common, format: 'parquet', out: `out-${table}` }, context);
      const written = (JSON.parse(printed[0]!) as { table: string; file: string; rows: number }[]).find(
        (one) => one.table === table,
      )!;
      const objects = await parquetReadObjects({ file: await asyncBufferFromFile(join(cwd, written.file)) });
      const columns = tables[table].map(({ name, type }) =>
        type === 'TIMESTAMP' ? `strftime("${name}", '%Y-%m-%dT%H:%M:%S.%gZ') AS "${name}"` : `"${name}"`,
      );
      const answered = await rows(`SELECT ${columns.join(', ')} FROM ${table}`);
      const comparable = (row: Record<string, unknown>) =>
        JSON.stringify(
          tables[table].map(({ name }) => {
            const value = row[name] ?? null;
            if (typeof value === 'bigint') return Number(value);
            return typeof value === 'object' && value !== null ? JSON.stringify(value) : value;
          }),
        );
      expect(answered.length).toBe(written.rows);
      expect(answered.map(comparable).toSorted()).toEqual(objects.map(comparable).toSorted());
      expect(answered.some((row) => row.run === 'faulty' && row.iteration === 7)).toBe(false);
    },
  );

  it('reports how far each prompt was behind, and how far its proposal was moved', async () => {
    const place = temporaryDirectory();
    const config = {
      ...quick,
      iterations: 5,
      pipeline: 3,
      novelty: { distance: 0.3, action: 'jitter' },
      model: { provider: 'hill-climb', sigma: 0.2 },
    } as const;
    const { path } = await runExperimentFrom(config, { path: join(place, 'buffers', 'run') });
    const sql = 'SELECT iteration, behind, moved FROM calls ORDER BY iteration';
    const calls = JSON.parse(await ask(sql, {}, place)) as Record<string, number>[];
    expect(calls.map(({ behind }) => behind)).toEqual([0, 1, 2, 2, 2]);
    for (const { moved } of calls) expect(moved).toBeLessThan(0.3);
    const logged = readFileSync(join(path, 'calls.jsonl'), 'utf8').trim().split('\n');
    expect(calls.map(({ moved }) => moved)).toEqual(
      logged.map((line) => JSON.parse(line).outcome.moved.distance),
    );
  });

  it('reports the returns that replies predict', async () => {
    const place = temporaryDirectory();
    const model = createScriptedModel(({ options }, index) => {
      const { labels, number } = options.grammar!;
      const answer = labels.map((label, i) => `${label}${formatValue((index + i) % 5, number.decimals)}`);
      return `${answer.join('')}; f(params): ${10 + index}.50`;
    });
    const config = {
      ...quick,
      iterations: 3,
      model: { provider: 'ollama', name: 'scripted', format: 'text' },
    } as const;
    await runExperimentFrom(config, { path: join(place, 'buffers', 'run'), model });
    const sql = "SELECT predicted FROM calls WHERE outcome = 'accepted' ORDER BY iteration";
    expect(JSON.parse(await ask(sql, {}, place))).toEqual(
      [10.5, 11.5, 12.5].map((predicted) => ({ predicted })),
    );
  });

  it('gives recorded episodes step by step', async () => {
    const [first] = await rows(
      "SELECT * FROM steps WHERE run = '3' ORDER BY iteration, candidate, episode, step LIMIT 1",
    );
    const line = readFileSync(at('3', 'episodes.jsonl'), 'utf8').split('\n')[0]!;
    const { actions, observations, rewards } = JSON.parse(line) as Record<string, unknown[]>;
    expect(first).toMatchObject({ iteration: 0, step: 0, reward: rewards![0] });
    expect(JSON.parse(first!.observation as string)).toEqual(observations![0]);
    expect(JSON.parse(first!.action as string)).toEqual(actions![0]);
    const [sums] = await rows(
      "SELECT sum(reward) AS s FROM steps WHERE run = '3' AND iteration = 0 AND candidate = 0",
    );
    expect(sums!.s).toBe((rewards as number[]).reduce((sum, reward) => sum + reward, 0));
  });

  it('gives empty tables for a directory without runs', async () => {
    const empty = temporaryDirectory();
    mkdirSync(join(empty, 'buffers'));
    for (const table of Object.keys(tables))
      expect(JSON.parse(await ask(`SELECT * FROM ${table}`, {}, empty))).toEqual([]);
  });
});

describe('a query is confined to SELECTs from its tables', () => {
  const secret = join(cwd, 'secret.csv');
  writeFileSync(secret, 'a,b\n1,2\n');
  const other = at('3', 'evaluations.jsonl');

  it.each([
    [`SELECT * FROM read_csv('${secret}')`, /may not call read_csv/],
    [`SELECT * FROM read_text('/etc/hostname')`, /may not call read_text/],
    [`SELECT * FROM glob('/*')`, /may not call glob/],
    [`SELECT * FROM '${secret}'`, /unknown table/],
    [`SELECT * FROM "${other}"`, /unknown table/],
    [`SELECT (SELECT count(*) FROM '${secret}') FROM runs`, /unknown table/],
    [`WITH a AS (SELECT * FROM '${secret}') SELECT * FROM a`, /unknown table/],
    [
      `SELECT * FROM '${secret}', (WITH "${secret}" AS (SELECT 1) SELECT * FROM "${secret}") AS t`,
      /disabled|Permission|not exist/i,
    ],
    [`SELECT * FROM query('SELECT 1')`, /may not call query/],
    ['SELECT * FROM duckdb_settings()', /may not call duckdb_settings/],
    ['SELECT * FROM information_schema.tables', /unknown table/],
    ['SELECT * FROM files', /unknown table/],
    [`COPY runs TO '${secret}'`, /Only SELECT/],
    [`COPY (SELECT 1) TO '${secret}'`, /Only SELECT/],
    [`ATTACH '${secret}.db'`, /Only SELECT/],
    ['INSTALL httpfs', /Only SELECT/],
    ['LOAD httpfs', /Only SELECT/],
    ['SET enable_external_access = true', /Only SELECT/],
    ['PRAGMA version', /Only SELECT/],
    ['DROP TABLE runs', /Only SELECT/],
    ['CREATE TABLE t AS SELECT 1', /Only SELECT/],
    ['SELECT 1; SELECT 2', /must be exactly one SELECT/],
    ['SELECT 1; DROP TABLE runs', /Only SELECT|give one/],
    ['SELECT', /without selection/],
    ['SELECT colour FROM runs', /colour/],
    ['', /sql: /],
  ])('%s', async (sql, message) => {
    await expect(ask(sql)).rejects.toThrow(message);
    expect(readFileSync(secret, 'utf8')).toBe('a,b\n1,2\n');
    expect(existsSync(`${secret}.db`)).toBe(false);
  });

  it('CTEs and table functions that read no files are allowed', async () => {
    expect(
      await rows('WITH t AS (SELECT unnest(range(3)) AS n) SELECT sum(n) AS s FROM t, generate_series(1, 2)'),
    ).toEqual([{ s: 6 }]);
  });
});

describe('policyloop export', () => {
  it('writes a file per table, with the documented columns', async () => {
    const { context, printed } = recordingContext(cwd);
    await exportCommand({ runs: ['3'], format: 'csv', out: 'csv', runsDir: 'buffers', json: false }, context);
    expect(printed[0]).toContain(`${join('csv', 'evaluations.csv')}  40 rows`);
    for (const table of ['runs', 'evaluations', 'episodes', 'calls'] as const) {
      const [header] = readFileSync(join(cwd, 'csv', `${table}.csv`), 'utf8').split('\n');
      expect(header).toBe(tables[table].map(({ name }) => name).join(','));
    }
    const docs = readFileSync(join(root, 'docs/runs.md'), 'utf8');
    for (const [table, columns] of Object.entries(tables)) {
      const lines = columns.map(({ about, name, type }) => `| \`${name}\` | ${type} | ${about} |`);
      expect(docs, `the columns of ${table}`).toContain(lines.join('\n'));
    }
    await expect(
      exportCommand({ runs: ['3'], format: 'xls', out: 'x', runsDir: 'buffers', json: false }, context),
    ).rejects.toThrow(/--format/);
    await expect(
      exportCommand({ runs: ['none'], format: 'csv', out: 'x', runsDir: 'buffers', json: false }, context),
    ).rejects.toThrow(/no such run/);
  });
});

describe('the worked questions of docs/runs.md', () => {
  const docs = readFileSync(join(root, 'docs/runs.md'), 'utf8');
  const questions = [...docs.matchAll(/^\*\*(.+?)\*\*\n+```sql\n([\s\S]*?)```/gm)];

  it('are ten', () => expect(questions).toHaveLength(10));

  it.each(questions.map(([, question, sql]) => [question!, sql!]))('%s', async (_, sql) => {
    expect((await rows(sql)).length).toBeGreaterThan(0);
  });
});
