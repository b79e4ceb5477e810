/** Examples of a dataset directory as they are handed to other trainers: answers to learn, or pairs. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { UserError } from '../../src/errors.js';
import { readJsonLines } from '../../src/storage/json-lines.js';
import type { Imitation, Preference } from './example.js';
import { datasetFiles } from './write-dataset.js';

type Prompted = Pick<Imitation, 'prompt' | 'weight'> & {
  /** As the dataset has it; null where it says nothing. */
  readonly lineage: unknown;
};
export type StoredAnswer = Prompted & Pick<Imitation, 'kind' | 'completion'>;
export type StoredPair = Prompted & Pick<Preference, 'kind' | 'chosen' | 'rejected'>;

/** Both splits of a dataset, of one kind. */
export type StoredDataset =
  | {
      readonly kind: 'imitation';
      readonly train: readonly StoredAnswer[];
      readonly validation: readonly StoredAnswer[];
    }
  | {
      readonly kind: 'preference';
      readonly train: readonly StoredPair[];
      readonly validation: readonly StoredPair[];
    };

const text = z.string().min(1);
const prompted = {
  prompt: z.array(z.object({ role: z.enum(['system', 'user', 'assistant']), content: z.string() })).min(1),
  weight: z.number().default(1),
  lineage: z.unknown().optional(),
};
const answerRow = z.looseObject({ ...prompted, completion: text });
const pairRow = z.looseObject({ ...prompted, chosen: text, rejected: text });

/**
 * Reads `train.jsonl` and `validation.jsonl` of the format jsonl; the latter may be missing.
 * @throws UserError when there is nothing to train on, or a row is of another format or kind than the first
 */
export function readStoredDataset(dataset: string): StoredDataset {
  const train = read(dataset, 'train');
  const first = train[0]?.row;
  if (first === undefined) {
    throw new UserError({
      field: 'dataset',
      message: existsSync(join(dataset, datasetFiles.train))
        ? 'its train.jsonl is empty: there is nothing to train on'
        : 'there is no train.jsonl in this directory',
      value: dataset,
      remedy: 'policyloop finetune dataset <runs> --recipe improvement --out DIR makes one',
    });
  }
  const validation = read(dataset, 'validation');
  if (typeof first === 'object' && first !== null && 'chosen' in first) {
    const pairs = (lines: readonly Line[]) =>
      lines.map((line): StoredPair => {
        const { prompt, weight, lineage, chosen, rejected } = parse(pairRow, line);
        return { kind: 'preference', prompt, weight, lineage: lineage ?? null, chosen, rejected };
      });
    return { kind: 'preference', train: pairs(train), validation: pairs(validation) };
  }
  const answers = (lines: readonly Line[]) =>
    lines.map((line): StoredAnswer => {
      const { prompt, weight, lineage, completion } = parse(answerRow, line);
      return { kind: 'imitation', prompt, weight, lineage: lineage ?? null, completion };
    });
  return { kind: 'imitation', train: answers(train), validation: answers(validation) };
}

interface Line {
  readonly file: string;
  readonly line: number;
  readonly row: unknown;
}

function read(dataset: string, split: 'train' | 'validation'): readonly Line[] {
  const file = join(dataset, datasetFiles[split]);
  return (readJsonLines<unknown>(file, { repair: false }) ?? []).map((row, i) => ({
    file,
    line: i + 1,
    row,
  }));
}

function parse<T>(schema: z.ZodType<T>, { file, line, row }: Line): T {
  const parsed = schema.safeParse(row);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0]!;
  throw new UserError({
    file,
    line,
    field: issue.path.join('.'),
    message: `this row is no example of a dataset: ${issue.message}`,
    remedy: 'make the dataset with policyloop finetune dataset … --format jsonl',
  });
}

/** What another trainer can learn of examples: those with a weight of 0 or less would teach it the opposite. */
export function learnable<T extends Prompted>(
  examples: readonly T[],
): { readonly kept: readonly T[]; readonly leftOut: number; readonly weighted: boolean } {
  const kept = examples.filter(({ weight }) => weight > 0);
  return {
    kept,
    leftOut: examples.length - kept.length,
    weighted: kept.some(({ weight }) => weight !== kept[0]!.weight),
  };
}
