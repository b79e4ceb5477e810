/**
 * Evaluates real models as proposers: runs of a few tasks with each model, prompt set and arm, and baselines with the
 * same number of evaluations. Runs are stored in WORK and can be resumed. A finished run becomes a row of
 * `bench/rows/real-models.jsonl.gz`; runs that already have a row are skipped.
 *
 * Run, after npm run build: npx tsx scripts/real-models/play.ts WORK --models DIR [--with smollm2,qwen0.5]
 * [--sets numeric] [--tasks CartPole] [--arms default] [--seeds 1..5] [--minutes 60] [--rows FILE] [--group]
 * `DIR` contains the models as GGUF files. `--group` requests 8 proposals for each of two prompts, to compare
 * settings; its rows are in `bench/rows/real-models-groups.jsonl.gz`. `npx tsx scripts/real-models/report.ts` writes
 * the tables.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { packageRoot } from '../../src/base/package.js';
import { finalConfirmation } from '../../src/runs/events.js';
import { readManifest, readRun } from '../../src/runs/reader.js';
import { appendRow, readRows } from '../controls/rows.js';
import { proposalFigures, type Row } from './figures.js';
import { arms, common, controls, models, sets, tasks } from './plan.js';

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    models: { type: 'string' },
    with: { type: 'string', default: models.join() },
    sets: { type: 'string', default: sets.join() },
    tasks: { type: 'string', default: Object.keys(tasks).join() },
    arms: { type: 'string', default: 'default' },
    seeds: { type: 'string', default: '1..5' },
    minutes: { type: 'string', default: '600' },
    group: { type: 'boolean', default: false },
    rows: { type: 'string' },
  },
});
const [work] = positionals;
if (work === undefined) throw new Error('pass a working directory');
const [first, last = first] = values.seeds.split('..').map(Number);
const seeds = Array.from({ length: last! - first! + 1 }, (_, i) => first! + i);
const file = values.rows ?? `bench/rows/real-models${values.group ? '-groups' : ''}.jsonl.gz`;
const end = Date.now() + 60_000 * Number(values.minutes);

interface Cell {
  readonly with: string;
  readonly set: string;
  readonly task: string;
  readonly arm: string;
  readonly seed: number;
}

function play(cell: Cell, overrides: readonly string[]): void {
  const isSame = (row: Row) => (Object.keys(cell) as (keyof Cell)[]).every((key) => row[key] === cell[key]);
  if (readRows<Row>(file).some(isSame)) return;
  const directory = resolve(work!, Object.values(cell).join('_'));
  const cli = join(packageRoot(), 'dist', 'src', 'cli.js');
  const config = [
    tasks[cell.task]!,
    ...common(values.group),
    `seed=${cell.seed}`,
    ...overrides,
    '--run-dir',
    directory,
  ];
  const words = existsSync(directory) ? ['resume', directory] : ['run', ...config];
  const { status } = spawnSync(process.execPath, [cli, ...words, '--quiet'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const manifest = readManifest(directory);
  // A run without accepted proposals exits with 1, but counts as a result.
  if (status !== 0 && status !== 1) throw new Error(`${words.join(' ')}: ended with ${status}`);
  const confirmed = finalConfirmation(manifest.confirmations);
  appendRow(file, {
    ...cell,
    ...proposalFigures(readRun(directory)),
    ...(confirmed && { return: confirmed.mean }),
  } satisfies Row);
  rmSync(directory, { recursive: true });
}

for (const seed of seeds) {
  for (const task of values.tasks.split(',')) {
    for (const control of controls)
      play({ with: control, set: '-', task, arm: 'default', seed }, [`model.provider=${control}`]);
    for (const model of values.with.split(',')) {
      if (values.models === undefined || model === '') continue;
      const path = resolve(values.models, `${model}.gguf`);
      for (const set of values.sets.split(',')) {
        for (const arm of values.arms.split(',')) {
          if (Date.now() > end) process.exit(0);
          const section = `model={provider: local, path: ${JSON.stringify(path)}, threads: 1, device: cpu, maxTokens: 300}`;
          const memory = set === 'compact' ? ['memory={best: 8, recent: 4}'] : [];
          play({ with: model, set, task, arm, seed }, [
            section,
            `prompts.set=${set}`,
            ...memory,
            ...arms[arm]!,
          ]);
        }
      }
    }
  }
}
