/**
 * Records the results of searches that continue from a model's first proposals, of the same searches from random
 * policies and of the model alone. Records of other systems and runs of `policyloop` are read as by `policyloop audit`;
 * runs of one task have different seeds. `--calls` counts a run's evaluations, including the warm-up; with `--calls
 * ''`, only the search alone is recorded. Each row is one search: the fresh mean returns of the policy with the best
 * score after each number of `--at`.
 * Run: npx tsx scripts/relay.ts ROWS.jsonl --seeds 10 --calls 5,10,20,40,80 --searches gp,cma-es,hill-climb
 *      --at 50,100,150,200 --fresh 1000 [--environment MountainCar-v0] SOURCE... (appends; keeps existing rows)
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { groupBy } from '../src/base/grouped.js';
import { createGenerator } from '../src/base/random/generator.js';
import { callSeed, confirmationSeeds, evaluationSeeds, warmupGenerator } from '../src/base/random/seeds.js';
import type { BaselineName } from '../src/config/baselines.js';
import { returnRange } from '../src/environments/catalogue/known-bounds.js';
import type { ParameterVector } from '../src/policies/policy.js';
import { createBaseline } from '../src/proposers/create-baseline.js';
import { evaluate } from '../src/rollout/evaluation.js';
import { bestEntry, type ScoredParameters, vectorKey } from '../src/rollout/replay-buffer.js';
import { openTask } from '../src/rollout/task.js';
import { readRun } from '../src/runs/reader.js';
import { largest } from '../src/statistics/descriptive.js';
import { type AuditSource, readSources } from '../src/studies/audit/source.js';

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
const done = new Set<string>();
const keyOf = ({ at = budgets, by, calls, environment, run, search, seed }: Record<string, unknown>) =>
  JSON.stringify([at, by, calls, environment, run, search, seed]);
if (existsSync(file))
  for (const line of readFileSync(file, 'utf8').trimEnd().split('\n')) done.add(keyOf(JSON.parse(line)));

const sources = await readSources(
  { environment: values.environment, policy: undefined, runsDir: '', sources: paths },
  { cwd: process.cwd(), env: process.env, note: () => undefined },
);

async function compare(own: readonly AuditSource[]) {
  const { config, family } = own[0]!;
  const { maxSteps } = config.evaluation;
  const task = await openTask(config.environment, undefined, process.env);
  const setting = { environment: task, family, maxSteps, record: 'none' } as const;
  const spec = family.parameters;
  const [low, high] = returnRange(config.environment, config.evaluation);
  const enough = Number.isFinite(high - low) ? high - 0.01 * (high - low) : high;
  const fresh = new Map<string, number>();
  const scored = new Map<string, ScoredParameters>();

  /** Plays the episodes of a seed; values outside the range are clipped to it. */
  async function scoreOf(seed: number, proposed: ParameterVector): Promise<ScoredParameters> {
    const parameters = proposed.map((value) => Math.min(spec.high, Math.max(spec.low, value)));
    const key = `${seed} ${vectorKey(parameters)}`;
    if (!scored.has(key)) {
      const { score } = await evaluate(setting, parameters, evaluationSeeds(seed, episodes));
      scored.set(key, { parameters, score });
    }
    return scored.get(key)!;
  }
  async function meanOf({ parameters }: ScoredParameters): Promise<number> {
    const key = vectorKey(parameters);
    if (!fresh.has(key)) fresh.set(key, (await evaluate(setting, parameters, measuring)).score);
    return fresh.get(key)!;
  }
  /** Counts a run's iterations, its evaluated proposals and its calls. */
  function madeBy(path: string) {
    const { calls, entries } = readRun(path);
    const iterations = new Set(calls.map(({ iteration }) => iteration)).size;
    const evaluated = entries.filter(({ iteration }) => iteration > 0).length;
    return { iterations, evaluated, asked: calls.length };
  }
  /** @param find returns all evaluations, also those of repeated vectors; not called if the row exists */
  async function record(row: Record<string, unknown>, find: () => Promise<readonly ScoredParameters[]>) {
    const named = { environment: config.environment.id, ...row };
    if (done.has(keyOf(named))) return;
    done.add(keyOf(named));
    const evaluations = await find();
    const bests = budgets.map((at) => bestEntry(evaluations.slice(0, at))!);
    const means: number[] = [];
    for (const best of bests) means.push(await meanOf(best));
    const scores = bests.map(({ score }) => score);
    const solved = evaluations.findIndex(({ score }) => score >= enough) + 1;
    const flat = evaluations.findIndex(({ score }) => score !== evaluations[0]!.score);
    const full = { ...named, at: budgets, means, scores };
    appendFileSync(file, `${JSON.stringify({ ...full, evaluations: evaluations.length, solved, flat })}\n`);
  }
  /** Continues from the first evaluations. Repeated vectors count as evaluations, but the search sees each once. */
  async function extend(search: (typeof searches)[number], seed: number, first: readonly ScoredParameters[]) {
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

  async function scoresOf(seed: number, proposed: readonly ParameterVector[]) {
    const evaluations: ScoredParameters[] = [];
    for (const parameters of proposed) evaluations.push(await scoreOf(seed, parameters));
    return evaluations;
  }
  // Continue a run only with its own seed, so that its scores stay as the model saw them.
  const isRun = values.environment === undefined;
  const seeds = isRun
    ? [...new Set(own.map((source) => source.config.seed))]
    : Array.from({ length: Number(values.seeds) }, (_, i) => i + 1);
  for (const seed of seeds) {
    const random = warmupGenerator(seed);
    const policies = Array.from({ length: warmup }, () => family.initial(random));
    for (const search of searches)
      await record({ by: 'random policies', run: 0, calls: 0, search, seed }, async () =>
        extend(search, seed, await scoresOf(seed, policies)),
      );
  }
  for (const calls of numbers(values.calls))
    for (const seed of seeds)
      for (const [i, { config: recorded, evaluations, name }] of own.entries()) {
        if (isRun && recorded.seed !== seed) continue;
        const proposed = evaluations.slice(0, largest(budgets)).map(({ parameters }) => parameters);
        const run = isRun ? seed : i + 1;
        const alone = { by: values.by, run, calls: proposed.length, search: 'none', seed };
        await record({ ...alone, ...(isRun && madeBy(name)) }, () => scoresOf(seed, proposed));
        for (const search of searches)
          await record({ ...alone, calls, search }, async () =>
            extend(search, seed, await scoresOf(seed, proposed.slice(0, calls))),
          );
      }
  await task.close?.();
}

for (const own of groupBy(sources, ({ task }) => task).values()) await compare(own);
