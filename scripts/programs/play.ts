/**
 * Compares programs by language models with parameters, baselines and tuned constants, at the same number of
 * evaluations. Runs are stored in WORK, can be resumed, and stay there to train on. A finished run becomes a row of
 * `bench/rows/programs.jsonl.gz`; runs that already have a row are skipped.
 *
 * Run, after npm run build: npx tsx scripts/programs/play.ts WORK [--models DIR] [--with qwen0.5,qwen1.5]
 * [--tasks CartPole] [--arms programs] [--seeds 1..5] [--minutes 60] [--rows FILE]
 * `DIR` contains the models as GGUF files; without it, only baselines are played.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { packageRoot } from '../../src/base/package.js';
import { finalConfirmation } from '../../src/runs/events.js';
import { readManifest, readRun } from '../../src/runs/reader.js';
import { appendRow, readRows } from '../controls/rows.js';
import { proposalFigures, type Row } from '../real-models/figures.js';
import { arms, baselines, common, models, tasks } from './plan.js';

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    models: { type: 'string' },
    with: { type: 'string', default: models.join() },
    tasks: { type: 'string', default: Object.keys(tasks).join() },
    arms: { type: 'string', default: Object.keys(arms).join() },
    seeds: { type: 'string', default: '1..10' },
    minutes: { type: 'string', default: '600' },
    rows: { type: 'string', default: 'bench/rows/programs.jsonl.gz' },
  },
});
/**
 * Chosen with the 1.5B on MountainCar, seed 11: 14 of 30 replies were new programs, against 6 of 35 with the sampling of
 * Qwen2.5's generation config (0.7, top-p 0.8, top-k 20), where 17 were cut off at the length limit.
 */
const sampling = 'temperature: 1, topP: 1, topK: 0, minP: 0.05';

const [work] = positionals;
if (work === undefined) throw new Error('name a directory to work in');
const [first, last = first] = values.seeds.split('..').map(Number);
const end = Date.now() + 60_000 * Number(values.minutes);

function play(cell: Pick<Row, 'arm' | 'seed' | 'task' | 'with'>, overrides: readonly string[]): void {
  const isSame = (row: Row) =>
    (Object.keys(cell) as (keyof typeof cell)[]).every((key) => row[key] === cell[key]);
  if (Date.now() > end || readRows<Row>(values.rows).some(isSame)) return;
  const directory = resolve(work!, Object.values(cell).join('_').replaceAll(' ', '-'));
  const cli = join(packageRoot(), 'dist', 'src', 'cli.js');
  const { config } = tasks[cell.task]!;
  const settings = [...common, `seed=${cell.seed}`, ...overrides, '--run-dir', directory];
  const words = existsSync(directory) ? ['resume', directory] : ['run', config, 'memory=all', ...settings];
  const { status } = spawnSync(process.execPath, [cli, ...words, '--quiet'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  // A run without accepted proposals exits with 1, but counts as a result.
  if (status !== 0 && status !== 1) throw new Error(`${words.join(' ')}: ended with ${status}`);
  const confirmed = finalConfirmation(readManifest(directory).confirmations);
  appendRow(values.rows, {
    ...{ ...cell, set: '-' },
    ...proposalFigures(readRun(directory)),
    ...(confirmed && { return: confirmed.mean }),
  } satisfies Row);
}

for (let seed = first!; seed <= last!; seed++) {
  for (const task of values.tasks.split(',')) {
    for (const [arm, overrides] of Object.entries(baselines)) play({ with: '-', task, arm, seed }, overrides);
    for (const model of values.models === undefined ? [] : values.with.split(',')) {
      const path = JSON.stringify(resolve(values.models!, `${model}.gguf`));
      const section = `model={provider: local, path: ${path}, threads: 1, device: cpu, maxTokens: 400, ${sampling}}`;
      for (const arm of values.arms.split(','))
        play({ with: model, task, arm, seed }, [section, ...arms[arm]!]);
    }
  }
}
