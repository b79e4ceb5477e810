/** A dataset as the files that a fine-tuning API takes. */
import { createHash } from 'node:crypto';
import { UserError } from '../../src/errors.js';
import { openaiDpoRow, openaiSftRow } from '../dataset/row-formats.js';
import {
  learnable,
  readStoredDataset,
  type StoredAnswer,
  type StoredPair,
} from '../dataset/stored-examples.js';

export const hostedMethods = ['sft', 'dpo'] as const;
export type HostedMethod = (typeof hostedMethods)[number];

export interface TrainingFile {
  readonly rows: number;
  readonly sha256: string;
  readonly content: Uint8Array<ArrayBuffer>;
}

export interface TrainingFiles {
  readonly method: HostedMethod;
  readonly training: TrainingFile;
  /** undefined where nothing is held out. */
  readonly validation: TrainingFile | undefined;
  readonly warnings: readonly string[];
}

/** The largest provider takes no fewer rows. */
const fewestRows = 10;

/** The largest provider takes no longer files. */
const longestBytes = 512 * 2 ** 20;

/**
 * @param method undefined takes what suits the dataset
 * @throws UserError when the dataset can't be learnt from by this method, or is too long
 */
export function trainingFiles(directory: string, method: HostedMethod | undefined): TrainingFiles {
  const dataset = readStoredDataset(directory);
  const suited = dataset.kind === 'imitation' ? 'sft' : 'dpo';
  if (method !== undefined && method !== suited) {
    throw new UserError({
      field: '--method',
      message:
        suited === 'sft'
          ? 'dpo needs pairs of answers; this dataset holds single ones'
          : 'sft needs single answers; this dataset holds pairs',
      value: method,
      alternatives: [suited],
      remedy: `make a dataset with ${suited === 'sft' ? '--recipe preference' : 'another recipe than preference'}`,
    });
  }
  const train = learnable<StoredAnswer | StoredPair>(dataset.train);
  const validation = learnable<StoredAnswer | StoredPair>(dataset.validation);
  if (train.kept.length === 0) {
    throw new UserError({
      field: 'dataset',
      message: 'no example of it has a weight above 0: there is nothing to imitate',
      value: directory,
    });
  }
  const { weighted } = train;
  const leftOut = train.leftOut + validation.leftOut;
  return {
    method: suited,
    training: fileOf(train.kept, 'train.jsonl'),
    validation: validation.kept.length === 0 ? undefined : fileOf(validation.kept, 'validation.jsonl'),
    warnings: [
      ...(weighted ? ['hosted training takes no weight of an example: all count the same'] : []),
      ...(leftOut > 0 ? [`${leftOut} examples with a weight of 0 or less are left out`] : []),
      ...(train.kept.length < fewestRows
        ? [`there are only ${train.kept.length} examples; some servers refuse fewer than ${fewestRows}`]
        : []),
    ],
  };
}

function fileOf(examples: readonly (StoredAnswer | StoredPair)[], name: string): TrainingFile {
  const lines = examples.map((example, i) => {
    const last = example.prompt.at(-1)!;
    if (last.role !== 'user') {
      throw new UserError({
        file: name,
        line: i + 1,
        field: 'prompt',
        message: 'the last message before an answer must be the user’s',
        value: last.role,
      });
    }
    return Buffer.from(
      `${JSON.stringify(example.kind === 'imitation' ? openaiSftRow(example) : openaiDpoRow(example))}\n`,
    );
  });
  const content = Buffer.concat(lines);
  if (content.length > longestBytes) {
    throw new UserError({
      file: name,
      message: `this makes a file of ${content.length} bytes; uploads end at ${longestBytes}`,
      remedy: 'make a dataset of fewer runs',
    });
  }
  return { rows: lines.length, sha256: createHash('sha256').update(content).digest('hex'), content };
}
