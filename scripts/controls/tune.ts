/**
 * Finds the strongest settings of hill climbing and CMA-ES, by mean rank at each budget, on synthetic tasks on which
 * search pays and that no training uses. Rows are appended; existing rows are skipped.
 *
 * Run: npx tsx scripts/controls/tune.ts [TASKS]
 */
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import type { Baseline } from '../../src/search/baseline.js';
import { createCmaEs } from '../../src/search/cma-es.js';
import { createHillClimb } from '../../src/search/local-search.js';
import { loadCollection } from '../../src/studies/collection/collection-config.js';
import { configOfRun, drawRun } from '../../src/studies/collection/collection-plan.js';
import { budgets, type PlayedTask, reachedBy, taskOf } from './play.js';
import { meanRanks } from './ranks.js';
import { appendRow, readRows, rounded } from './rows.js';

const file = 'bench/rows/controls-tuning.jsonl.gz';
interface Row {
  readonly task: number;
  readonly setting: string;
  /** Return at each budget. */
  readonly reached: readonly number[];
}

/** σ as a share of the range: 0.5 to 12 for a range of ±6. */
const shares = [1 / 24, 1 / 12, 1 / 6, 1 / 3, 1 / 2, 2 / 3, 1];

const hillSettings = shares.map((share) => ({
  name: `hill ${share.toFixed(3)}`,
  control: (range: number): Baseline => createHillClimb({ provider: 'hill-climb', sigma: share * range }),
}));

const cmaSettings = shares.slice(0, 5).flatMap((share) =>
  (['best', 'centre'] as const).flatMap((start) =>
    [4, 6, 10, undefined].map((population) => ({
      name: `cma ${share.toFixed(3)} ${start} ${population ?? 'ln'}`,
      control: (range: number): Baseline =>
        createCmaEs({ provider: 'cma-es', sigma: share * range, start, population }),
    })),
  ),
);

const settings = [...hillSettings, ...cmaSettings];

async function playTask(index: number, done: ReadonlySet<string>): Promise<void> {
  const left = settings.filter(({ name }) => !done.has(`${index} ${name}`));
  if (left.length === 0) return;
  const task: PlayedTask = taskOf(configOfRun(collection, drawRun(collection, index)));
  const { high, low } = task.family.parameters;
  for (const { control, name } of left) {
    const reached = rounded(await reachedBy(task, control(high - low)));
    appendRow(file, { task: index, setting: name, reached } satisfies Row);
  }
}

function report(): void {
  const rows = readRows<Row>(file);
  for (const kind of ['hill', 'cma']) {
    const names = settings.map(({ name }) => name).filter((name) => name.startsWith(kind));
    const ranked = names.map((name) => ({ name, ranks: [] as number[] }));
    for (const [b] of budgets.entries()) {
      const values = new Map<number, Map<string, number>>();
      for (const { reached, setting, task } of rows) {
        if (!setting.startsWith(kind)) continue;
        values.set(task, (values.get(task) ?? new Map()).set(setting, reached[b]!));
      }
      const complete = [...values.values()].filter(({ size }) => size === names.length);
      const ranks = meanRanks(complete.map((task) => names.map((name) => task.get(name)!)));
      for (const [i, one] of ranked.entries()) one.ranks.push(ranks[i]!);
    }
    const total = ({ ranks }: { readonly ranks: readonly number[] }) => ranks.reduce((a, b) => a + b, 0);
    process.stdout.write(`\n${kind}: mean rank of ${names.length} at ${budgets.join(', ')} evaluations\n`);
    for (const one of ranked.toSorted((a, b) => total(a) - total(b)))
      process.stdout.write(
        `${one.name.padEnd(24)}${one.ranks.map((rank) => rank.toFixed(2).padStart(8)).join('')}${(total(one) / 3).toFixed(2).padStart(8)}\n`,
      );
  }
}

const collection = loadCollection(fileURLToPath(new URL('held-out.yaml', import.meta.url)));
const done = new Set(readRows<Row>(file).map(({ setting, task }) => `${task} ${setting}`));
for (let index = 0; index < Number(process.argv[2] ?? 128); index++) await playTask(index, done);
report();
