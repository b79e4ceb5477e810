import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { UserError } from '../src/errors.js';
import { readJsonLines } from '../src/json-lines.js';
import type { Conversation } from './rendering.js';

/** A row of the format jsonl that holds one answer to learn. */
const rowSchema = z.looseObject({
  prompt: z
    .array(z.looseObject({ role: z.enum(['system', 'user', 'assistant']), content: z.string() }))
    .min(1),
  completion: z.string().min(1),
  weight: z.number().default(1),
  lineage: z.looseObject({ model: z.string(), promptTokens: z.int().positive() }).optional().catch(undefined),
});

/**
 * The conversations of one split; none where the file is empty.
 * @throws UserError when there is no such file, or a row is not an answer to learn (pairs are for other trainers)
 */
export function readConversations(dataset: string, split: 'train' | 'validation'): readonly Conversation[] {
  const file = join(dataset, `${split}.jsonl`);
  if (!existsSync(file)) {
    const parquet = `${split}.parquet`;
    if (existsSync(join(dataset, parquet))) {
      throw new UserError({
        field: 'dataset',
        message: `this dataset is in Parquet (${parquet}), which other trainers read`,
        value: dataset,
        remedy: 'make it again with --format jsonl to train here',
      });
    }
    throw new UserError({
      field: 'dataset',
      message: `there is no ${split}.jsonl in this directory`,
      value: dataset,
      remedy: 'policyloop finetune dataset <runs> --recipe improvement --out DIR makes one',
    });
  }
  return (readJsonLines<unknown>(file, { repair: false }) ?? []).map((row, index): Conversation => {
    const parsed = rowSchema.safeParse(row);
    if (!parsed.success) {
      const issue = parsed.error.issues[0]!;
      throw new UserError({
        file,
        line: index + 1,
        field: issue.path.join('.'),
        message: `this row is no answer to learn: ${issue.message}`,
        remedy: 'make the dataset with --format jsonl and a recipe other than preference',
      });
    }
    const { prompt, completion, weight, lineage } = parsed.data;
    return {
      messages: prompt.map(({ role, content }) => ({ role, content })),
      completion,
      weight,
      ...(lineage && { served: { model: lineage.model, promptTokens: lineage.promptTokens } }),
    };
  });
}
