/** The steps from nothing to a trained model. Each goes on from what it finds, and does nothing where that is complete. */
import { existsSync, renameSync, rmSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { loadCollection } from '../../finetune/collection-config.js';
import { drawRun } from '../../finetune/collection-plan.js';
import { isComplete, openCollection } from '../../finetune/collection-record.js';
import { contentHash, fileHash, readLineage } from '../../finetune/lineage.js';
import { loadTrainConfig } from '../../finetune/train-config.js';
import type { DatasetManifest } from '../../finetune/write-dataset.js';
import { UserError } from '../../src/errors.js';
import { readJson } from '../../src/models/local/json-file.js';
import { packageRoot } from '../../src/package-root.js';
import { writeTinyModel } from '../tiny-model.js';
import { policyloop } from './command.js';
import type { Plan } from './recipe.js';

export const stepNames = ['initial', 'collect', 'dataset', 'train'] as const;
export type StepName = (typeof stepNames)[number];

export interface Step {
  readonly title: string;
  /** Where its result is. */
  place(plan: Plan): string;
  /** @throws UserError when what is there was made otherwise */
  isComplete(plan: Plan): boolean;
  /** @throws Interrupted when a signal stopped it */
  run(plan: Plan): Promise<void>;
}

export const steps: Readonly<Record<StepName, Step>> = {
  initial: {
    title: 'initial model',
    place: ({ places }) => places.initial,
    isComplete: ({ initial, places }) => {
      if (!existsSync(places.initial)) return false;
      const again = `${places.initial}.partial`;
      writeInitial(again, initial);
      const same = contentHash(again) === contentHash(places.initial);
      rmSync(again, { recursive: true });
      if (!same) throw madeOtherwise(places.initial, 'this is not the initial model of the recipe');
      return true;
    },
    async run({ initial, places }) {
      const partial = `${places.initial}.partial`;
      rmSync(partial, { recursive: true, force: true });
      writeInitial(partial, initial);
      renameSync(partial, places.initial);
    },
  },
  collect: {
    title: 'runs',
    place: ({ places }) => places.runs,
    isComplete(plan) {
      if (!existsSync(plan.places.runs)) return false;
      // Tells of runs that were begun with other settings.
      openCollection(collectionOf(plan))();
      return runNames(plan).every((name) => isComplete(join(plan.places.runs, name)));
    },
    run: ({ collection: { file, jobs, overrides } }) =>
      policyloop([
        ...['finetune', 'collect', fromRoot(file), ...overrides],
        ...(jobs === undefined ? [] : ['--jobs', String(jobs)]),
      ]),
  },
  dataset: {
    title: 'dataset',
    place: ({ places }) => places.dataset,
    isComplete(plan) {
      const { dataset, places } = plan;
      if (!existsSync(places.dataset)) return false;
      const manifest = readJson(join(places.dataset, 'manifest.json')) as DatasetManifest | undefined;
      if (manifest === undefined) throw madeOtherwise(places.dataset, 'this is no complete dataset');
      const { recipe, winners = 1, lookAhead = [0], augment, seed } = dataset;
      const options = { recipe, winners, lookAhead, augment, seed };
      const { winners: hadWinners = 1, lookAhead: hadAhead = [0], ...had } = manifest;
      const begun = {
        recipe: had.recipe,
        winners: hadWinners,
        lookAhead: hadAhead,
        augment: had.augment,
        seed: had.seed,
      };
      const made = had.sources.map(({ run }) => basename(run)).toSorted();
      if (!isDeepStrictEqual(options, begun) || !isDeepStrictEqual(made, runNames(plan)))
        throw madeOtherwise(places.dataset, 'this dataset is of other runs, or was made with other options');
      return true;
    },
    async run({ dataset, places }) {
      const partial = `${places.dataset}.partial`;
      rmSync(partial, { recursive: true, force: true });
      const { recipe, winners, lookAhead, augment, validation, seed } = dataset;
      await policyloop([
        ...['finetune', 'dataset', fromRoot(places.runs), '--recipe', recipe],
        ...['--winners', String(winners), '--look-ahead', lookAhead.join(',')],
        ...['--augment', String(augment), '--validation', validation, '--seed', String(seed)],
        ...['--out', fromRoot(partial)],
      ]);
      renameSync(partial, places.dataset);
    },
  },
  train: {
    title: 'training',
    place: ({ places }) => places.trained,
    isComplete({ train, places }) {
      const lineage = readLineage(trainedModel(places.trained));
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
    run: ({ train }) => policyloop(['finetune', 'train', fromRoot(train)]),
  },
};

/** The model in the output of a training. */
export const trainedModel = (output: string): string => join(output, 'model');

function writeInitial(directory: string, { seed, ...shape }: Plan['initial']): void {
  rmSync(directory, { recursive: true, force: true });
  writeTinyModel(directory, shape, seed);
}

const collectionOf = ({ collection: { file, overrides } }: Plan) => loadCollection(file, overrides);

function runNames(plan: Plan): readonly string[] {
  const collection = collectionOf(plan);
  return Array.from({ length: collection.runs }, (_, index) => drawRun(collection, index).name);
}

const fromRoot = (path: string) => relative(packageRoot(), path) || '.';

function madeOtherwise(place: string, message: string): UserError {
  return new UserError({ value: place, message, remedy: 'move it away, or restore the recipe' });
}
