/**
 * The experiment of the first seed, made to work: GRPO on a model as the proposer for MountainCarContinuous. Each seed
 * learns by a ready config and is measured on fresh runs, of 20 episodes a policy; rows are appended, and seeds that have
 * one are left out. Learning goes on from its checkpoint.
 *
 * Run: npx tsx scripts/proposer/mountaincar.ts WORK-DIRECTORY [SEEDS] [CONFIG] [key=value …]
 * CONFIG is proposer-mountaincar, of the embedded model, or proposer-smollm, with model=PATH.
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { openLearning, planLearning } from '../../finetune/rl/assemble.js';
import type { RlEvent } from '../../finetune/rl/events.js';
import type { Sampler } from '../../finetune/rl/learning/episode.js';
import { learnOnline } from '../../finetune/rl/online.js';
import { loadProposerConfig, type ProposerConfig } from '../../finetune/rl/proposer/proposer-config.js';
import { openProposerTask } from '../../finetune/rl/proposer/proposer-task.js';
import { rewardSchema } from '../../src/config/learning/reward.js';
import { mean, meanInterval95 } from '../../src/statistics/descriptive.js';

interface Row {
  readonly seed: number;
  /** Of the learning. */
  readonly updates: number;
  readonly best: number | undefined;
  /** Share of groups without variance: in all updates, in the first ten, in the last ten. */
  readonly flat: readonly [number, number, number];
  /** Mean reward of the proposals in fresh runs, its 95 % interval, and that of the model before. */
  readonly meanReward: number;
  readonly interval: readonly [number, number];
  readonly before: number;
  readonly policyReturn: number | undefined;
  readonly minutes: number;
}

/** Fresh: of another seed than anything that was learnt from or chosen by; by the seed's measure, clip((R + 200) / 300). */
async function measured(config: ProposerConfig, sampler: Sampler) {
  const experiment = { ...config.experiment, evaluation: { episodes: 20 } };
  const evaluation = { ...config.evaluation, runs: 32 };
  const reward = rewardSchema.parse({ kind: 'return', low: -200, high: 100 });
  const fresh = { ...config, experiment, evaluation, reward, seed: 1_000_000 + config.seed };
  const task = await openProposerTask(fresh, process.env);
  return task.measure(sampler, [], fresh.seed);
}

async function rowOf(config: ProposerConfig): Promise<Row> {
  const started = performance.now();
  mkdirSync(config.output, { recursive: true });
  const learning = await openLearning(planLearning(config));
  const flat: number[] = [];
  const onEvent = (event: RlEvent) => {
    if (event.kind === 'step') flat.push(event.flat);
    if (event.kind === 'step' || event.kind === 'evaluation')
      process.stderr.write(`${JSON.stringify(event)}\n`);
  };
  try {
    learning.sampler.refresh(learning.parameters);
    const before = await measured(config, learning.sampler);
    const { best, parameters, step } = await learnOnline(learning, { onEvent });
    learning.sampler.refresh(parameters);
    const { policyReturn, values } = await measured(config, learning.sampler);
    return {
      ...{ seed: config.seed, updates: step, best: best?.step, policyReturn },
      flat: [mean(flat), mean(flat.slice(0, 10)), mean(flat.slice(-10))],
      ...{ meanReward: mean(values), interval: meanInterval95(values), before: mean(before.values) },
      minutes: (performance.now() - started) / 60_000,
    };
  } finally {
    await learning.close();
  }
}

const [work, seeds = '5', config = 'proposer-mountaincar', ...overrides] = process.argv.slice(2);
if (work === undefined) throw new Error('name a directory to work in');
const rows = `bench/rows/${config}.jsonl`;
const done = existsSync(rows)
  ? readFileSync(rows, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((text) => (JSON.parse(text) as Row).seed)
  : [];
for (let seed = 0; seed < Number(seeds); seed++) {
  if (done.includes(seed)) continue;
  const place = [`seed=${seed}`, `output=${join(work, `seed-${seed}`)}`, 'threads=1', 'baselines=[]'];
  const row = await rowOf(loadProposerConfig(`rl/${config}`, [...place, ...overrides]));
  appendFileSync(rows, `${JSON.stringify(row)}\n`);
}
