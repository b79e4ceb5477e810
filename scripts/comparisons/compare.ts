/**
 * What critics, portfolios and novelty are worth at equal numbers of evaluations: runs of 6 tasks and 20 seeds, paired by
 * seed. Runs lie below WORK and go on where they stopped; rows are written to `bench/rows/comparisons.jsonl`, and what has
 * its rows is not played again.
 *
 * Run, after npm run build: npx tsx scripts/comparisons/compare.ts WORK [--with embedded,scripted,local] [--local DIRECTORY]
 *      [--tasks CartPole] [--arms plain,critic] [--seeds 20] [--report] [--markdown FILE]
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { packageRoot } from '../../src/base/package.js';
import { finalConfirmation } from '../../src/runs/events.js';
import { readManifest } from '../../src/runs/reader.js';
import { appendRow, readRows } from '../controls/rows.js';
import { type Constants, differenceOf, normalised } from '../embedded/statistics.js';
import { arms, common, controls, proposersOf, tasks } from './plan.js';

const file = 'bench/rows/comparisons.jsonl';

interface Row {
  /** The model; of a control, the number of evaluations. */
  readonly with: string;
  readonly task: string;
  readonly arm: string;
  readonly seed: number;
  /** Mean of the best policy on 100 fresh episodes. */
  readonly return: number;
}

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    with: { type: 'string' },
    local: { type: 'string' },
    tasks: { type: 'string' },
    arms: { type: 'string' },
    seeds: { type: 'string', default: '20' },
    report: { type: 'boolean', default: false },
    markdown: { type: 'string' },
  },
});
const [work] = positionals;
if (work === undefined && !values.report) throw new Error('name a directory to work in');
const seeds = Number(values.seeds);
const proposers = proposersOf(values.local && resolve(values.local));

function chosen(all: readonly string[], names: string | undefined): readonly string[] {
  const picked = names?.split(',') ?? all;
  const unknown = picked.find((name) => !all.includes(name));
  if (unknown !== undefined) throw new Error(`no ${unknown}; there are ${all.join(', ')}`);
  return picked;
}

function playRuns(who: string, task: string, arm: string, overrides: readonly string[]): void {
  const own = readRows<Row>(file).filter(
    (row) => row.with === who && row.task === task && row.arm === arm && row.seed <= seeds,
  );
  if (own.length >= seeds) return;
  const directory = resolve(work!, who, task, arm);
  const cli = join(packageRoot(), 'dist', 'src', 'cli.js');
  const words = existsSync(directory)
    ? ['resume', directory]
    : ['run', tasks[task]!, ...overrides, 'seed=1', `repeats=${seeds}`, '--run-dir', directory];
  const { status } = spawnSync(process.execPath, [cli, ...words, '--quiet'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (status !== 0) throw new Error(`${who}, ${task}, ${arm}: ended with ${status}`);
  const known = new Set(own.map(({ seed }) => seed));
  const repeats = readdirSync(directory, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  for (const { name } of repeats.toSorted((a, b) => a.name.localeCompare(b.name))) {
    const { confirmations, seed } = readManifest(join(directory, name));
    if (known.has(seed)) continue;
    appendRow(file, {
      with: who,
      task,
      arm,
      seed,
      return: finalConfirmation(confirmations)!.mean,
    } satisfies Row);
  }
  rmSync(directory, { recursive: true });
}

function playAll(): void {
  const names = chosen(Object.keys(proposers), values.with);
  for (const task of chosen(Object.keys(tasks), values.tasks)) {
    for (const name of names) {
      const { evaluations, model, overrides } = proposers[name]!;
      for (const arm of chosen(Object.keys(arms), values.arms))
        playRuns(name, task, arm, [
          ...common(evaluations),
          ...overrides,
          ...arms[arm]!.overrides(model, evaluations),
        ]);
      for (const control of controls)
        playRuns(String(evaluations), task, control, [
          ...common(evaluations),
          `model.provider=${control}`,
          `iterations=${evaluations - 4}`,
        ]);
    }
  }
}

const constants = JSON.parse(
  readFileSync(join(packageRoot(), 'bench', 'embedded-constants.json'), 'utf8'),
) as Readonly<Record<string, Constants>>;

/** Normalised differences between two arms, by task. */
function pairs(rows: readonly Row[], first: readonly [string, string], second: readonly [string, string]) {
  const found = new Map<string, number[]>();
  for (const row of rows) {
    if (row.with !== first[0] || row.arm !== first[1]) continue;
    const other = rows.find(
      (one) =>
        one.with === second[0] && one.arm === second[1] && one.task === row.task && one.seed === row.seed,
    );
    if (other === undefined) continue;
    const own = constants[row.task]!;
    const difference = normalised(row.return, own) - normalised(other.return, own);
    found.set(row.task, [...(found.get(row.task) ?? []), difference]);
  }
  return found;
}

const signed = (value: number) => `${value > 0 ? '+' : ''}${value.toFixed(3).replace('-', '−')}`;

function reportText(): string {
  const rows = readRows<Row>(file);
  const lines = Object.entries(proposersOf('')).flatMap(([name, { evaluations }]) =>
    Object.entries(arms).flatMap(([arm, { label }]) => {
      const against = [
        ...(arm === 'plain' ? [] : [['plain', [name, 'plain'] as const] as const]),
        ...controls.map((control) => [control, [String(evaluations), control] as const] as const),
      ];
      return against.flatMap(([other, second]) => {
        const found = differenceOf(pairs(rows, [name, arm], second));
        if (found === undefined) return [];
        const [low, high] = found.interval;
        const verdict = low > 0 ? 'above' : high < 0 ? 'below' : 'about 0';
        const cells = [name, label, other, found.tasks, found.pairs];
        const figures = `${signed(found.difference)} [${signed(low)}, ${signed(high)}]`;
        return [`| ${[...cells, figures, `${Math.round(100 * found.wins)} %`, verdict].join(' | ')} |\n`];
      });
    }),
  );
  return `| model | arm | minus | tasks | pairs | normalised difference | wins | interval is |\n|---|---|---|--:|--:|--:|--:|---|\n${lines.join('')}`;
}

if (!values.report) playAll();
const text = reportText();
if (values.markdown !== undefined) writeFileSync(values.markdown, text);
process.stdout.write(text);
