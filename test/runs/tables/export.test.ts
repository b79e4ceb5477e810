import { appendFileSync, cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { beforeAll, describe, expect, it } from 'vitest';
import { pageBuilders } from '../../../finetune/evaluate/shown-pages.js';
import type { CommandContext } from '../../../src/base/context.js';
import { execute } from '../../../src/commands/runs/export.js';
import { formatValue } from '../../../src/prompting/notation/grammar.js';
import { changeLabels } from '../../../src/runs/listing/labels.js';
import { runTables } from '../../../src/runs/tables/rows.js';
import {
  quick,
  recordingContext,
  runExperimentFrom,
  seededModel,
  temporaryDirectory,
} from '../../support/experiments.js';
import { createScriptedModel } from '../../support/scripted-model.js';
import { writeRun } from '../../support/written-runs.js';

const exportCommand = (args: Parameters<typeof execute>[0], context: CommandContext) =>
  execute(args, context, pageBuilders);

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

/** The rows of an exported table. */
async function rows(table: keyof typeof runTables, runs: readonly string[], place = cwd) {
  const { context, printed } = recordingContext(place);
  const given = {
    runs: [...runs],
    format: 'parquet' as const,
    out: `out-${table}`,
    runsDir: 'buffers',
    json: true,
  };
  await exportCommand(given, context);
  const written = (JSON.parse(printed[0]!) as { table: string; file: string; rows: number }[]).find(
    (one) => one.table === table,
  )!;
  const read = await parquetReadObjects({ file: await asyncBufferFromFile(join(place, written.file)) });
  expect(read).toHaveLength(written.rows);
  return read;
}

describe('the rows of a table', () => {
  it('give figures and tags of each run', async () => {
    expect(await rows('runs', ['3', 'faulty'])).toMatchObject([
      {
        run: 'faulty',
        seed: 0n,
        status: 'completed',
        iterations: 6,
        best: expect.any(Number),
        tags: '["paper","x"]',
      },
      { run: '3', seed: 0n, status: 'completed', iterations: 30, best: 128.8, tags: '[]' },
    ]);
    expect(await rows('runs', ['faulty'])).toMatchObject([{ run: 'faulty' }]);
  });

  it('give the group of each run, and a column per config key that varies', async () => {
    const place = temporaryDirectory();
    const write = (name: string, seed: number, config: object) =>
      writeRun(join(place, 'buffers', name), { seed, config });
    write('a1', 1, { evaluation: { episodes: 5 } });
    write('a2', 2, { evaluation: { episodes: 5 } });
    write('b', 1, { evaluation: { episodes: 7 }, target: 100 });
    const read = await rows('runs', ['*'], place);
    expect(read).toMatchObject([
      { run: 'a1', seed: 1n, 'config.evaluation.episodes': 5, 'config.target.return': null },
      { run: 'a2', seed: 2n, 'config.evaluation.episodes': 5, 'config.target.return': null },
      { run: 'b', seed: 1n, 'config.evaluation.episodes': 7, 'config.target.return': 100 },
    ]);
    const groups = read.map(({ group }) => group);
    expect([groups[0] === groups[1], new Set(groups).size]).toEqual([true, 2]);
    expect(Object.keys(read[0]!).filter((name) => /policy|warmup/.test(name))).toEqual([]);
  });

  it.each(['evaluations', 'episodes', 'calls'] as const)(
    'of %s leave out incomplete iterations',
    async (table) => {
      const own = (await rows(table, ['*'])).filter(({ run }) => run === 'faulty');
      expect(own.length).toBeGreaterThan(0);
      expect(own.some(({ iteration }) => iteration === 7)).toBe(false);
    },
  );

  it('report the returns that replies predict', async () => {
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
    const accepted = (await rows('calls', ['run'], place)).filter(({ outcome }) => outcome === 'accepted');
    expect(accepted.map(({ predicted }) => predicted)).toEqual([10.5, 11.5, 12.5]);
  });
});

describe('policyloop export', () => {
  it('writes a file per table, with the documented columns', async () => {
    const { context, printed } = recordingContext(cwd);
    await exportCommand({ runs: ['3'], format: 'csv', out: 'csv', runsDir: 'buffers', json: false }, context);
    expect(printed[0]).toContain(`${join('csv', 'evaluations.csv')}  40 rows`);
    for (const table of ['runs', 'evaluations', 'episodes', 'calls'] as const) {
      const [header] = readFileSync(join(cwd, 'csv', `${table}.csv`), 'utf8').split('\n');
      expect(header).toBe(runTables[table].columns.map(({ name }) => name).join(','));
    }
    const docs = readFileSync(join(root, 'docs/reference/run-files.md'), 'utf8');
    const documented = [...docs.matchAll(/^\| `(\w+)` \| ([A-Z]+) \|/gm)].map(([, name, type]) => ({
      name,
      type,
    }));
    expect(documented).toEqual(Object.values(runTables).flatMap(({ columns }) => columns));
    await expect(
      exportCommand({ runs: ['none'], format: 'csv', out: 'x', runsDir: 'buffers', json: false }, context),
    ).rejects.toThrow(/no such run/);
  });

  it('with --charts writes charts of runs and of their comparison, and lists them', async () => {
    const { context, printed } = recordingContext(cwd);
    const given = { format: 'csv', out: 'x', runsDir: 'buffers', json: true } as const;
    await exportCommand({ ...given, runs: ['3', 'faulty'], charts: 'figures' }, context);
    const written = JSON.parse(printed[0]!) as { chart: string; file: string }[];
    expect(written.map(({ chart }) => chart)).toEqual(
      expect.arrayContaining(['Learning curve', 'Parameters', 'CartPole-v1']),
    );
    expect(readdirSync(join(cwd, 'figures')).sort()).toEqual(
      written.map(({ file }) => basename(file)).sort(),
    );
    for (const { file } of written)
      expect(readFileSync(join(cwd, file), 'utf8')).toMatch(/^<svg xmlns.*<\/svg>\n$/s);
    const refused = (runs: readonly string[], charts: string) =>
      expect(exportCommand({ ...given, runs: [...runs], charts }, context)).rejects;
    await refused(['none'], 'figures').toThrow(/no such run/);
    writeFileSync(join(cwd, 'taken'), '');
    await refused(['3'], 'taken').toThrow(/--charts: can't create this directory/);
  });
});
