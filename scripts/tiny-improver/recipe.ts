/** The recipe of the tiny improver, and a smaller version that shows in minutes that the recipe works. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { z } from 'zod';
import { loadTrainConfig } from '../../finetune/train/train-config.js';
import { UserError } from '../../src/base/errors.js';
import { packageRoot } from '../../src/base/package.js';
import { parseSource } from '../../src/settings/yaml-source.js';
import { loadCollection } from '../../src/studies/collection/collection-config.js';
import type { HeadSettings } from './sharp-head.js';

const count = (minimum: number) => z.int().min(minimum);
const cost = z.strictObject({ minutes: z.number().positive(), gigabytes: z.number().positive() });

const file = z.string().regex(/^[\w-]+\.yaml$/);

const settings = z.strictObject({
  initial: z.strictObject({
    layers: count(1),
    hidden: count(1),
    heads: count(1),
    intermediate: count(1),
    context: count(1),
    seed: count(0),
  }),
  rounds: z
    .array(
      z.strictObject({
        collect: file.describe('Config of the runs, in the directory of the recipe'),
        dataset: z.strictObject({
          recipe: z.literal('best-of-group'),
          winners: count(1),
          lookAhead: z.array(count(0)).min(1),
          augment: count(0),
          validation: z.string(),
          seed: count(0),
          earlier: count(0).default(0).describe('Number of runs of the previous round to include'),
        }),
        train: file.describe('Config of the training, in the directory of the recipe'),
        cost: z.strictObject({ collect: cost, dataset: cost, train: cost }),
      }),
    )
    .min(1),
  head: z.strictObject({
    examples: count(1).describe('Number of examples for fitting the language head'),
    steps: count(1),
  }),
  heldOut: z.strictObject({
    tasks: count(1).describe('Number of tasks; a later round is kept if it wins on more than half of them'),
    evaluations: count(10).describe('Evaluations per run, including the warm-up'),
    minutes: z.number().positive(),
  }),
});

export type Recipe = z.output<typeof settings>;

/** Directory of the embedded model and its recipe. */
export const shippedModel = join(packageRoot(), 'models', 'tiny-improver');
const recipeFolder = join(shippedModel, 'recipe');
export const recipeFile = (name: string): string => join(recipeFolder, name);

/** @throws UserError for an invalid file */
export function readRecipe(path = recipeFile('reproduce.yaml')): Recipe {
  const source = parseSource(readFileSync(path, 'utf8'), path);
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

/** One round: runs, the dataset and training made from them, and where these are stored. */
export interface Round {
  readonly collection: {
    readonly file: string;
    readonly overrides: readonly string[];
    readonly runs: number;
    /** Runs in parallel; undefined for one per core. */
    readonly jobs: number | undefined;
  };
  readonly dataset: Omit<Recipe['rounds'][number]['dataset'], 'earlier'>;
  /** The previous round, and how many of its first runs the dataset includes. */
  readonly earlier: { readonly round: Round; readonly runs: number } | undefined;
  /** Config of the training. */
  readonly train: string;
  readonly places: {
    readonly runs: string;
    readonly dataset: string;
    /** Output directory of the training. */
    readonly trained: string;
  };
  readonly cost: Recipe['rounds'][number]['cost'] | undefined;
}

/** Runs on held-out tasks that choose between rounds. */
export interface HeldOutPlan {
  readonly tasks: number;
  /** Evaluations per run, including the warm-up. */
  readonly evaluations: number;
  /** Maximum tokens per answer. */
  readonly maxTokens: number;
}

/** The whole reproduction: settings, and where results are stored. */
export interface Plan {
  readonly initial: Recipe['initial'];
  /** The first round starts from the initial model, each later one from the model of the previous round. */
  readonly rounds: readonly Round[];
  readonly heldOut: HeldOutPlan & { readonly minutes: number | undefined };
  readonly head: HeadSettings;
  /** Number of prompts per task for measuring validity. */
  readonly prompts: number;
  readonly places: { readonly initial: string; readonly model: string };
}

/** The full recipe; results are stored where its files say. */
export function fullPlan(model: string): Plan {
  const { head, heldOut, initial, rounds } = readRecipe();
  const planned: Round[] = [];
  for (const { collect, cost, dataset, train } of rounds) {
    const { earlier, ...options } = dataset;
    const collection = loadCollection(recipeFile(collect));
    const training = loadTrainConfig(recipeFile(train));
    planned.push({
      collection: { file: recipeFile(collect), overrides: [], runs: collection.runs, jobs: undefined },
      dataset: options,
      earlier: earlierRuns(planned, earlier),
      train: recipeFile(train),
      places: { runs: collection.output, dataset: training.dataset, trained: training.output },
      cost,
    });
  }
  return {
    initial,
    rounds: planned,
    heldOut: { ...heldOut, maxTokens: 512 },
    head,
    prompts: 8,
    places: { initial: loadTrainConfig(planned[0]!.train).model, model },
  };
}

const earlierRuns = (rounds: readonly Round[], runs: number) =>
  runs === 0 ? undefined : { round: rounds.at(-1)!, runs };

/** Directory of the model in a training's output. */
export const trainedModel = (output: string): string => join(output, 'model');

/**
 * The same recipe on one core, with fewer and shorter runs, a smaller model and fewer steps. Its results and training
 * configs are written to `folder`.
 */
export function smokePlan(folder: string): Plan {
  mkdirSync(folder, { recursive: true });
  const initial = join(folder, 'initial');
  const planned: Round[] = [];
  for (const [index, { collect, dataset, train }] of readRecipe().rounds.entries()) {
    const { earlier, ...options } = dataset;
    const small = index === 0 ? smoke.first : smoke.later;
    const before = planned.at(-1);
    const model = before === undefined ? initial : trainedModel(before.places.trained);
    const places = {
      runs: join(folder, `runs-${index + 1}`),
      dataset: join(folder, `dataset-${index + 1}`),
      trained: join(folder, `trained-${index + 1}`),
    };
    const config = join(folder, train);
    writeTrainConfig(config, train, {
      model,
      dataset: places.dataset,
      output: places.trained,
      ...smoke.training,
    });
    planned.push({
      collection: {
        file: recipeFile(collect),
        overrides: [
          `output=${places.runs}`,
          `runs=${small.runs}`,
          ...small.overrides(model, smoke.maxTokens),
        ],
        runs: small.runs,
        jobs: 1,
      },
      dataset: { ...options, ...small.dataset },
      earlier: earlierRuns(planned, Math.min(earlier, small.earlier)),
      train: config,
      places,
      cost: undefined,
    });
  }
  return {
    initial: smoke.initial,
    rounds: planned,
    heldOut: { tasks: 2, evaluations: 12, maxTokens: smoke.maxTokens, minutes: undefined },
    head: { examples: 40, steps: 20 },
    prompts: 2,
    places: { initial, model: join(folder, 'model') },
  };
}

const smoke = {
  /** A model that has learnt little doesn't end its answers. */
  maxTokens: 256,
  initial: { layers: 2, hidden: 64, heads: 2, intermediate: 176, context: 2048, seed: 0 },
  training: { batchExamples: 8, warmupSteps: 5, evaluateEvery: 4, checkpointEvery: 20, threads: 1 },
  first: {
    runs: 24,
    earlier: 0,
    dataset: { winners: 2, augment: 2, validation: '0.15' },
    overrides: () => [
      'experiment.candidates=16',
      'experiment.iterations={from: 6, to: 12}',
      'experiment.evaluation={episodes: 2, maxSteps: 50}',
      'proposers=[{weight: 1, model: {provider: mixture}}]',
    ],
  },
  later: {
    runs: 4,
    earlier: 8,
    dataset: { winners: 2, augment: 1, validation: '0.15' },
    overrides: (model: string, most: number) => [
      'experiment.candidates=8',
      'experiment.iterations=4',
      'experiment.evaluation={episodes: 2, maxSteps: 50}',
      `proposers=[{weight: 1, model: {provider: local, path: ${JSON.stringify(model)}, temperature: 1, format: constrained, threads: 1, device: cpu, maxTokens: ${most}}}]`,
    ],
  },
};

/** Writes a training config of the recipe with some values changed. Doesn't rewrite a file with the same text. */
function writeTrainConfig(path: string, name: string, changes: Readonly<Record<string, unknown>>): void {
  const own = recipeFile(name);
  const content = parseSource(readFileSync(own, 'utf8'), own).content as Record<string, unknown>;
  const text = stringify({ ...content, ...changes });
  if (!existsSync(path) || readFileSync(path, 'utf8') !== text) writeFileSync(path, text);
}
