/** The lineage of trained models: trainings write it beside the model, and evaluations read it. */

import { createHash } from 'node:crypto';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  statSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { UserError } from '../../src/base/errors.js';
import { version } from '../../src/base/package.js';
import { isGguf, openGguf } from '../../src/models/local/weights/gguf.js';
import { noteTraining, trainingFiles } from '../../src/runs/training-files.js';
import { replaceFile } from '../../src/storage/files.js';
import { parseJson } from '../../src/storage/json-depth.js';
import type { StepLoss } from '../engine/checkpoint.js';

/** In the output directory of a training, and in the adapter or model directory that it wrote. */
export const lineageFile = trainingFiles.about;

const sourceSchema = z.looseObject({
  run: z.string(),
  environment: z.string(),
  model: z.string(),
  seed: z.number(),
  /** SHA-256 of the run's files. */
  hash: z.string(),
  split: z.enum(['train', 'validation']),
  /** Examples of it in the dataset. */
  kept: z.number(),
});

export const datasetSchema = z.looseObject({
  path: z.string(),
  /** null where the dataset has no manifest. */
  recipe: z.string().nullable(),
  /** The runs it was made of; null where the dataset has no manifest. */
  sources: z.array(sourceSchema).nullable(),
  /** SHA-256 of the rows, by file name. */
  files: z.record(z.string(), z.string()),
  /** Whether rows differ from those that the manifest describes. */
  changed: z.boolean(),
});

const lineageSchema = z.looseObject({
  version: z.literal(1),
  kind: z.literal('training'),
  /** Version of the program that wrote this. */
  policyloop: z.string(),
  /** `lora`, `full`, `scratch`, or what another trainer calls it. */
  method: z.string(),
  base: z.looseObject({
    /** Path or name. */
    model: z.string(),
    /** `contentHash`; null where it isn't at hand. */
    hash: z.string().nullable(),
    /** The lineage of a base that was itself trained, where its weights were kept. */
    get lineage() {
      return lineageSchema.nullable();
    },
  }),
  dataset: datasetSchema,
  /** The training's settings. */
  config: z.record(z.string(), z.unknown()),
  outcome: z.looseObject({
    ended: z.string(),
    step: z.number(),
    /** The lowest validation loss. */
    best: z.looseObject({ step: z.number(), loss: z.number() }).nullable(),
  }),
});

export type DatasetLineage = z.output<typeof datasetSchema>;
export type TrainingLineage = z.output<typeof lineageSchema>;

export interface Training {
  readonly method: string;
  /** Directory of the model that was trained, or its name where it isn't at hand. */
  readonly model: string;
  readonly dataset: DatasetLineage;
  readonly config: object;
  readonly outcome: {
    readonly ended: string;
    readonly step: number;
    readonly best?: StepLoss | undefined;
    /** Why it failed. */
    readonly message?: string;
  };
}

export function trainingLineage({ method, model, dataset, config, outcome }: Training): TrainingLineage {
  const atHand = existsSync(model);
  return {
    version: 1,
    kind: 'training',
    policyloop: version(),
    method,
    base: {
      model,
      hash: atHand ? contentHash(model) : null,
      // Random weights keep nothing of the base but its shape.
      lineage: atHand && method !== 'scratch' ? (readLineage(model) ?? null) : null,
    },
    dataset,
    config: JSON.parse(JSON.stringify(config)) as Record<string, unknown>,
    outcome: { ...outcome, best: outcome.best ?? null },
  };
}

/** `training.json` in the output directory of a training, kept true while it goes on. */
export interface TrainingState {
  /** To be called once its checkpoint is known to be its own: a refused training changes nothing. */
  begin(): void;
  /**
   * @param dataset in place of what was known before
   * @returns the lineage of the result
   */
  end(outcome: Training['outcome'], dataset?: DatasetLineage): TrainingLineage;
  /** Says why it failed, where it had begun. */
  fail(outcome: Training['outcome']): void;
}

/** @param given the command that goes on with it, and the directory that it was given in */
export function trainingState(
  output: string,
  about: Omit<Training, 'outcome'>,
  given: { readonly command: string; readonly folder: string },
): TrainingState {
  let begun = false;
  const write = (outcome: Training['outcome'], dataset = about.dataset) => {
    const lineage = trainingLineage({ ...about, dataset, outcome });
    writeLineage(output, { ...lineage, ...given });
    return lineage;
  };
  return {
    begin() {
      begun = true;
      noteTraining(given.folder, output);
      write({ ended: 'running', step: 0 });
    },
    end: write,
    fail: (outcome) => begun && write(outcome),
  };
}

/** Writes the lineage into the directory; a crash leaves the old file or the new one. */
export function writeLineage(directory: string, lineage: TrainingLineage): void {
  mkdirSync(directory, { recursive: true });
  replaceFile(join(directory, lineageFile), `${JSON.stringify(lineage, null, 2)}\n`);
}

/**
 * The lineage in a directory; undefined where there is none.
 * @throws UserError when the file is damaged
 */
export function readLineage(directory: string): TrainingLineage | undefined {
  return readAs(join(directory, lineageFile), lineageSchema);
}

/** The dataset in a directory as lineage has it; its rows are read to be hashed. */
export function datasetLineage(directory: string): DatasetLineage {
  const manifest = readAs(
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

/**
 * Ids of the environments whose runs a model has learnt from, those of its base included; undefined where one of the
 * datasets doesn't say, or has other rows than it says.
 */
export function trainedEnvironments({ base, dataset }: TrainingLineage): readonly string[] | undefined {
  const before = base.lineage === null ? [] : trainedEnvironments(base.lineage);
  if (before === undefined || dataset.sources === null || dataset.changed) return undefined;
  const own = dataset.sources.filter(({ split, kept }) => split === 'train' && kept > 0);
  return [...new Set([...before, ...own.map(({ environment }) => environment)])].toSorted();
}

const wholeBytes = 64 * 2 ** 20;
const sampleBytes = 2 ** 20;

/**
 * Identifies the contents of a directory of weights, or of a GGUF file with all its parts: SHA-256 over the files' names,
 * sizes and contents, of files above 64 MiB their first and last MiB (a header lists every tensor). Lineage and
 * sub-directories don't count.
 */
export function contentHash(model: string): string {
  const hash = createHash('sha256');
  for (const path of weightFiles(model).toSorted()) {
    const { size } = statSync(path);
    hash.update(JSON.stringify([basename(path), size]));
    if (size <= wholeBytes) hash.update(readFileSync(path));
    else for (const at of [0, size - sampleBytes]) hash.update(readPart(path, at, sampleBytes));
  }
  return hash.digest('hex');
}

function weightFiles(model: string): readonly string[] {
  if (isGguf(model)) return [...new Set([...openGguf(model).tensors.values()].map(({ file }) => file))];
  return readdirSync(model, { withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== lineageFile)
    .map(({ name }) => join(model, name));
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

/** SHA-256 of a file, read piece by piece: a dataset can be longer than a buffer. */
export function fileHash(path: string): string {
  const hash = createHash('sha256');
  const { size } = statSync(path);
  for (let at = 0; at < size; at += wholeBytes) hash.update(readPart(path, at, wholeBytes));
  return hash.digest('hex');
}

function readAs<T extends z.ZodType>(file: string, schema: T): z.output<T> | undefined {
  if (!existsSync(file)) return undefined;
  const damaged = (message: string) =>
    new UserError({
      file,
      message: `this file is damaged: ${message}`,
      remedy: 'restore it from a copy, or remove it',
    });
  let content: unknown;
  try {
    content = parseJson(readFileSync(file, 'utf8'));
  } catch {
    throw damaged('it is no JSON');
  }
  const parsed = schema.safeParse(content);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0]!;
  throw damaged(`${issue.path.join('.') || 'content'}: ${issue.message}`);
}
