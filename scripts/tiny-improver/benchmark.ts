/**
 * Plays the tiny improver and the controls on the tasks that it never saw, with the same budget and the same warm-up
 * policies: `tsx scripts/tiny-improver/benchmark.ts <model> --out DIR [--tasks a,b] [--arms a,b] [--seeds 20] [--initial DIR]`.
 * Resumable: what `results.jsonl` holds is not played again.
 */
import { fork } from 'node:child_process';
import { appendFileSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { loadConfig } from '../../src/config/load.js';
import { confirmationSeeds, repeatSeeds } from '../../src/random/seeds.js';
import { evaluate } from '../../src/rollout/evaluation.js';
import { bestEntries } from '../../src/rollout/replay-buffer.js';
import { readJsonLines } from '../../src/storage/json-lines.js';
import { type Arm, arms, budgets, type Result, tasks, warmup } from './benchmark-plan.js';
import { compactRun, firstAnswers, LoadedModels, localModel, play } from './play.js';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    out: { type: 'string' },
    tasks: { type: 'string' },
    arms: { type: 'string' },
    seeds: { type: 'string', default: '20' },
    seed: { type: 'string', default: '1' },
    jobs: { type: 'string', default: '1' },
    share: { type: 'string', default: '0' },
    set: { type: 'string', multiple: true, default: [] },
    initial: { type: 'string', default: 'buffers/tiny-improver-initial' },
  },
});
const directories = {
  measured: resolve(positionals[0] ?? 'models/tiny-improver'),
  initial: resolve(values.initial),
};
const out = resolve(values.out ?? 'buffers/tiny-improver-benchmark');
const jobs = Number(values.jobs);
const share = Number(values.share);
/** One of several processes. */
const isJob = process.env.BENCHMARK_CHILD !== undefined;
const file = join(out, 'results.jsonl');

function chosen(all: Readonly<Record<string, unknown>>, names: string | undefined): readonly string[] {
  const known = Object.keys(all);
  const picked = names?.split(',') ?? known;
  const unknown = picked.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Error(`no ${unknown}; there are ${known.join(', ')}`);
  return picked;
}

interface Planned {
  readonly task: string;
  readonly arm: string;
  readonly seed: number;
}

/** What this process plays: which job has what doesn't depend on what is done, so that no two play the same. */
function plan(): readonly Planned[] {
  const done = new Set((readJsonLines<Result>(file, { repair: !isJob }) ?? []).map(keyOf));
  return repeatSeeds(Number(values.seed), Number(values.seeds))
    .flatMap((seed, s) =>
      chosen(tasks, values.tasks).flatMap((task, t) =>
        chosen(arms, values.arms).map((arm, a) => ({ task, arm, seed, job: (s + t + a) % jobs })),
      ),
    )
    .filter((one) => (!isJob || one.job === share) && !done.has(keyOf(one)));
}

const keyOf = ({ task, arm, seed }: Planned) => `${task} ${arm} ${seed}`;

/** Models are loaded once for all their runs. */
const models = new LoadedModels();

async function result({ task, arm, seed }: Planned): Promise<Result> {
  const started = performance.now();
  const { config, overrides, fresh = 100 } = tasks[task]!;
  const all = [...common, ...overrides, ...armOverrides(arms[arm]!), `seed=${seed}`];
  const { reason, entries, calls, setting, close } = await play(
    loadConfig({ file: config, overrides: all }).config,
    models,
    arm,
  );
  if (reason.kind !== 'iterations') throw new Error(`${task}, ${arm}, ${seed}: ${JSON.stringify(reason)}`);
  const at: Record<number, number> = {};
  for (const budget of budgets) {
    const [best] = bestEntries(entries.slice(0, budget), 1);
    const { score } = await evaluate(setting, best!.parameters, confirmationSeeds(seed, 'final', fresh));
    at[budget] = score;
  }
  await close();
  const seconds = Number(((performance.now() - started) / 1000).toFixed(2));
  return { task, arm, seed, at, evaluations: entries.length, ...firstAnswers(calls), seconds };
}

const common = [
  ...compactRun,
  `warmup=${warmup}`,
  `iterations=${budgets.at(-1)! - warmup}`,
  'candidates=1',
  ...values.set,
];

const armOverrides = ({ overrides, model: own }: Arm) => [
  ...(own === undefined ? [] : localModel(directories[own])),
  ...overrides,
];

async function main(): Promise<void> {
  mkdirSync(out, { recursive: true });
  if (jobs > 1 && !isJob) {
    plan();
    await Promise.all(
      Array.from(
        { length: jobs },
        (_, i) =>
          new Promise<void>((done, failed) => {
            const child = fork(fileURLToPath(import.meta.url), [...process.argv.slice(2), `--share=${i}`], {
              env: { ...process.env, BENCHMARK_CHILD: '1' },
            });
            child.on('exit', (code) => (code === 0 ? done() : failed(new Error(`a job ended with ${code}`))));
          }),
      ),
    );
    return;
  }
  for (const planned of plan()) {
    appendFileSync(file, `${JSON.stringify(await result(planned))}\n`);
  }
  await models.close();
}

await main();
