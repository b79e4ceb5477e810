/**
 * Plays the embedded model and all baselines on eight new tasks, with the protocol of docs/results/tasks.md. Each line is
 * one run: the mean returns on 100 fresh episodes of the policies with the best scores after 20 and 50 evaluations.
 * Run: npx tsx models/tiny-improver/recipe/new-tasks/measure.ts ROWS.jsonl [SEEDS] [TASK...] (appends; rows that are there stay)
 */
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { packageRoot } from '../../../../src/base/package.js';
import { confirmationSeeds } from '../../../../src/base/random/seeds.js';
import { run } from '../../../../src/index.js';
import { evaluate } from '../../../../src/rollout/evaluation.js';
import { bestEntry } from '../../../../src/rollout/replay-buffer.js';
import { openTask } from '../../../../src/rollout/task.js';
import { readSources } from '../../../../src/studies/audit/source.js';

const budgets = [20, 50];
const warmup = 4;
const freshEpisodes = 100;
const here = join(packageRoot(), 'models', 'tiny-improver', 'recipe', 'new-tasks');
const all = ['ball-and-beam', 'truck', 'soft-landing', 'rotor', 'four-tanks', 'reactor', 'epidemic', 'stock'];
const arms = {
  model: { provider: 'local', temperature: 1 },
  random: { provider: 'random' },
  hill: { provider: 'hill-climb' },
  mix: { provider: 'mix' },
  cma: { provider: 'cma-es' },
  gp: { provider: 'gp' },
} as const;

const [file, seeds = '40', ...tasks] = process.argv.slice(2);
if (file === undefined) throw new Error('pass the file of the rows');
const keyOf = ({ arm, seed, task }: Record<string, unknown>) => `${task} ${arm} ${seed}`;
const lines = existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : [];
const done = new Set(lines.map((line) => keyOf(JSON.parse(line))));

for (let seed = 1; seed <= Number(seeds); seed++)
  for (const task of tasks.length === 0 ? all : tasks)
    for (const [arm, model] of Object.entries(arms))
      if (!done.has(keyOf({ arm, seed, task })))
        appendFileSync(
          file,
          `${JSON.stringify({ task, arm, seed, ...(await measured(task, model, seed)) })}\n`,
        );

async function measured(task: string, model: (typeof arms)[keyof typeof arms], seed: number) {
  const given = {
    environment: { id: join(here, 'environment.mjs'), options: { task } },
    policy: { kind: 'linear', bias: true, low: -6, high: 6, decimals: 1 },
    model,
    iterations: budgets.at(-1)! - warmup,
    warmup,
    evaluation: { episodes: 20 },
    memory: { best: 8, recent: 4 },
    prompts: { set: 'compact' },
    confirmation: { candidates: 0 },
    seed,
  } as const;
  const directory = mkdtempSync(join(tmpdir(), 'policyloop-'));
  try {
    const start = performance.now();
    const { status } = await run(given, { directory: join(directory, 'run') });
    const [played] = await readSources(
      { environment: undefined, policy: undefined, runsDir: '', sources: [join(directory, 'run')] },
      { cwd: directory, env: process.env, note: () => undefined },
    );
    const { config, evaluations, family } = played!;
    const environment = await openTask(config.environment, undefined, process.env);
    const setting = { environment, family, maxSteps: config.evaluation.maxSteps, record: 'none' } as const;
    const fresh = confirmationSeeds(seed, 'inspection', freshEpisodes);
    const at: number[] = [];
    for (const budget of budgets) {
      const { parameters } = bestEntry(evaluations.slice(0, budget))!;
      at.push((await evaluate(setting, parameters, fresh)).score);
    }
    const seconds = Number(((performance.now() - start) / 1000).toFixed(1));
    return { at, status, evaluations: evaluations.length, seconds };
  } finally {
    rmSync(directory, { recursive: true });
  }
}
