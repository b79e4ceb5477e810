/** The steps to a trained model. Each resumes from existing results and does nothing if they are complete. */
import { existsSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { DatasetManifest } from '../../finetune/dataset/dataset.js';
import { contentHash, fileHash, readLineage } from '../../finetune/dataset/lineage.js';
import { loadTrainConfig } from '../../finetune/train/train-config.js';
import { UserError } from '../../src/base/errors.js';
import { packageRoot } from '../../src/base/package.js';
import { readJson } from '../../src/storage/files.js';
import { collectionPlace } from '../../src/studies/collection/collect.js';
import { loadCollection } from '../../src/studies/collection/collection-config.js';
import { drawRun } from '../../src/studies/collection/collection-plan.js';
import { isComplete, openPlan } from '../../src/studies/plan.js';
import { writeTinyModel } from '../tiny-model.js';
import { policyloop } from './command.js';
import { type Plan, type Round, trainedModel } from './recipe.js';

export interface Cost {
  readonly minutes: number;
  readonly gigabytes: number;
}

export interface Step {
  readonly title: string;
  /** Path of the step's result. */
  readonly place: string;
  /** File whose content identifies the result. */
  readonly hashed: string | undefined;
  readonly cost: Cost | undefined;
  /** @throws UserError if the existing result was made with other settings */
  isComplete(): boolean;
  /** @throws Interrupted if a signal stopped it */
  run(): Promise<void>;
}

/** All steps, in order. */
export function stepsOf(plan: Plan): readonly Step[] {
  const several = plan.rounds.length > 1;
  return [
    initialStep(plan),
    ...plan.rounds.flatMap((round, index) => {
      const named = (title: string) => (several ? `${title}, round ${index + 1}` : title);
      return [
        collectStep(round, named('runs')),
        datasetStep(round, named('dataset')),
        trainStep(round, named('training')),
      ];
    }),
  ];
}

function initialStep({ initial, places }: Plan): Step {
  const write = (directory: string) => {
    rmSync(directory, { recursive: true, force: true });
    const { seed, ...shape } = initial;
    writeTinyModel(directory, shape, seed);
  };
  const partial = `${places.initial}.partial`;
  return {
    title: 'initial model',
    place: places.initial,
    hashed: join(places.initial, 'model.safetensors'),
    cost: undefined,
    isComplete() {
      if (!existsSync(places.initial)) return false;
      write(partial);
      const same = contentHash(partial) === contentHash(places.initial);
      rmSync(partial, { recursive: true });
      if (!same) throw madeOtherwise(places.initial, 'this is not the initial model of the recipe');
      return true;
    },
    async run() {
      write(partial);
      renameSync(partial, places.initial);
    },
  };
}

function collectStep(round: Round, title: string): Step {
  const { collection, cost, places } = round;
  const { file, jobs, overrides } = collection;
  return {
    title,
    place: places.runs,
    hashed: undefined,
    cost: cost?.collect,
    isComplete() {
      if (!existsSync(places.runs)) return false;
      // Throws if the runs were started with other settings.
      openPlan('collection', collectionPlace(loadCollection(file, overrides)))();
      return runPaths(round).every(isComplete);
    },
    run: () =>
      policyloop([
        ...['finetune', 'collect', fromRoot(file), ...overrides],
        ...(jobs === undefined ? [] : ['--jobs', String(jobs)]),
      ]),
  };
}

function datasetStep(round: Round, title: string): Step {
  const { cost, dataset, earlier, places } = round;
  const before = earlier === undefined ? [] : runPaths(earlier.round).slice(0, earlier.runs);
  const sources = () => [...runPaths(round), ...before].map(named).toSorted();
  return {
    title,
    place: places.dataset,
    hashed: join(places.dataset, 'train.jsonl'),
    cost: cost?.dataset,
    isComplete() {
      if (!existsSync(places.dataset)) return false;
      const manifest = readJson(join(places.dataset, 'manifest.json')) as DatasetManifest | undefined;
      if (manifest === undefined) throw madeOtherwise(places.dataset, 'this is no complete dataset');
      const { validation: _, ...options } = dataset;
      const { augment, lookAhead = [0], recipe, seed, winners = 1 } = manifest;
      const made = manifest.sources.map(({ run }) => named(run)).toSorted();
      if (
        !isDeepStrictEqual(options, { recipe, winners, lookAhead, augment, seed }) ||
        !isDeepStrictEqual(made, sources())
      )
        throw madeOtherwise(places.dataset, 'this dataset is of other runs, or was made with other options');
      return true;
    },
    async run() {
      const partial = `${places.dataset}.partial`;
      rmSync(partial, { recursive: true, force: true });
      const { recipe, winners, lookAhead, augment, validation, seed } = dataset;
      await policyloop([
        ...['finetune', 'dataset', fromRoot(places.runs), ...before.map(fromRoot), '--recipe', recipe],
        ...['--winners', String(winners), '--look-ahead', lookAhead.join(',')],
        ...['--augment', String(augment), '--validation', validation, '--seed', String(seed)],
        ...['--out', fromRoot(partial)],
      ]);
      renameSync(partial, places.dataset);
    },
  };
}

function trainStep({ cost, places, train }: Round, title: string): Step {
  const result = trainedModel(places.trained);
  return {
    title,
    place: places.trained,
    hashed: join(result, 'model.safetensors'),
    cost: cost?.train,
    isComplete() {
      const lineage = readLineage(result);
      if (lineage === undefined) return false;
      const config: unknown = JSON.parse(JSON.stringify(loadTrainConfig(train)));
      const rows = Object.keys(lineage.dataset.files).map((name) => [
        name,
        fileHash(join(places.dataset, name)),
      ]);
      return (
        isDeepStrictEqual(lineage.config, config) &&
        isDeepStrictEqual(lineage.dataset.files, Object.fromEntries(rows))
      );
    },
    run: () => policyloop(['finetune', 'train', fromRoot(train)]),
  };
}

/** Paths of all runs of a round, existing or not, ordered by number. */
function runPaths({ collection: { file, overrides } }: Round): readonly string[] {
  const collection = loadCollection(file, overrides);
  return Array.from({ length: collection.runs }, (_, index) =>
    join(collection.output, drawRun(collection, index).name),
  );
}

/** Runs of different rounds may have the same number and task. */
const named = (run: string) => join(basename(dirname(run)), basename(run));

const fromRoot = (path: string) => relative(packageRoot(), path) || '.';

function madeOtherwise(place: string, message: string): UserError {
  return new UserError({ value: place, message, remedy: 'move it away, or restore the recipe' });
}
