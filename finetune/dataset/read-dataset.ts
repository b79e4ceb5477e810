/** Reads datasets, and encodes their messages with the same code that renders prompts when a model is used. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { type Problem, UserError } from '../../src/base/errors.js';
import { readJsonLines } from '../../src/base/files/json-lines.js';
import type { ChatMessage } from '../../src/models/language-model.js';
import type { ChatTokenizer } from '../../src/models/local/tokens/tokenizer.js';
import type { DecoderConfig } from '../../src/models/local/weights/decoder-config.js';
import { readGenerationDefaults } from '../../src/models/local/weights/generation-config.js';
import type { TokenExample } from '../engine/batch.js';
import type { Imitation, Preference } from './example.js';
import { datasetFiles } from './write-dataset.js';

export interface Conversation {
  readonly messages: readonly ChatMessage[];
  readonly completion: string;
  /** Weight of each answer token; a negative weight makes the answer less likely. */
  readonly weight: number;
  /** The model that received this prompt, and the prompt's token count at that time. */
  readonly served?: { readonly model: string; readonly promptTokens: number };
}

/** The end token that templates write after an answer, or else the model's. @throws UserError if neither exists */
export function endOfAnswer(directory: string, config: DecoderConfig, tokenizer: ChatTokenizer): number {
  const end = tokenizer.eosTokens[0] ?? readGenerationDefaults(directory).eosTokens[0] ?? config.eosTokens[0];
  if (end === undefined)
    throw new UserError({
      field: 'model',
      value: directory,
      message: 'neither the tokenizer nor the config defines an end token',
      hint: 'set eos_token in tokenizer_config.json or eos_token_id in config.json',
    });
  return end;
}

/** Encodes the prompt as when the model is used, and the answer as the model would write it, followed by `end`. */
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

/** True if the template leaves an answer unchanged; some templates trim it or drop its thinking. */
export function keepsAnswers(tokenizer: ChatTokenizer, { messages, completion }: Conversation): boolean {
  const answered = [...messages, { role: 'assistant', content: completion } as const];
  return tokenizer.promptText(answered).startsWith(tokenizer.promptText(messages) + completion);
}

const promptSchema = z
  .array(z.object({ role: z.enum(['system', 'user', 'assistant']), content: z.string() }))
  .min(1);

const promptedSchema = z.looseObject({
  prompt: promptSchema,
  weight: z.number().default(1),
  lineage: z.looseObject({ model: z.string(), promptTokens: z.int().positive() }).optional().catch(undefined),
});

const text = z.string().min(1);
const answers = { chosen: text, rejected: text };
const rowSchema = promptedSchema.extend({ completion: text });
const pairSchema = promptedSchema.extend(answers);

type Split = 'train' | 'validation';

/** @throws UserError if the file doesn't exist, or a row isn't a single answer */
export function readConversations(dataset: string, split: Split): readonly Conversation[] {
  return readRows(dataset, split, rowSchema, {
    message: "this row isn't a single answer",
    hint: 'make the dataset with --format jsonl and a recipe other than preference, or train with objective.kind=dpo',
  }).map(({ completion, ...row }) => conversation(row, completion));
}

/**
 * Reads pairs. Each chosen answer comes right before its rejected one.
 * @throws UserError if the file doesn't exist, or a row isn't a pair
 */
export function readComparisons(dataset: string, split: Split): readonly Conversation[] {
  return readRows(dataset, split, pairSchema, {
    message: "this row isn't a pair of answers",
    hint: 'make the dataset with --format jsonl --recipe preference, or train with objective.kind=sft',
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
  problem: { readonly message: string; readonly hint: string },
): readonly T[] {
  const file = join(dataset, `${split}.jsonl`);
  if (!existsSync(file)) throw missing(dataset, split);
  return (readJsonLines<unknown>(file, { repair: false, links: 'follow' }) ?? []).map((row, index) =>
    checkedRow(schema, row, { file, line: index + 1, ...problem }),
  );
}

function missing(dataset: string, split: Split): UserError {
  const isParquet = existsSync(join(dataset, `${split}.parquet`));
  return new UserError({
    field: 'dataset',
    message: isParquet
      ? 'this dataset is in Parquet format, for other trainers'
      : `this directory has no ${split}.jsonl`,
    value: dataset,
    hint: isParquet ? 'make the dataset with --format jsonl' : makeOne,
  });
}

const makeOne = 'create one: policyloop finetune dataset <runs> --recipe improvement --out DIR';

/** @throws UserError with `problem` and the first issue if the row doesn't match the schema */
function checkedRow<T>(
  schema: z.ZodType<T>,
  row: unknown,
  problem: Required<Pick<Problem, 'file' | 'line' | 'message' | 'hint'>>,
): T {
  const parsed = schema.safeParse(row);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0]!;
  const message = `${problem.message}: ${issue.message}`;
  throw new UserError({ ...problem, field: issue.path.join('.'), message });
}

/** An example as read from a file; its `lineage` isn't checked and may be null. */
type Stored<T extends Imitation | Preference> = Omit<T, 'lineage'> & { readonly lineage: unknown };
type StoredAnswer = Stored<Imitation>;
export type StoredExample = StoredAnswer | Stored<Preference>;

interface StoredDataset {
  readonly kind: StoredExample['kind'];
  readonly train: readonly StoredExample[];
  readonly validation: readonly StoredExample[];
}

const shared = { prompt: promptSchema, weight: z.number().default(1), lineage: z.unknown().default(null) };
const schemas = {
  imitation: z.object({
    ...shared,
    completion: text,
    kind: z.literal('imitation').default('imitation').catch('imitation'),
  }),
  preference: z.object({
    ...shared,
    ...answers,
    kind: z.literal('preference').default('preference').catch('preference'),
  }),
};

/**
 * Reads a dataset in our own format; `validation.jsonl` may be missing.
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
      message: existsSync(files.train) ? 'train.jsonl is empty' : 'this directory has no train.jsonl',
      value: dataset,
      hint: makeOne,
    });
  }
  const kind = typeof first === 'object' && first !== null && 'chosen' in first ? 'preference' : 'imitation';
  const examples = (file: string) =>
    read(file).map((row, i) =>
      checkedRow<StoredExample>(schemas[kind], row, {
        file,
        line: i + 1,
        message: "this row isn't an example",
        hint: 'make the dataset with policyloop finetune dataset … --format jsonl',
      }),
    );
  return { kind, train: examples(files.train), validation: examples(files.validation) };
}
