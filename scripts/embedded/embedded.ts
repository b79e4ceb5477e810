/**
 * The protocol of the embedded model: runs it and the baselines on 13 declared tasks, with 40 seeds each, at 20, 50
 * and 100 evaluations. Rows are appended to `bench/rows/embedded.jsonl.gz`; existing rows are skipped.
 *
 * Run: npm run benchmark:embedded -- [--arms random,mix] [--tasks CartPole,CartPole:rotated] [--seeds 40]
 *      [--model DIRECTORY] [--rows FILE] [--report] [--markdown FILE] [--card] [--seconds 3600]
 * `--card` writes the report into the model's card. `--constants` runs random search on separate seeds and writes the
 * constants that normalise returns.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { loadConfig } from '../../src/config/load.js';
import { makeEnvironment } from '../../src/environments/catalogue/open.js';
import { confirmationSeeds, repeatSeeds } from '../../src/random/seeds.js';
import { evaluate } from '../../src/rollout/evaluation.js';
import { type BufferEntry, bestEntries } from '../../src/rollout/replay-buffer.js';
import { mean } from '../../src/statistics/descriptive.js';
import { appendRow, readRows, rounded } from '../controls/rows.js';
import { fillBlock, modelCard } from '../tiny-improver/model-card.js';
import { firstAnswers, LoadedModels, localModel, play } from '../tiny-improver/play.js';
import { falsify } from './falsify.js';
import { mixedObservations } from './mixed.js';
import { arms, budgets, declared, type Row, runOverrides, tasks } from './plan.js';
import { embeddedPicture, embeddedReport } from './report.js';
import type { Constants } from './statistics.js';

const constantsFile = 'bench/embedded-constants.json';

const { values } = parseArgs({
  options: {
    arms: { type: 'string' },
    tasks: { type: 'string' },
    seeds: { type: 'string', default: '40' },
    model: { type: 'string', default: 'models/tiny-improver' },
    rows: { type: 'string', default: 'bench/rows/embedded.jsonl.gz' },
    report: { type: 'boolean', default: false },
    markdown: { type: 'string' },
    card: { type: 'boolean', default: false },
    seconds: { type: 'string' },
    constants: { type: 'boolean', default: false },
  },
});

function chosen(all: readonly string[], names: string | undefined): readonly string[] {
  const picked = names?.split(',') ?? all;
  const unknown = picked.find((name) => !all.includes(name));
  if (unknown !== undefined) throw new Error(`unknown: ${unknown}; choose from ${all.join(', ')}`);
  return picked;
}

const models = new LoadedModels();

async function rowOf(task: string, arm: string, seed: number): Promise<Row> {
  const started = performance.now();
  const plan = tasks[task]!;
  const { falsified, model, overrides } = arms[arm]!;
  const directory = resolve(values.model);
  const { config } = loadConfig({
    file: plan.config,
    overrides: [...runOverrides(plan, seed), ...(model ? localModel(directory) : []), ...overrides],
  });
  const environment = plan.mixed
    ? mixedObservations(await makeEnvironment(config.environment.id, config.environment.options))
    : undefined;
  const told = falsified && ((held: readonly BufferEntry[]) => falsify(held, falsified, seed));
  const { calls, close, entries, reason, setting } = await play(config, models, directory + overrides, {
    environment,
    told,
  });
  if (reason.kind !== 'iterations') throw new Error(`${task}, ${arm}, ${seed}: ${JSON.stringify(reason)}`);
  const at: number[] = [];
  const known = new Map<readonly number[], number>();
  for (const budget of budgets) {
    const { parameters } = bestEntries(entries.slice(0, budget), 1)[0]!;
    const fresh = confirmationSeeds(seed, 'final', plan.fresh ?? 100);
    const score = known.get(parameters) ?? (await evaluate(setting, parameters, fresh)).score;
    known.set(parameters, score);
    at.push(score);
  }
  await close();
  const { asked, failures } = firstAnswers(calls);
  const refused = Object.values(failures).reduce((sum, count) => sum + count, 0);
  const seconds = Number(((performance.now() - started) / 1000).toFixed(2));
  return { task, arm, seed, at: rounded(at), ...(model && { asked, valid: asked - refused }), seconds };
}

/** First seeds of the compared runs, and of the runs that give the constants. */
const firstSeeds = { compared: 1, constants: 900_001 } as const;

async function playAll(
  file: string,
  taskNames: readonly string[],
  armNames: readonly string[],
  first: number,
) {
  const keyOf = ({ arm, seed, task }: Pick<Row, 'task' | 'arm' | 'seed'>) => `${task} ${arm} ${seed}`;
  const done = new Set(readRows<Row>(file).map(keyOf));
  const until = performance.now() + 1000 * Number(values.seconds ?? Number.POSITIVE_INFINITY);
  for (const seed of repeatSeeds(first, Number(values.seeds))) {
    for (const task of taskNames) {
      for (const arm of armNames) {
        if (done.has(keyOf({ task, arm, seed }))) continue;
        if (performance.now() > until) return;
        appendRow(file, await rowOf(task, arm, seed));
      }
    }
  }
}

/** The result of a long search, or a proven bound; docs/tasks.md says which. */
const highest: Readonly<Record<keyof typeof declared, number>> = {
  CartPole: 500,
  MountainCarContinuous: 90,
  Pendulum: -750,
  Acrobot: -80,
  InvertedPendulum: 1000,
  InvertedDoublePendulum: 9350,
  Reacher: -6.8,
  Swimmer: 350,
  Hopper: 1000,
  FrozenLake: 0.74,
  Nim: 1,
  Pong: 3,
  NavigationTrack: 4044,
};

/** Measured for the first model's card, with one episode per evaluation, because a run takes minutes. */
const measuredBefore: Readonly<Record<string, { low: number; runs: number }>> = {
  Swimmer: { low: 137.7, runs: 20 },
};

const readConstants = () =>
  JSON.parse(readFileSync(constantsFile, 'utf8')) as Readonly<Record<string, Constants & { runs: number }>>;

/** Runs random search for 100 evaluations, on seeds that no comparison uses. */
async function writeConstants(): Promise<void> {
  const file = 'bench/rows/embedded-constants.jsonl.gz';
  const names = chosen(Object.keys(declared), values.tasks);
  await playAll(file, names, ['random'], firstSeeds.constants);
  const rows = readRows<Row>(file);
  const constants = Object.entries(highest).flatMap(([task, high]) => {
    const reached = rows.filter((row) => row.task === task).map(({ at }) => at.at(-1)!);
    const before = measuredBefore[task];
    if (reached.length === 0) return before === undefined ? [] : [[task, { high, ...before }] as const];
    return [[task, { low: Number(mean(reached).toPrecision(5)), high, runs: reached.length }] as const];
  });
  writeFileSync(constantsFile, `${JSON.stringify(Object.fromEntries(constants), null, 2)}\n`);
}

async function main(): Promise<void> {
  if (values.constants) return writeConstants();
  const armNames = chosen(Object.keys(arms), values.arms);
  const taskNames = chosen(Object.keys(tasks), values.tasks ?? Object.keys(declared).join(','));
  if (!values.report) await playAll(values.rows, taskNames, armNames, firstSeeds.compared);
  const [rows, constants] = [readRows<Row>(values.rows), readConstants()];
  const text = embeddedReport(rows, constants);
  if (values.markdown !== undefined) writeFileSync(values.markdown, text);
  if (values.card) {
    fillBlock(modelCard, 'figures', `![The differences below, with their intervals](figures.svg)\n\n${text}`);
    writeFileSync(join(dirname(modelCard), 'figures.svg'), embeddedPicture(rows, constants));
  }
  process.stdout.write(text);
}

try {
  await main();
} finally {
  await models.close();
}
