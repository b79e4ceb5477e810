/**
 * Records the rows of docs/results/large-model.md: the policies that a large model proposed, played on fresh episodes,
 * and the results of searches with as many evaluations.
 * Run: npx tsx scripts/large-model.ts MountainCar-v0 1000 FILE.csv... >> rows.jsonl (1000: fresh episodes per policy)
 */
import process from 'node:process';
import { confirmationSeeds } from '../src/base/random/seeds.js';
import { returnRange } from '../src/environments/catalogue/known-bounds.js';
import { playSeeds } from '../src/rollout/played.js';
import { vectorKey } from '../src/rollout/replay-buffer.js';
import { openTask } from '../src/rollout/task.js';
import { mean } from '../src/statistics/descriptive.js';
import { repeatSearches } from '../src/studies/audit/searches.js';
import { readSources } from '../src/studies/audit/source.js';

/** Numbers of proposals after which policies are compared. */
const proposals = [20, 50, 100, 200, 400];
/** The runs of the model began with this many random policies; the searches do, too. */
const warmup = 20;
const searches = ['random', 'hill-climb', 'cma-es', 'gp'] as const;
const repeats = 10;

const [environment = '', episodes, ...files] = process.argv.slice(2);
const seeds = confirmationSeeds(0, 'inspection', Number(episodes));
const { signal } = new AbortController();
const print = (row: object) => process.stdout.write(`${JSON.stringify({ environment, ...row })}\n`);
const sources = await readSources(
  { environment, policy: 'linear', runsDir: '', sources: files },
  { cwd: process.cwd(), env: process.env, note: () => undefined },
);
const [first] = sources;
if (first === undefined) throw new Error('no file');
const { config, family } = first;
const { maxSteps } = config.evaluation;
const task = await openTask(config.environment, undefined, process.env);
const setting = { environment: task, family, maxSteps, record: 'none' } as const;

for (const [i, { evaluations }] of sources.entries()) {
  const policies = new Map<string, { readonly mean: number; readonly behaviour: number }>();
  const behaviours = new Map<string, number>();
  for (const { parameters } of evaluations) {
    const key = vectorKey(parameters);
    if (policies.has(key)) continue;
    const { actionHash, returns } = await playSeeds(setting, parameters, seeds, signal);
    if (!behaviours.has(actionHash)) behaviours.set(actionHash, behaviours.size);
    policies.set(key, { mean: mean(returns), behaviour: behaviours.get(actionHash)! });
  }
  const own = evaluations.map(({ parameters }) => policies.get(vectorKey(parameters))!);
  print({
    by: 'gpt-oss:120b',
    run: i + 1,
    recorded: evaluations.map(({ returns }) => returns),
    means: own.map((policy) => policy.mean),
    behaviours: own.map(({ behaviour }) => behaviour),
  });
}

for (const search of searches) {
  const rows = await repeatSearches(setting, new Set(proposals.map((count) => warmup + count)), {
    searches: [search],
    repeats,
    seed: 1,
    episodes: 20,
    range: returnRange(config.environment, config.evaluation),
    measuringSeeds: seeds,
    signal,
    progress: { begin: () => {}, update: () => {} },
  });
  for (let i = 0; i < repeats; i++)
    print({ by: search, seed: 1 + i, proposals, means: rows.map(({ returns }) => returns[i]) });
}
await task.close?.();
