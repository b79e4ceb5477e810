/**
 * Plays the tiny improver and the controls on the tasks that it never saw, with the same budget and the same warm-up
 * policies: `tsx scripts/tiny-improver/benchmark.ts <model> --out DIR [--tasks a,b] [--arms a,b] [--seeds 20]`.
 * Resumable: what `results.jsonl` holds is not played again.
 */
import { fork } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type Assembly, assemble, closeEnvironment, experimentIn } from '../../src/assemble.js';
import { bestEntries } from '../../src/confirmation.js';
import { evaluate } from '../../src/evaluation.js';
import { runExperiment } from '../../src/experiment.js';
import { loadConfig } from '../../src/load-config.js';
import type { LanguageModel } from '../../src/models/language-model.js';
import type { RunDirectory } from '../../src/run-directory.js';
import type { CallRecord } from '../../src/run-log.js';
import { confirmationSeeds, repeatSeeds } from '../../src/seeds.js';
import { type Arm, arms, budgets, type Result, tasks, warmup } from './benchmark-plan.js';

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
  },
});
const model = resolve(positionals[0] ?? 'models/tiny-improver');
const out = resolve(values.out ?? 'buffers/tiny-improver-benchmark');
const jobs = Number(values.jobs);
const file = join(out, 'results.jsonl');
const chosen = <T>(all: Readonly<Record<string, T>>, names: string | undefined): [string, T][] =>
  (names?.split(',') ?? Object.keys(all)).map((name) => [name, all[name]!]);

interface Planned {
  readonly task: string;
  readonly arm: string;
  readonly seed: number;
}

function plan(): readonly Planned[] {
  const done = new Set(
    existsSync(file)
      ? readFileSync(file, 'utf8')
          .split('\n')
          .filter(Boolean)
          .map((line) => keyOf(JSON.parse(line) as Result))
      : [],
  );
  const seeds = repeatSeeds(Number(values.seed), Number(values.seeds));
  return seeds
    .flatMap((seed) =>
      chosen(tasks, values.tasks).flatMap(([task]) =>
        chosen(arms, values.arms).map(([arm]) => ({ task, arm, seed })),
      ),
    )
    .filter((one) => !done.has(keyOf(one)));
}

const keyOf = ({ task, arm, seed }: Planned) => `${task} ${arm} ${seed}`;

/** Models are loaded once for all their runs. */
const loaded = new Map<string, LanguageModel>();

async function play({ task, arm, seed }: Planned): Promise<Result> {
  const started = performance.now();
  const { config: name, overrides, fresh = 100 } = tasks[task]!;
  const { config } = loadConfig({
    file: name,
    overrides: [...common, ...overrides, ...armOverrides(arms[arm]!), `seed=${seed}`],
  });
  const assembly = await assemble(config, process.env);
  const shared = loaded.get(arm) ?? assembly.model;
  if (!loaded.has(arm)) {
    await shared.open?.();
    loaded.set(arm, shared);
  }
  const calls: CallRecord[] = [];
  const experiment = {
    ...experimentIn(assembly, nowhere(assembly, seed), {
      emit: (event) => event.kind === 'call-finished' && calls.push(event.call),
      now: () => new Date(),
    }),
    model: shared,
  };
  const never = new AbortController().signal;
  const outcome = await runExperiment(experiment, { finish: never, abort: never });
  if (outcome.reason.kind !== 'iterations') throw new Error(JSON.stringify(outcome.reason));
  const { entries } = experiment.buffer;
  const at: Record<number, number> = {};
  for (const budget of budgets) {
    const [best] = bestEntries(entries.slice(0, budget), 1);
    const { score } = await evaluate(
      experiment.setting,
      best!.parameters,
      confirmationSeeds(seed, 'final', fresh),
    );
    at[budget] = score;
  }
  await closeEnvironment(assembly);
  const first = calls.filter(({ attempt }) => attempt === 0);
  const failures: Record<string, number> = {};
  for (const { outcome: result } of first) {
    if (result.kind === 'accepted') continue;
    const kind = result.kind === 'rejected' ? result.failure.kind : result.error;
    failures[kind] = (failures[kind] ?? 0) + 1;
  }
  return {
    task,
    arm,
    seed,
    at,
    evaluations: entries.length,
    asked: first.length,
    failures,
    seconds: Number(((performance.now() - started) / 1000).toFixed(2)),
  };
}

const common = [
  `warmup=${warmup}`,
  `iterations=${budgets.at(-1)! - warmup}`,
  'candidates=1',
  'prompts={set: compact}',
  'memory={best: 8, recent: 4}',
  'confirmation.candidates=0',
  'record=none',
  'evaluation.workers=1',
  ...values.set,
];

const armOverrides = ({ overrides, model: own }: Arm) => [
  ...overrides,
  ...(own === undefined ? [] : [`model.path=${model}`]),
];

/** An experiment's directory that keeps nothing. */
function nowhere({ config }: Assembly, seed: number): RunDirectory {
  return {
    path: '',
    manifest: { run: 'benchmark', seed, activeMs: 0, iterations: { done: 0, of: config.iterations } },
    recorded: { entries: [], episodes: [], calls: [], events: [], iteration: 0 },
    commit: async () => undefined,
  } as unknown as RunDirectory;
}

async function main(): Promise<void> {
  mkdirSync(out, { recursive: true });
  const share = Number(values.share);
  if (jobs > 1 && !process.env.BENCHMARK_CHILD) {
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
  for (const [i, planned] of plan().entries()) {
    if (jobs > 1 && i % jobs !== share) continue;
    const result = await play(planned);
    appendFileSync(file, `${JSON.stringify(result)}\n`);
  }
  for (const one of loaded.values()) await one.close?.();
}

await main();
