/** Makes token ids of messages and answers, by the code that renders prompts when the model serves. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { type Problem, UserError } from '../../src/base/errors.js';
import type { ChatMessage } from '../../src/models/language-model.js';
import type { ChatTokenizer } from '../../src/models/local/tokens/tokenizer.js';
import type { DecoderConfig } from '../../src/models/local/weights/decoder-config.js';
import { readGenerationDefaults } from '../../src/models/local/weights/generation-config.js';
import { readJsonLines } from '../../src/storage/json-lines.js';
import type { TokenExample } from '../engine/batch.js';

/** A prompt and the answer to learn. */
export interface Conversation {
  readonly messages: readonly ChatMessage[];
  readonly completion: string;
  /** Weight of each token of the answer; a negative one makes it less likely. */
  readonly weight: number;
  /** The model that was served this prompt when it was logged, and the tokens counted then; absent where none were. */
  readonly served?: { readonly model: string; readonly promptTokens: number };
}

/**
 * The token that ends an answer: the tokenizer's, since chat templates write it, else the model's own.
 * @throws UserError when none is stated
 */
export function endOfAnswer(directory: string, config: DecoderConfig, tokenizer: ChatTokenizer): number {
  const end = tokenizer.eosTokens[0] ?? readGenerationDefaults(directory).eosTokens[0] ?? config.eosTokens[0];
  if (end === undefined)
    throw new UserError({
      field: 'model.path',
      value: directory,
      message:
        'neither tokenizer nor config names a token that ends an answer, so answers could not learn to end',
      remedy: 'state eos_token in tokenizer_config.json or eos_token_id in config.json',
    });
  return end;
}

/** The prompt as it is served, and the answer as the model would write it: its only control token is the last. */
export function renderExample(
  tokenizer: ChatTokenizer,
  end: number,
  { messages, completion, weight }: Conversation,
): TokenExample {
  return {
    promptIds: tokenizer.encodePrompt(messages),
    completionIds: [...tokenizer.encodeText(completion), end],
    weight,
  };
}

/**
 * Whether the chat template shows an answer in a longer conversation as it stood when it was given. Where it does not
 * (some templates drop thinking, or trim), a model that serves several turns sees other text than it was trained on.
 */
export function keepsAnswers(tokenizer: ChatTokenizer, { messages, completion }: Conversation): boolean {
  const answered = [...messages, { role: 'assistant', content: completion } as const];
  return tokenizer.promptText(answered).startsWith(tokenizer.promptText(messages) + completion);
}

export const promptSchema = z
  .array(z.object({ role: z.enum(['system', 'user', 'assistant']), content: z.string() }))
  .min(1);

const promptedSchema = z.looseObject({
  prompt: promptSchema,
  weight: z.number().default(1),
  lineage: z.looseObject({ model: z.string(), promptTokens: z.int().positive() }).optional().catch(undefined),
});

/** A row of the format jsonl that holds one answer to learn. */
const rowSchema = promptedSchema.extend({ completion: z.string().min(1) });

/** A row of the format jsonl that holds a pair. */
const pairSchema = promptedSchema.extend({ chosen: z.string().min(1), rejected: z.string().min(1) });

type Split = 'train' | 'validation';

/**
 * The conversations of one split; none where the file is empty.
 * @throws UserError when there is no such file, or a row is not an answer to learn
 */
export function readConversations(dataset: string, split: Split): readonly Conversation[] {
  return readRows(dataset, split, rowSchema, {
    message: 'this row is no answer to learn',
    remedy:
      'make the dataset with --format jsonl and a recipe other than preference, or train with objective.kind=dpo',
  }).map(({ completion, ...row }) => conversation(row, completion));
}

/**
 * The pairs of one split: of each the answer that was chosen, and next to it the other.
 * @throws UserError when there is no such file, or a row is no pair
 */
export function readComparisons(dataset: string, split: Split): readonly Conversation[] {
  return readRows(dataset, split, pairSchema, {
    message: 'this row is no pair of answers',
    remedy: 'make the dataset with --format jsonl --recipe preference, or train with objective.kind=sft',
  }).flatMap(({ chosen, rejected, ...row }) => [conversation(row, chosen), conversation(row, rejected)]);
}

function conversation(
  { prompt, weight, lineage }: z.output<typeof promptedSchema>,
  completion: string,
): Conversation {
  return {
    messages: prompt,
    completion,
    weight,
    ...(lineage && { served: { model: lineage.model, promptTokens: lineage.promptTokens } }),
  };
}

function readRows<T>(
  dataset: string,
  split: Split,
  schema: z.ZodType<T>,
  problem: { readonly message: string; readonly remedy: string },
): readonly T[] {
  const file = join(dataset, `${split}.jsonl`);
  if (!existsSync(file)) throw missing(dataset, split);
  return (readJsonLines<unknown>(file, { repair: false, links: 'follow' }) ?? []).map((row, index) =>
    checkedRow(schema, row, { file, line: index + 1, ...problem }),
  );
}

function missing(dataset: string, split: Split): UserError {
  const parquet = `${split}.parquet`;
  if (existsSync(join(dataset, parquet)))
    return new UserError({
      field: 'dataset',
      message: `this dataset is in Parquet (${parquet}), which other trainers read`,
      value: dataset,
      remedy: 'make it again with --format jsonl to train here',
    });
  return new UserError({
    field: 'dataset',
    message: `there is no ${split}.jsonl in this directory`,
    value: dataset,
    remedy: 'policyloop finetune dataset <runs> --recipe improvement --out DIR makes one',
  });
}

/** @throws UserError with the problem and the first issue, unless the row fits the schema */
export function checkedRow<T>(
  schema: z.ZodType<T>,
  row: unknown,
  problem: Required<Pick<Problem, 'file' | 'line' | 'message' | 'remedy'>>,
): T {
  const parsed = schema.safeParse(row);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0]!;
  throw new UserError({
    ...problem,
    field: issue.path.join('.'),
    message: `${problem.message}: ${issue.message}`,
  });
}
