/**
 * Makes the embedded model again: `npm run reproduce:tiny-improver -- [--install] [--smoke]`. Two cores take about two
 * hours and a quarter. Run it again to resume after a stop. `--install` replaces the package's model; `--smoke` trains a
 * small model and checks that it has learned.
 */
import { fork, spawn } from 'node:child_process';
import { existsSync, renameSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { fileHash } from '../../../finetune/dataset/lineage.js';
import type { Metric } from '../../../finetune/train/events.js';
import { readJsonLines } from '../../../src/base/files/json-lines.js';
import { packageRoot } from '../../../src/base/package.js';
import { trainingFiles } from '../../../src/runs/training-files.js';
import { isDataset, joinParts, newDataset, writePart } from './examples.js';
import { writeTinyModel } from './initial-model.js';
import { heldOut, validityOf } from './measure.js';
import { fullRecipe, type Recipe, shippedModel, smokeRecipe } from './settings.js';
import { sharpHead } from './sharp-head.js';
import { storeModel } from './stored-model.js';

const { values } = parseArgs({
  options: {
    install: { type: 'boolean', default: false },
    smoke: { type: 'boolean', default: false },
    /** For child processes: plays this part of this round's runs, as `round/index/of`. */
    part: { type: 'string' },
  },
});
const recipe: Recipe = values.smoke ? smokeRecipe() : fullRecipe;
const folder = join(packageRoot(), 'buffers', values.smoke ? 'tiny-improver-smoke' : 'tiny-improver');
const initial = join(folder, 'initial');
const datasetOf = (round: number) => join(folder, `dataset-${round + 1}`);
const trainingOf = (round: number) => join(folder, `trained-${round + 1}`);
/** The model that a round has trained, or the initial one for -1. */
const modelOf = (round: number) => (round < 0 ? initial : join(trainingOf(round), 'model'));

/** Maximum heap in megabytes; the training holds its dataset in memory. */
const heapMegabytes = 8000;

const say = (text: string) => void process.stderr.write(`${text}\n`);
const percent = (value: number) => `${(100 * value).toFixed(0)} %`;

/** Waits for a child process. @throws Error unless it succeeds */
function ended(child: ReturnType<typeof spawn>): Promise<void> {
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code, signal) =>
      code === 0 ? resolve() : reject(new Error(`stopped (${code ?? signal}); the same command resumes`)),
    );
  });
}

async function writeDataset(round: number): Promise<void> {
  newDataset(datasetOf(round));
  const parts = values.smoke ? 1 : availableParallelism();
  const script = fileURLToPath(import.meta.url);
  await Promise.all(
    Array.from({ length: parts }, (_, index) =>
      ended(fork(script, [...(values.smoke ? ['--smoke'] : []), '--part', `${round}/${index}/${parts}`])),
    ),
  );
  joinParts(datasetOf(round), parts);
}

function train(round: number): Promise<void> {
  const { train: config, trainOverrides } = recipe.rounds[round]!;
  const paths = [`model=${modelOf(round - 1)}`, `dataset=${datasetOf(round)}`, `output=${trainingOf(round)}`];
  const node = [`--max-old-space-size=${heapMegabytes}`, '--import', 'tsx'];
  const command = [
    join(packageRoot(), 'src/cli.ts'),
    'finetune',
    'train',
    config,
    ...paths,
    ...trainOverrides,
  ];
  return ended(
    spawn(process.execPath, [...node, ...command], { cwd: packageRoot(), stdio: ['ignore', 2, 2] }),
  );
}

/** Index of the round to ship: the last one that won more than half of the tasks against the best before it. */
async function bestRound(): Promise<number> {
  let best = 0;
  for (let later = 1; later < recipe.rounds.length; later++) {
    const { winInterval, winRate } = await heldOut(modelOf(later), modelOf(best), recipe);
    const kept = winRate > 0.5;
    say(
      `round ${later + 1} beats round ${best + 1} on ${percent(winRate)} of ${recipe.heldOut.tasks} held-out tasks [${winInterval.map(percent).join(', ')}]: ${kept ? 'kept' : 'not kept'}`,
    );
    if (kept) best = later;
  }
  return best;
}

async function reproduce(): Promise<void> {
  const step = async (title: string, isDone: boolean, work: () => unknown) => {
    say(isDone ? `${title}: complete` : title);
    const started = performance.now();
    if (!isDone) await work();
    return ((performance.now() - started) / 1000).toFixed(1);
  };
  await step('initial model', existsSync(initial), () => {
    const { seed, ...shape } = recipe.initial;
    writeTinyModel(`${initial}.partial`, shape, seed);
    renameSync(`${initial}.partial`, initial);
  });
  for (const round of recipe.rounds.keys()) {
    await step(`round ${round + 1}: runs`, isDataset(datasetOf(round)), () => writeDataset(round));
    // A training that is complete does nothing.
    await step(`round ${round + 1}: training`, false, () => train(round));
  }
  say('comparison of the rounds, and the validity of answers');
  const best = await bestRound();
  const model = join(folder, 'model');
  const head = await sharpHead(modelOf(best), datasetOf(best), recipe.head);
  const { bytes, parameters } = storeModel(modelOf(best), model, head);
  const sampled = await validityOf(model, 'text', recipe);
  const constrained = await validityOf(model, 'constrained', recipe);
  process.stdout.write(
    `${model}: ${parameters} parameters, ${(bytes / 1e6).toFixed(1)} MB\nsha256 ${fileHash(join(model, 'model.safetensors'))}\nvalid answers: ${sampled.valid} of ${sampled.asked} as sampled, ${constrained.valid} of ${constrained.asked} constrained\n`,
  );
  if (values.smoke) requireLearnt(constrained);
  if (values.install) storeModel(model, shippedModel);
}

/** The validation loss must fall below this fraction of its first value. */
const clearly = 0.8;

/** @throws Error if the small version shows that the recipe doesn't work */
function requireLearnt({ asked, valid }: { readonly asked: number; readonly valid: number }): void {
  const metrics = readJsonLines<Metric>(join(trainingOf(0), trainingFiles.metrics), { repair: false }) ?? [];
  const losses = metrics.flatMap((metric) => (metric.kind === 'validation' ? [metric.loss] : []));
  if (!(losses.length > 1 && Math.min(...losses) < clearly * losses[0]!))
    throw new Error(`the validation loss did not fall clearly: ${losses.join(', ')}`);
  if (asked === 0 || valid !== asked)
    throw new Error(`only ${valid} of ${asked} constrained answers are valid`);
  say('the small version has learned, and its constrained answers are valid');
}

if (values.part !== undefined) {
  const [round, index, of] = values.part.split('/').map(Number) as [number, number, number];
  const { maxTokens, rounds } = recipe;
  const place = { folder: datasetOf(round), maxTokens, model: modelOf(round - 1) };
  await writePart(rounds, round, { index, of }, place);
} else {
  // The results of another version of this code would prove nothing.
  if (values.smoke) rmSync(folder, { recursive: true, force: true });
  await reproduce();
}
