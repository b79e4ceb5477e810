/**
 * Runs proposing models and baselines on held-out synthetic tasks. Models are chosen by these results, before any run
 * on the declared tasks. One evaluation per iteration; the best policies after 20, 50 and 100 evaluations are
 * evaluated again. Rows are appended to `bench/rows/held-out.jsonl.gz`; existing rows are skipped.
 *
 * Run: npx tsx scripts/embedded/held-out.ts TASKS ARM… [--against ARM,ARM] [--report]
 * An arm is a baseline of the protocol (random, gp, screened-mix, …), or `name=DIRECTORY` of a model and then, in
 * this order, `@1.2` for a temperature, `*16` for 16 answers of which screening evaluates one, `+key=value` for
 * settings of the experiment.
 */
import { resolve } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { confirmationSeeds } from '../../src/random/seeds.js';
import { evaluate } from '../../src/rollout/evaluation.js';
import { bestEntries } from '../../src/rollout/replay-buffer.js';
import { mean } from '../../src/statistics/descriptive.js';
import { comparePairs } from '../../src/statistics/paired.js';
import { loadCollection } from '../../src/studies/collection/collection-config.js';
import { configOfRun, drawRun } from '../../src/studies/collection/collection-plan.js';
import { appendRow, readRows, rounded } from '../controls/rows.js';
import { LoadedModels, play } from '../tiny-improver/play.js';
import { budgets, arms as declaredArms } from './plan.js';

const file = 'bench/rows/held-out.jsonl.gz';
/** Seed of the collection from which tasks are drawn; no training uses it. */
const seed = 4_000_037;
const [warmup, fresh] = [4, 50];

interface Row {
  readonly arm: string;
  readonly task: number;
  readonly name: string;
  /** Return at each budget. */
  readonly reached: readonly number[];
}

interface Arm {
  readonly name: string;
  /** Section `model`, in YAML's flow style. */
  readonly model: string;
  readonly overrides: readonly string[];
}

function armOf(text: string): Arm {
  const [first, ...settings] = text.split('+') as [string, ...string[]];
  const overrides = settings.map((setting) => `experiment.${setting}`);
  const [name, place] = first.split('=') as [string, string?];
  if (place === undefined) {
    const [provider, ...own] = declaredArms[name]?.overrides ?? [];
    if (!provider?.startsWith('model.provider='))
      throw new Error(`unknown baseline ${name}; write a model as name=DIRECTORY`);
    overrides.push(...own.map((setting) => `experiment.${setting}`));
    return { name, model: `{provider: ${provider.split('=')[1]}}`, overrides };
  }
  const [, path, temperature = '1', samples = '1'] = /^([^@*]+)(?:@([\d.]+))?(?:\*(\d+))?$/.exec(place)!;
  const model = `{provider: local, path: ${JSON.stringify(resolve(path!))}, temperature: ${temperature}, format: constrained, threads: 1, device: cpu, maxTokens: 1024}`;
  if (Number(samples) > 1) overrides.push(`experiment.candidates=${samples}`, 'experiment.screening={}');
  return { name, model, overrides };
}

async function playTasks({ model, name, overrides }: Arm, tasks: number): Promise<void> {
  const done = new Set(readRows<Row>(file).flatMap((row) => (row.arm === name ? [row.task] : [])));
  const collection = loadCollection('configs/collections/teaching.yaml', [
    `seed=${seed}`,
    'experiment.candidates=1',
    `experiment.iterations=${budgets.at(-1)! - warmup}`,
    `experiment.warmup=${warmup}`,
    `proposers=[{weight: 1, model: ${model}}]`,
    ...overrides,
  ]);
  const models = new LoadedModels();
  for (let task = 0; task < tasks; task++) {
    if (done.has(task)) continue;
    const draw = drawRun(collection, task);
    const config = configOfRun(collection, draw);
    const { close, entries, reason, setting } = await play(config, models, name);
    if (reason.kind !== 'iterations') throw new Error(`task ${task}: ${JSON.stringify(reason)}`);
    const seeds = confirmationSeeds(config.seed, 'final', fresh);
    const reached: number[] = [];
    for (const budget of budgets) {
      const [best] = bestEntries(entries.slice(0, budget), 1);
      reached.push((await evaluate(setting, best!.parameters, seeds)).score);
    }
    await close();
    appendRow(file, { arm: name, task, name: draw.name, reached: rounded(reached) } satisfies Row);
  }
  await models.close();
}

/** Prints the share of tasks on which each arm ends higher than the arms it is compared with; ties count half. */
function report(names: readonly string[], against: readonly string[], tasks: number): void {
  const rows = readRows<Row>(file).filter(({ task }) => task < tasks);
  const percent = (value: number) => `${Math.round(100 * value)} %`;
  for (const name of names) {
    const others = against.filter((other) => other !== name);
    const all: number[][] = budgets.map(() => []);
    for (const other of others) {
      const cells = budgets.map((budget, b) => {
        const pairs = rows.flatMap((row) => {
          const theirs = rows.find(({ arm, task }) => arm === other && task === row.task);
          return row.arm !== name || theirs === undefined ? [] : [[row.reached[b]!, theirs.reached[b]!]];
        });
        const compared = comparePairs(
          pairs.map(([own]) => own!),
          pairs.map(([, other]) => other!),
        );
        if (compared === undefined) return '';
        all[b]!.push(compared.winRate);
        const [low, high] = compared.winInterval;
        return `${budget}: ${percent(compared.winRate)} [${percent(low)}, ${percent(high)}] of ${compared.pairs}`;
      });
      process.stdout.write(`${name} against ${other}, evaluations and wins: ${cells.join(', ')}\n`);
    }
    const means = all.map((shares) => (shares.length === 0 ? '–' : percent(mean(shares))));
    process.stdout.write(`${name}, mean share of wins: ${means.join(', ')}\n`);
  }
}

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    against: { type: 'string', default: 'random,hill,mix,cma,gp' },
    report: { type: 'boolean', default: false },
  },
});
const [count = '64', ...words] = positionals;
const arms = words.map(armOf);
if (!values.report) for (const arm of arms) await playTasks(arm, Number(count));
report(
  arms.map(({ name }) => name),
  values.against.split(','),
  Number(count),
);
