/** What the tiny improver is made of, and the smaller version that shows in minutes that the recipe works. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { z } from 'zod';
import { loadCollection } from '../../finetune/collection-config.js';
import { loadTrainConfig } from '../../finetune/train-config.js';
import { parseSource } from '../../src/config-source.js';
import { UserError } from '../../src/errors.js';
import { packageRoot } from '../../src/package-root.js';

const count = (minimum: number) => z.int().min(minimum);
const cost = z.strictObject({ minutes: z.number().positive(), gigabytes: z.number().positive() });

const settings = z.strictObject({
  initial: z.strictObject({
    layers: count(1),
    hidden: count(1),
    heads: count(1),
    intermediate: count(1),
    context: count(1),
    seed: count(0),
  }),
  dataset: z.strictObject({
    recipe: z.literal('best-of-group'),
    winners: count(1),
    lookAhead: z.array(count(0)).min(1),
    augment: count(0),
    validation: z.string(),
    seed: count(0),
  }),
  cost: z.strictObject({ collect: cost, dataset: cost, train: cost }),
});

export type Recipe = z.output<typeof settings>;

/** Where the embedded model and its recipe are. */
export const shippedModel = join(packageRoot(), 'models', 'tiny-improver');
export const recipeFolder = join(shippedModel, 'recipe');
const recipeFile = (name: string) => join(recipeFolder, name);

/** @throws UserError for a file that is not as it should be */
export function readRecipe(file = recipeFile('reproduce.yaml')): Recipe {
  const source = parseSource(readFileSync(file, 'utf8'), file);
  const parsed = settings.safeParse(source.content);
  if (parsed.success) return parsed.data;
  throw new UserError(
    parsed.error.issues.map(({ path, message }) => ({
      ...source.place(path, 'value'),
      field: path.join('.'),
      message,
    })),
  );
}

/** What is done, and where each step leaves its result. */
export interface Plan {
  readonly initial: Recipe['initial'];
  readonly dataset: Recipe['dataset'];
  readonly collection: {
    readonly file: string;
    readonly overrides: readonly string[];
    readonly runs: number;
    /** Runs at once; undefined: one a core. */
    readonly jobs: number | undefined;
  };
  /** Config of the training. */
  readonly train: string;
  /** Prompts that validity is measured with, of each task. */
  readonly prompts: number;
  readonly places: {
    readonly initial: string;
    readonly runs: string;
    readonly dataset: string;
    /** Output of the training. */
    readonly trained: string;
    readonly model: string;
  };
  readonly cost: Recipe['cost'] | undefined;
}

/** The whole of it: results stand where the recipe's own files say. */
export function fullPlan(model: string): Plan {
  const { initial, dataset, cost: expected } = readRecipe();
  const file = recipeFile('collect.yaml');
  const train = recipeFile('train.yaml');
  const collection = loadCollection(file);
  const { model: begun, dataset: examples, output } = loadTrainConfig(train);
  return {
    initial,
    dataset,
    collection: { file, overrides: [], runs: collection.runs, jobs: undefined },
    train,
    prompts: 8,
    places: { initial: begun, runs: collection.output, dataset: examples, trained: output, model },
    cost: expected,
  };
}

/**
 * The same recipe with fewer and shorter runs, a smaller model and fewer steps, on one core; its results stand in
 * `folder`, its config of the training is written there.
 */
export function smokePlan(folder: string): Plan {
  const { dataset } = readRecipe();
  const places = {
    initial: join(folder, 'initial'),
    runs: join(folder, 'runs'),
    dataset: join(folder, 'dataset'),
    trained: join(folder, 'trained'),
    model: join(folder, 'model'),
  };
  const collect = recipeFile('collect.yaml');
  const overrides = [
    `output=${places.runs}`,
    `runs=${smoke.runs}`,
    'experiment.candidates=16',
    'experiment.iterations={from: 6, to: 12}',
    'experiment.evaluation={episodes: 2, maxSteps: 50}',
    'proposers=[{weight: 1, model: {provider: mixture}}]',
  ];
  const train = join(folder, 'train.yaml');
  mkdirSync(folder, { recursive: true });
  writeTrainConfig(train, {
    model: places.initial,
    dataset: places.dataset,
    output: places.trained,
    ...smoke.training,
  });
  return {
    initial: smoke.initial,
    dataset: { ...dataset, winners: 2, augment: 2, validation: '0.15' },
    collection: { file: collect, overrides, runs: smoke.runs, jobs: 1 },
    train,
    prompts: 2,
    places,
    cost: undefined,
  };
}

const smoke = {
  runs: 24,
  initial: { layers: 2, hidden: 64, heads: 2, intermediate: 176, context: 2048, seed: 0 },
  training: { batchExamples: 8, warmupSteps: 5, evaluateEvery: 4, checkpointEvery: 20, threads: 1 },
};

/** The recipe's training with other values. What is there already and says the same is left alone. */
function writeTrainConfig(file: string, changes: Readonly<Record<string, unknown>>): void {
  const own = recipeFile('train.yaml');
  const content = parseSource(readFileSync(own, 'utf8'), own).content as Record<string, unknown>;
  const text = stringify({ ...content, ...changes });
  if (!existsSync(file) || readFileSync(file, 'utf8') !== text) writeFileSync(file, text);
}
