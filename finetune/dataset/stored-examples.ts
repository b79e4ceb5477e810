/** Reads the examples of a dataset directory for other trainers: single answers or pairs. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { UserError } from '../../src/base/errors.js';
import { readJsonLines } from '../../src/storage/json-lines.js';
import type { Imitation, Preference } from './example.js';
import { checkedRow, promptSchema } from './read-dataset.js';
import { datasetFiles } from './write-dataset.js';

/** `lineage` is stored as the dataset has it; null if missing. */
type Stored<T extends Imitation | Preference> = Omit<T, 'lineage'> & { readonly lineage: unknown };
export type StoredAnswer = Stored<Imitation>;
export type StoredExample = StoredAnswer | Stored<Preference>;

/** Both splits of a dataset; all examples are of the same kind. */
export interface StoredDataset {
  readonly kind: StoredExample['kind'];
  readonly train: readonly StoredExample[];
  readonly validation: readonly StoredExample[];
}

const text = z.string().min(1);
const shared = {
  prompt: promptSchema,
  weight: z.number().default(1),
  lineage: z.unknown().default(null),
};
const schemas = {
  imitation: z
    .object({ ...shared, completion: text })
    .transform((row): StoredExample => ({ kind: 'imitation', ...row })),
  preference: z
    .object({ ...shared, chosen: text, rejected: text })
    .transform((row): StoredExample => ({ kind: 'preference', ...row })),
};

/**
 * Reads `train.jsonl` and `validation.jsonl` in our own format; the latter may be missing.
 * @throws UserError if there is nothing to train on, or a row differs in format or kind from the first
 */
export function readStoredDataset(dataset: string): StoredDataset {
  const files = {
    train: join(dataset, datasetFiles.train),
    validation: join(dataset, datasetFiles.validation),
  };
  const read = (file: string) => readJsonLines<unknown>(file, { repair: false, links: 'follow' }) ?? [];
  const [first] = read(files.train);
  if (first === undefined) {
    throw new UserError({
      field: 'dataset',
      message: existsSync(files.train)
        ? 'its train.jsonl is empty: there is nothing to train on'
        : 'there is no train.jsonl in this directory',
      value: dataset,
      remedy: 'policyloop finetune dataset <runs> --recipe improvement --out DIR makes one',
    });
  }
  const kind = typeof first === 'object' && first !== null && 'chosen' in first ? 'preference' : 'imitation';
  const examples = (file: string) =>
    read(file).map((row, i) =>
      checkedRow<StoredExample>(schemas[kind], row, {
        file,
        line: i + 1,
        message: 'this row is no example of a dataset',
        remedy: 'make the dataset with policyloop finetune dataset … --format jsonl',
      }),
    );
  return { kind, train: examples(files.train), validation: examples(files.validation) };
}
