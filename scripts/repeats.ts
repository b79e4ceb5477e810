/**
 * Records the gain of `repeats: behaviour` over `parameters`, from runs of sweeps that differ only in this setting.
 * Plays fresh episodes with each run's best policy so far, at two points: after the number of evaluations that all runs
 * of its seed reach, and after ITERATIONS calls.
 * Run: npx tsx scripts/repeats.ts MODEL ITERATIONS DIRECTORY... >> rows.jsonl
 */
import process from 'node:process';
import { groupBy } from '../src/base/grouped.js';
import { confirmationSeeds } from '../src/base/random/seeds.js';
import { playSeeds } from '../src/rollout/played.js';
import { type BufferEntry, bestEntry, vectorKey } from '../src/rollout/replay-buffer.js';
import { openTask } from '../src/rollout/task.js';
import { runsBelow } from '../src/runs/finder.js';
import { readRun } from '../src/runs/reader.js';
import { mean } from '../src/statistics/descriptive.js';
import { readSources } from '../src/studies/audit/source.js';

const [model = '', iterations = '', ...directories] = process.argv.slice(2);
const measuring = confirmationSeeds(0, 'inspection', 1000);

const runs = await Promise.all(
  directories.flatMap(runsBelow).map(async (path) => {
    const [source] = await readSources(
      { runsDir: '', sources: [path] },
      { cwd: process.cwd(), env: process.env, note: () => undefined },
    );
    return { ...readRun(path), config: source!.config, family: source!.family };
  }),
);
const keyOf = ({ config }: (typeof runs)[number]) => `${config.environment.id} ${config.seed}`;

for (const arms of groupBy(runs, keyOf).values()) {
  const { config, family } = arms[0]!;
  const { maxSteps } = config.evaluation;
  const environment = await openTask(config.environment, undefined, process.env);
  const setting = { environment, family, maxSteps, record: 'none' } as const;
  const fewest = Math.min(...arms.map(({ entries }) => entries.length));
  const means = new Map<string, number>();
  const meanOf = async (entries: readonly BufferEntry[]) => {
    const { parameters } = bestEntry(entries)!;
    const key = vectorKey(parameters);
    if (!means.has(key)) means.set(key, mean((await playSeeds(setting, parameters, measuring)).returns));
    return means.get(key);
  };
  for (const { calls, config: own, entries } of arms) {
    // Calls of one iteration follow each other, and its evaluation comes after the last.
    const last = calls[Number(iterations) - 1];
    const next = calls[Number(iterations)];
    const until = last && last.iteration + (last.iteration === next?.iteration ? 0 : 1);
    const row = {
      ...{ model, environment: config.environment.id, seed: config.seed },
      repeats: own.repeats,
      ...{ calls: calls.length, proposals: entries.filter(({ iteration }) => iteration > 0).length },
      atEvaluations: [fewest, await meanOf(entries.slice(0, fewest))],
      atCalls: [
        Number(iterations),
        await meanOf(entries.filter(({ iteration }) => until === undefined || iteration < until)),
      ],
    };
    process.stdout.write(`${JSON.stringify(row)}\n`);
  }
  await environment.close?.();
}
