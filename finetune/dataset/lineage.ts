/** Lineage of trained models. Training stores it next to the model; evaluation reads it. */
import { createHash } from 'node:crypto';
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { checkedValue, readJson, replaceFile } from '../../src/base/files/files.js';
import { packageVersion } from '../../src/base/package.js';
import { isGguf, openGguf } from '../../src/models/local/weights/gguf.js';
import { trainingFiles } from '../../src/runs/training-files.js';
import type { StepLoss } from '../engine/checkpoint.js';

/** Stored in a training run's output directory, and in the directory of its adapter, model or policy. */
export const lineageFile = trainingFiles.about;

const sourceSchema = z.looseObject({
  run: z.string(),
  environment: z.string(),
  model: z.string(),
  seed: z.number(),
  hash: z.string(),
  split: z.enum(['train', 'validation']),
  kept: z.number(),
});

const datasetSchema = z.looseObject({
  path: z.string(),
  /** Null if the dataset has no manifest. */
  recipe: z.string().nullable(),
  /** The dataset's runs; null if it has no manifest. */
  sources: z.array(sourceSchema).nullable(),
  files: z.record(z.string(), z.string()),
  /** True if the rows have changed since the manifest was written. */
  changed: z.boolean(),
});

const lineageSchema = z.looseObject({
  version: z.literal(1),
  kind: z.literal('training'),
  /** Version of policyloop that wrote the file. */
  policyloop: z.string(),
  /** `lora`, `full`, `scratch`, or another trainer's name for its method. */
  method: z.string(),
  base: z.looseObject({
    model: z.string(),
    /** `contentHash` of the model; null if it isn't available. */
    hash: z.string().nullable(),
    /** The adapter that the training continued. */
    adapter: z.string().optional(),
    /** Lineage of `adapter` or else of the base; null if it has none, or the base's weights are missing or unused. */
    get lineage() {
      return lineageSchema.nullable();
    },
  }),
  dataset: datasetSchema,
  config: z.record(z.string(), z.unknown()),
  outcome: z.looseObject({
    ended: z.string(),
    step: z.number(),
    best: z.looseObject({ step: z.number(), loss: z.number() }).nullable(),
  }),
});

export type DatasetLineage = z.output<typeof datasetSchema>;
export type TrainingLineage = z.output<typeof lineageSchema>;

export interface TrainingFacts {
  readonly method: string;
  /** Path of the base model, or a name if there are no files. */
  readonly model: string;
  /** Directory of the adapter that the training continues. */
  readonly adapter?: string | undefined;
  readonly dataset: DatasetLineage;
  readonly config: object;
  readonly outcome: {
    readonly ended: string;
    readonly step: number;
    readonly best?: StepLoss | undefined;
    readonly message?: string;
    readonly hint?: string;
  };
}

export function trainingLineage(training: TrainingFacts): TrainingLineage {
  const { adapter, method, model, dataset, config, outcome } = training;
  const isAvailable = existsSync(model);
  return {
    version: 1,
    kind: 'training',
    policyloop: packageVersion(),
    method,
    base: {
      model,
      hash: isAvailable ? contentHash(model) : null,
      // Training from scratch uses only the base's architecture, so the base's lineage doesn't matter.
      lineage: isAvailable && method !== 'scratch' ? (readLineage(adapter ?? model) ?? null) : null,
      ...(adapter !== undefined && { adapter }),
    },
    dataset,
    config: JSON.parse(JSON.stringify(config)) as Record<string, unknown>,
    outcome: { ...outcome, best: outcome.best ?? null },
  };
}

/** Writes `training.json` to the output directory. `use`: command that uses the result. */
export function writeTraining(
  output: string,
  training: TrainingFacts,
  extraFields: { readonly command: string; readonly folder: string; readonly use?: string | undefined },
): TrainingLineage {
  const lineage = trainingLineage(training);
  writeLineage(output, { ...lineage, ...extraFields });
  return lineage;
}

export function writeLineage(directory: string, lineage: TrainingLineage): void {
  mkdirSync(directory, { recursive: true });
  replaceFile(join(directory, lineageFile), `${JSON.stringify(lineage, null, 2)}\n`);
}

/** @throws UserError if the file is damaged */
export const readLineage = (directory: string): TrainingLineage | undefined =>
  readValidated(join(directory, lineageFile), lineageSchema);

/** Describes played episodes as a dataset; `episodeCounts` is the number of episodes per environment. */
export function playedLineage(
  path: string,
  model: string,
  seed: number,
  episodeCounts: Readonly<Record<string, number>>,
): DatasetLineage {
  const source = { run: 'played while learning', model, seed, hash: '', split: 'train' } as const;
  const sources = Object.entries(episodeCounts).map(([environment, count]) => ({
    ...source,
    environment,
    kept: count,
  }));
  return { path, recipe: 'rl', sources, files: {}, changed: false };
}

export function datasetLineage(directory: string): DatasetLineage {
  const manifest = readValidated(
    join(directory, 'manifest.json'),
    z.looseObject({
      recipe: z.string(),
      sources: z.array(sourceSchema),
      files: z.record(z.string(), z.looseObject({ sha256: z.string() })),
    }),
  );
  const files = Object.fromEntries(
    ['train.jsonl', 'validation.jsonl']
      .filter((name) => existsSync(join(directory, name)))
      .map((name) => [name, fileHash(join(directory, name))]),
  );
  return {
    path: directory,
    recipe: manifest?.recipe ?? null,
    sources: manifest?.sources ?? null,
    files,
    changed: Object.entries(files).some(
      ([name, hash]) => manifest !== undefined && manifest.files[name]?.sha256 !== hash,
    ),
  };
}

/** Environments that the model and its bases were trained in; undefined if a dataset has no manifest or has changed. */
export function trainedEnvironments({ base, dataset }: TrainingLineage): readonly string[] | undefined {
  const inherited = base.lineage === null ? [] : trainedEnvironments(base.lineage);
  if (inherited === undefined || dataset.sources === null || dataset.changed) return undefined;
  const sources = dataset.sources.filter(({ split, kept }) => split === 'train' && kept > 0);
  return [...new Set([...inherited, ...sources.map(({ environment }) => environment)])].toSorted();
}

const maxWholeBytes = 64 * 2 ** 20;
const sampleBytes = 2 ** 20;

/** SHA-256 of the model files' names, sizes and contents; of files above 64 MiB, only the first and last MiB count. */
export function contentHash(model: string): string {
  const hash = createHash('sha256');
  for (const path of modelFiles(model).toSorted()) {
    const { size } = statSync(path);
    hash.update(JSON.stringify([basename(path), size]));
    const starts = size <= maxWholeBytes ? [0] : [0, size - sampleBytes];
    for (const at of starts) hash.update(readPart(path, at, size <= maxWholeBytes ? size : sampleBytes));
  }
  return hash.digest('hex');
}

function modelFiles(model: string): readonly string[] {
  if (isGguf(model)) return [...new Set([...openGguf(model).tensors.values()].map(({ file }) => file))];
  return readdirSync(model, { withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== lineageFile)
    .map(({ name }) => join(model, name));
}

/** SHA-256 of a file, read in pieces because a dataset can be too large for one buffer. */
export function fileHash(path: string): string {
  const hash = createHash('sha256');
  const { size } = statSync(path);
  for (let at = 0; at < size; at += maxWholeBytes) hash.update(readPart(path, at, maxWholeBytes));
  return hash.digest('hex');
}

function readPart(path: string, position: number, bytes: number): Buffer {
  const descriptor = openSync(path, 'r');
  try {
    const part = Buffer.alloc(bytes);
    return part.subarray(0, readSync(descriptor, part, 0, bytes, position));
  } finally {
    closeSync(descriptor);
  }
}

/** @throws UserError if the file is damaged */
function readValidated<T extends z.ZodType>(file: string, schema: T): z.output<T> | undefined {
  const content = readJson(file);
  return content === undefined ? undefined : checkedValue(schema, content, file, { prefix: 'damaged: ' });
}
