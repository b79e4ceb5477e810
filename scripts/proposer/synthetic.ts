/**
 * Whether reinforcement made a proposer better: runs on synthetic tasks that no training saw, with one candidate an
 * iteration and equal numbers of evaluations; the best policy of each is evaluated again on 50 fresh episodes. Rows are
 * appended, and those that are there are left out.
 *
 * Run: npx tsx scripts/proposer/synthetic.ts TASKS base=DIRECTORY tuned=DIRECTORY …
 * The directories are of models, or of learnings, whose last weights then count (not those of the best evaluation).
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { writeModel } from '../../finetune/export/model-directory.js';
import { toFloat32 } from '../../src/models/local/weights/quantization.js';
import { readSafetensors, readTensorBytes } from '../../src/models/local/weights/safetensors.js';
import { confirmationSeeds } from '../../src/random/seeds.js';
import { evaluate } from '../../src/rollout/evaluation.js';
import { bestEntries } from '../../src/rollout/replay-buffer.js';
import { comparePairs } from '../../src/statistics/paired.js';
import { loadCollection } from '../../src/studies/collection/collection-config.js';
import { configOfRun, drawRun } from '../../src/studies/collection/collection-plan.js';
import { LoadedModels, play } from '../tiny-improver/play.js';
import { recipeFile } from '../tiny-improver/recipe.js';

const rows = 'bench/rows/proposer-synthetic.jsonl';
const [warmup, evaluations, freshEpisodes] = [4, 100, 50];
/** Seed of the collection that the tasks are drawn from: no training has them. */
const seed = 1_000_003;

interface Row {
  readonly model: string;
  readonly task: number;
  readonly name: string;
  readonly return: number;
}

const known = (): readonly Row[] =>
  existsSync(rows)
    ? readFileSync(rows, 'utf8')
        .split('\n')
        .filter(Boolean)
        .map((text) => JSON.parse(text) as Row)
    : [];

/** The model of a directory; of a learning, one with its last weights is written beside its checkpoint. */
async function modelOf(directory: string): Promise<string> {
  const checkpoint = join(directory, 'checkpoint.safetensors');
  if (!existsSync(checkpoint)) return directory;
  const last = join(directory, 'last');
  if (existsSync(join(last, 'model.safetensors'))) return last;
  const parameters = readSafetensors(checkpoint).tensors.flatMap((tensor) =>
    tensor.name.startsWith('value.')
      ? [
          {
            name: tensor.name.slice('value.'.length),
            shape: tensor.shape,
            values: toFloat32(readTensorBytes(tensor), tensor.dtype),
          },
        ]
      : [],
  );
  await writeModel(last, join(directory, 'model'), parameters);
  return last;
}

async function play100(name: string, directory: string, tasks: number): Promise<void> {
  const model = `{provider: local, path: ${JSON.stringify(directory)}, temperature: 1, format: constrained, threads: 1, device: cpu, maxTokens: 1024}`;
  const collection = loadCollection(recipeFile('collect.yaml'), [
    `seed=${seed}`,
    'experiment.candidates=1',
    `experiment.iterations=${evaluations - warmup}`,
    `experiment.warmup=${warmup}`,
    `proposers=[{weight: 1, model: ${model}}]`,
  ]);
  const models = new LoadedModels();
  const done = new Set(known().flatMap((row) => (row.model === name ? [row.task] : [])));
  for (let task = 0; task < tasks; task++) {
    if (done.has(task)) continue;
    const draw = drawRun(collection, task);
    const config = configOfRun(collection, draw);
    const { close, entries, reason, setting } = await play(config, models, directory);
    if (reason.kind !== 'iterations') throw new Error(`task ${task}: ${JSON.stringify(reason)}`);
    const fresh = confirmationSeeds(config.seed, 'final', freshEpisodes);
    const { score } = await evaluate(setting, bestEntries(entries, 1)[0]!.parameters, fresh);
    await close();
    const row: Row = { model: name, task, name: draw.name, return: score };
    appendFileSync(rows, `${JSON.stringify(row)}\n`);
  }
  await models.close();
}

const [count = '128', ...named] = process.argv.slice(2);
const tasks = Number(count);
const models = named.map((text) => text.split('=') as [string, string]);
for (const [name, directory] of models) await play100(name, await modelOf(directory), tasks);
const returnsOf = (name: string) =>
  known()
    .filter((row) => row.model === name && row.task < tasks)
    .toSorted((a, b) => a.task - b.task)
    .map((row) => row.return);
const [base, ...others] = models.map(([name]) => name);
for (const name of others) {
  const { winInterval, winRate } = comparePairs(returnsOf(name), returnsOf(base!))!;
  process.stdout.write(
    `${name} ends higher than ${base} on ${(100 * winRate).toFixed(1)} % of ${tasks} tasks [${winInterval.join(', ')}]\n`,
  );
}
