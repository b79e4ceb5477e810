import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parquetReadObjects } from 'hyparquet';
import { describe, expect, it } from 'vitest';
import type { RowFormat } from '../../../finetune/dataset/example.js';
import { type Example, type Imitation, type Preference, recipes } from '../../../finetune/dataset/example.js';
import { exportRows, parquetColumns, writeParquet } from '../../../finetune/dataset/export-rows.js';
import { temporaryDirectory } from '../../support/experiments.js';

const place = temporaryDirectory();

const lineage = {
  run: 'a',
  environment: 'CartPole-v1',
  model: 'control/random',
  prompt: 'hash',
  promptIteration: 2,
  history: 3,
  iteration: 2,
  candidate: 0,
  score: 20.5,
} as const;

/** Prompts of one to three messages; every other one without an incumbent. */
const imitations: readonly Imitation[] = Array.from({ length: 2500 }, (_, i) => ({
  kind: 'imitation',
  prompt: Array.from({ length: 1 + (i % 3) }, (_message, m) => ({
    role: (['system', 'user', 'assistant'] as const)[m]!,
    content: `message ${m} of ${i}: “ü 🙂” \0`,
  })),
  completion: `params[0]: ${i}`,
  weight: i / 7,
  lineage: { ...lineage, recipe: 'weighted', ...(i % 2 === 0 && { incumbent: 1 - i, promptTokens: i }) },
}));

const preferences: readonly Preference[] = imitations.slice(0, 5).map(({ prompt }, i) => ({
  kind: 'preference',
  prompt,
  chosen: `better ${i}`,
  rejected: `worse ${i}`,
  weight: 1,
  lineage: { ...lineage, recipe: 'preference', rejected: { iteration: 2, candidate: 1, score: i } },
}));

function write(name: string, examples: readonly Example[], format: RowFormat): string {
  const path = join(place, `${name}.parquet`);
  const rows = exportRows(examples, format).map(({ content }) => content);
  writeParquet(path, parquetColumns(format, examples[0]!.lineage.recipe)!, rows);
  return path;
}

async function read(path: string): Promise<Record<string, unknown>[]> {
  const bytes = readFileSync(path);
  return parquetReadObjects({ file: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) });
}

/** What is absent in a row of JSON Lines has no value in a row of Parquet. */
const withoutNulls = (rows: unknown) =>
  JSON.parse(JSON.stringify(rows, (_, value: unknown) => (value === null ? undefined : value))) as unknown;

const cases: readonly (readonly [RowFormat, readonly Example[]])[] = [
  ['parquet', imitations],
  ['parquet', preferences],
  ['trl-sft-parquet', imitations],
  ['trl-dpo-parquet', preferences],
  ['trl-kto-parquet', preferences],
];

describe('Parquet', () => {
  it.each(cases)('%s has the same rows as JSON Lines', async (format, examples) => {
    const rows = exportRows(examples, format).map(({ content }) => content);
    expect(rows).toEqual(
      exportRows(
        examples,
        format === 'parquet' ? 'jsonl' : (format.replace('-parquet', '') as RowFormat),
      ).map(({ content }) => content),
    );
    expect(withoutNulls(await read(write('rows', examples, format)))).toEqual(rows);
  });

  it('has the same bytes for the same rows', () => {
    const once = readFileSync(write('once', imitations, 'parquet'));
    expect(readFileSync(write('again', imitations, 'parquet')).equals(once)).toBe(true);
  });

  it.each(recipes)('has no rows for an empty split (recipe %s)', async (recipe) => {
    const path = join(place, 'empty.parquet');
    writeParquet(path, parquetColumns('parquet', recipe)!, []);
    expect(await read(path)).toEqual([]);
  });
});

const python = process.env.POLICYLOOP_PYTHON ?? 'python3';
const hasDatasets = spawnSync(python, ['-c', 'import pyarrow, datasets']).status === 0;

describe.skipIf(!hasDatasets)('Parquet in Python (needs pyarrow and datasets: POLICYLOOP_PYTHON)', () => {
  it.each(cases)(
    '%s loads with its nested messages',
    (format, examples) => {
      const path = write('python', examples, format);
      const script = [
        'import sys, json, pyarrow.parquet as pq, datasets',
        'table = pq.read_table(sys.argv[1]).to_pylist()',
        'loaded = datasets.load_dataset("parquet", data_files=sys.argv[1], split="train", cache_dir=sys.argv[2]).to_list()',
        'assert table == loaded',
        'print(json.dumps(table))',
      ].join('\n');
      const output = execFileSync(python, ['-c', script, path, join(place, 'cache')], {
        encoding: 'utf8',
        env: { ...process.env, HF_HUB_OFFLINE: '1', HF_DATASETS_OFFLINE: '1' },
        maxBuffer: 2 ** 26,
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      const rows = exportRows(examples, format).map(({ content }) => content);
      expect(withoutNulls(JSON.parse(output.trim().split('\n').at(-1)!))).toEqual(rows);
    },
    120_000,
  );
});
