/**
 * Records what a search finds that continues from a model's first proposals, compared with the same search from random
 * policies and with the model alone. Records of other systems and runs of `policyloop` are read as by `policyloop audit`;
 * runs of one task have different seeds. `--calls` counts a run's evaluations, the warm-up included; with `--calls ''`,
 * only the search alone is recorded.
 * Each row is one search: the fresh mean returns of the policy with the best score after each number of `--at`.
 * Run: npx tsx scripts/relay.ts ROWS.jsonl --seeds 10 --calls 5,10,20,40,80 --searches gp,cma-es,hill-climb
 *      --at 50,100,150,200 --fresh 1000 [--environment MountainCar-v0] SOURCE... (appends; keeps existing rows)
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { createGenerator } from '../src/base/random/generator.js';
import { callSeed, confirmationSeeds, evaluationSeeds, warmupGenerator } from '../src/base/random/seeds.js';
import type { BaselineName } from '../src/config/baselines.js';
import { returnRange } from '../src/environments/catalogue/known-bounds.js';
import type { ParameterVector } from '../src/policies/policy.js';
import { createBaseline } from '../src/proposers/create-baseline.js';
import { evaluate } from '../src/rollout/evaluation.js';
import { bestEntry, type Evaluated, vectorKey } from '../src/rollout/replay-buffer.js';
import { openTask } from '../src/rollout/task.js';
import { readRun } from '../src/runs/reader.js';
import { largest } from '../src/statistics/descriptive.js';
import { readSources, type Source } from '../src/studies/audit/source.js';

/** A search without a model begins with this many random policies. */
const warmup = 20;
/** Episodes per evaluation. */
const episodes = 20;

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    environment: { type: 'string' },
    seeds: { type: 'string', default: '10' },
    calls: { type: 'string', default: '20' },
    searches: { type: 'string', default: 'gp' },
    at: { type: 'string', default: '100' },
    fresh: { type: 'string', default: '1000' },
    by: { type: 'string', default: 'gpt-oss:120b' },
  },
});
const [file = '', ...paths] = positionals;
const numbers = (text: string) => (text === '' ? [] : text.split(',').map(Number));
const budgets = numbers(values.at);
const searches = values.searches.split(',') as Exclude<BaselineName, 'genetic'>[];
const measuring = confirmationSeeds(0, 'inspection', Number(values.fresh));
const { signal } = new AbortController();
const done = new Set<string>();
const keyOf = ({ at = budgets, by, calls, environment, run, search, seed }: Record<string, unknown>) =>
  JSON.stringify([at, by, calls, environment, run, search, seed]);
if (existsSync(file))
  for (const line of readFileSync(file, 'utf8').trimEnd().split('\n')) done.add(keyOf(JSON.parse(line)));

const sources = await readSources(
  { environment: values.environment, policy: undefined, runsDir: '', sources: paths },
  { cwd: process.cwd(), env: process.env, note: () => undefined },
);

async function compare(own: readonly Source[]) {
  const { config, family } = own[0]!;
  const { maxSteps } = config.evaluation;
  const task = await openTask(config.environment, undefined, process.env);
  const setting = { environment: task, family, maxSteps, record: 'none' } as const;
  const spec = family.parameters;
  const [low, high] = returnRange(config.environment, config.evaluation);
  const enough = Number.isFinite(high - low) ? high - 0.01 * (high - low) : high;
  const fresh = new Map<string, number>();
  const scored = new Map<string, Evaluated>();

  /** Plays the episodes of a seed; values outside the range are clipped to it. */
  async function scoreOf(seed: number, proposed: ParameterVector): Promise<Evaluated> {
    const parameters = proposed.map((value) => Math.min(spec.high, Math.max(spec.low, value)));
    const key = `${seed} ${vectorKey(parameters)}`;
    if (!scored.has(key)) {
      const { score } = await evaluate(setting, parameters, evaluationSeeds(seed, episodes), signal);
      scored.set(key, { parameters, score });
    }
    return scored.get(key)!;
  }
  async function meanOf({ parameters }: Evaluated): Promise<number> {
    const key = vectorKey(parameters);
    if (!fresh.has(key)) fresh.set(key, (await evaluate(setting, parameters, measuring, signal)).score);
    return fresh.get(key)!;
  }
  /** How many of a run's iterations evaluated a proposal, after how many calls. */
  function madeBy(path: string) {
    const { calls, entries } = readRun(path);
    const evaluated = entries.filter(({ iteration }) => iteration > 0).length;
    return {
      iterations: new Set(calls.map(({ iteration }) => iteration)).size,
      evaluated,
      asked: calls.length,
    };
  }
  /** `evaluations` holds all of them, also those of repeated vectors. */
  async function write(row: Record<string, unknown>, evaluations: readonly Evaluated[]) {
    const means: number[] = [];
    for (const at of budgets) means.push(await meanOf(bestEntry(evaluations.slice(0, at))!));
    const solved = evaluations.findIndex(({ score }) => score >= enough) + 1;
    const scores = budgets.map((at) => bestEntry(evaluations.slice(0, at))!.score);
    const flat = evaluations.findIndex(({ score }) => score !== evaluations[0]!.score);
    const full = { environment: config.environment.id, ...row, at: budgets, means, scores };
    appendFileSync(file, `${JSON.stringify({ ...full, evaluations: evaluations.length, solved, flat })}\n`);
  }
  /** Continues from the first evaluations, which count, repeated or not; a search sees each vector once. */
  async function continued(search: (typeof searches)[number], seed: number, first: readonly Evaluated[]) {
    const { propose } = createBaseline({ provider: search });
    const evaluations = [...first];
    const history = [...new Map(first.map((one) => [vectorKey(one.parameters), one])).values()];
    const start = history.length;
    while (evaluations.length < largest(budgets) && !evaluations.some(({ score }) => score >= enough)) {
      const random = createGenerator(callSeed(seed, evaluations.length, 0, 0));
      const parameters = await propose({ parameters: spec, history, warmup: start }, random);
      const evaluated = await scoreOf(seed, parameters);
      history.push(evaluated);
      evaluations.push(evaluated);
    }
    return evaluations;
  }

  // A run is continued with its own seed only: its scores stay as the model saw them.
  const isRun = values.environment === undefined;
  const seeds = isRun
    ? [...new Set(own.map((source) => source.config.seed))]
    : Array.from({ length: Number(values.seeds) }, (_, i) => i + 1);
  const isDone = (row: Record<string, unknown>) =>
    done.has(keyOf({ environment: config.environment.id, ...row }));
  for (const seed of seeds) {
    const rows = searches.map((search) => ({ by: 'random policies', run: 0, calls: 0, search, seed }));
    const missing = rows.filter((row) => !isDone(row));
    if (missing.length === 0) continue;
    const random = warmupGenerator(seed);
    const policies: Evaluated[] = [];
    for (let i = 0; i < warmup; i++) policies.push(await scoreOf(seed, family.initial(random)));
    for (const row of missing) await write(row, await continued(row.search, seed, policies));
  }
  for (const calls of numbers(values.calls))
    for (const seed of seeds)
      for (const [i, { config: recorded, evaluations, name }] of own.entries()) {
        if (isRun && recorded.seed !== seed) continue;
        const model: Evaluated[] = [];
        const longest = evaluations.slice(0, largest(budgets));
        const alone = {
          by: values.by,
          run: isRun ? recorded.seed : i + 1,
          calls: longest.length,
          search: 'none',
          seed,
        };
        const rows = searches.map((search) => ({ ...alone, calls, search }));
        const missing = rows.filter((row) => !isDone(row));
        if (isDone(alone) && missing.length === 0) continue;
        for (const { parameters } of isDone(alone) ? longest.slice(0, calls) : longest)
          model.push(await scoreOf(seed, parameters));
        if (!isDone(alone)) {
          await write({ ...alone, ...(isRun && madeBy(name)) }, model);
          done.add(keyOf({ environment: config.environment.id, ...alone }));
        }
        for (const row of missing) await write(row, await continued(row.search, seed, model.slice(0, calls)));
      }
  await task.close?.();
}

const tasks = new Map<string, Source[]>();
for (const source of sources) tasks.set(source.task, [...(tasks.get(source.task) ?? []), source]);
for (const own of tasks.values()) await compare(own);
