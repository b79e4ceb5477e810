/**
 * Measures what critics, portfolios and novelty gain at equal numbers of evaluations: runs on 7 tasks with 20 seeds,
 * paired by seed. Runs are stored in WORK and can be resumed. Rows are appended to `bench/rows/comparisons.jsonl.gz`;
 * runs with rows are skipped.
 *
 * Run, after npm run build: npx tsx scripts/comparisons/compare.ts WORK [--with embedded,scripted,local] [--local PATH]
 *      [--tasks CartPole] [--arms plain,critic] [--seeds 20] [--report] [--page]
 * `--page` writes the report into docs/ablations.md.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { packageRoot } from '../../src/base/package.js';
import { finalConfirmation } from '../../src/runs/events.js';
import { readManifest } from '../../src/runs/reader.js';
import { appendRow, readRows } from '../controls/rows.js';
import { fillBlock } from '../tiny-improver/model-card.js';
import { arms, common, controls, proposersOf, tasks } from './plan.js';
import { comparisonPicture, comparisonReport, type Row } from './report.js';

const file = 'bench/rows/comparisons.jsonl.gz';
const page = 'docs/ablations.md';
const picture = 'docs/pictures/ablations.svg';

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    with: { type: 'string' },
    local: { type: 'string' },
    tasks: { type: 'string' },
    arms: { type: 'string' },
    seeds: { type: 'string', default: '20' },
    report: { type: 'boolean', default: false },
    page: { type: 'boolean', default: false },
  },
});
const [work] = positionals;
if (work === undefined && !values.report) throw new Error('pass a working directory');
const seeds = Number(values.seeds);
const proposers = proposersOf(values.local && resolve(values.local));

function chosen(all: readonly string[], names: string | undefined): readonly string[] {
  const picked = names?.split(',') ?? all;
  const unknown = picked.find((name) => !all.includes(name));
  if (unknown !== undefined) throw new Error(`unknown: ${unknown}; choose from ${all.join(', ')}`);
  return picked;
}

function play(words: readonly string[]): void {
  const cli = join(packageRoot(), 'dist', 'src', 'cli.js');
  const { status } = spawnSync(process.execPath, [cli, ...words, '--quiet'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (status !== 0) throw new Error(`${words.join(' ')}: ended with ${status}`);
}

const evaluationsIn = (path: string): number =>
  readManifest(path).caps!.find(({ limit }) => limit === 'evaluations')!.used;

function playRuns(
  who: string,
  task: string,
  arm: string,
  evaluations: number,
  overrides: readonly string[],
): void {
  const own = readRows<Row>(file).filter((row) => row.with === who && row.task === task && row.arm === arm);
  if (own.length >= seeds) return;
  const directory = resolve(work!, who, task, arm);
  play(
    existsSync(directory)
      ? ['resume', directory]
      : ['run', tasks[task]!.config, ...overrides, 'seed=1', `repeats=${seeds}`, '--run-dir', directory],
  );
  const known = new Set(own.map(({ seed }) => seed));
  const repeats = readdirSync(directory, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  for (const { name } of repeats.toSorted((a, b) => a.name.localeCompare(b.name))) {
    const path = join(directory, name);
    if (known.has(readManifest(path).seed)) continue;
    // If prompts state the iterations, there are no spare ones, and rejected proposals may have used some up.
    if (evaluationsIn(path) < evaluations) play(['resume', path, `iterations=${3 * evaluations}`]);
    const { confirmations, seed } = readManifest(path);
    appendRow(file, {
      with: who,
      task,
      arm,
      seed,
      evaluations: evaluationsIn(path),
      return: finalConfirmation(confirmations)!.mean,
    } satisfies Row);
  }
  rmSync(directory, { recursive: true });
}

function playAll(): void {
  const names = chosen(Object.keys(proposers), values.with);
  for (const task of chosen(Object.keys(tasks), values.tasks)) {
    for (const name of names) {
      const { critic, evaluations, iterations, model, mostParameters, overrides } = proposers[name]!;
      if (mostParameters !== undefined && tasks[task]!.parameters > mostParameters) continue;
      for (const arm of chosen(Object.keys(arms), values.arms))
        playRuns(name, task, arm, evaluations, [
          ...common(evaluations, iterations),
          ...overrides,
          ...arms[arm]!.overrides(model(tasks[task]!), critic),
        ]);
      for (const control of controls)
        playRuns(String(evaluations), task, control, evaluations, [
          ...common(evaluations, evaluations),
          `model.provider=${control}`,
        ]);
    }
  }
}

if (!values.report) playAll();
const rows = readRows<Row>(file);
const text = comparisonReport(rows);
if (values.page) {
  fillBlock(page, 'figures', `![Differences from the plain run](pictures/ablations.svg)\n\n${text}`);
  writeFileSync(picture, comparisonPicture(rows));
}
process.stdout.write(text);
