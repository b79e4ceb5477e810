/** Reads datasets, and encodes their messages with the same code that renders prompts when a model is used. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { UserError } from '../../src/base/errors.js';
import { readJsonLines } from '../../src/base/files/json-lines.js';
import type { ChatMessage } from '../../src/models/language-model.js';
import type { ChatTokenizer } from '../../src/models/local/tokens/tokenizer.js';
import type { DecoderConfig } from '../../src/models/local/weights/decoder-config.js';
import { readGenerationDefaults } from '../../src/models/local/weights/generation-config.js';
import type { TokenExample } from '../engine/batch.js';

export interface Conversation {
  readonly messages: readonly ChatMessage[];
  readonly completion: string;
  /** Weight of each token of the reply; a negative weight makes the reply less likely. */
  readonly weight: number;
  /** The model that received this prompt, and the prompt's token count at that time. */
  readonly promptOrigin?: { readonly model: string; readonly promptTokens: number };
}

/** Returns the tokenizer's end token, or else the model's. @throws UserError if neither exists */
export function replyEndId(directory: string, config: DecoderConfig, tokenizer: ChatTokenizer): number {
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

/** Encodes the prompt as in generation, and the reply as the model would write it, followed by `endId`. */
export function encodeExample(
  tokenizer: ChatTokenizer,
  endId: number,
  { messages, completion, weight }: Conversation,
): TokenExample {
  return {
    promptIds: tokenizer.encodePrompt(messages),
    completionIds: [...tokenizer.encodeText(completion), endId],
    weight,
  };
}

const promptedSchema = z.looseObject({
  prompt: z.array(z.object({ role: z.enum(['system', 'user', 'assistant']), content: z.string() })).min(1),
  weight: z.number().default(1),
  lineage: z.looseObject({ model: z.string(), promptTokens: z.int().positive() }).optional().catch(undefined),
});
type PromptedRow = z.output<typeof promptedSchema>;

const nonEmptyText = z.string().min(1);
const rowSchema = promptedSchema.extend({ completion: nonEmptyText });
const pairSchema = promptedSchema.extend({ chosen: nonEmptyText, rejected: nonEmptyText });

type Split = 'train' | 'validation';

/** @throws UserError if the file doesn't exist, or the prompt, completion or weight of a row is invalid */
export function readConversations(dataset: string, split: Split): readonly Conversation[] {
  return readRows(dataset, split, rowSchema, {
    message: 'this row does not fit sft, which needs `prompt` and `completion`',
    hint: 'make the dataset with --format jsonl and a recipe other than preference, or train with objective.kind=dpo',
  }).map(({ completion, ...row }) => toConversation(row, completion));
}

/** @throws UserError if the file doesn't exist, or the prompt, a reply or the weight of a row is invalid */
export function readPairs(dataset: string, split: Split) {
  return readRows(dataset, split, pairSchema, {
    message: 'this row does not fit dpo, which needs `prompt`, `chosen` and `rejected`',
    hint: 'make the dataset with --format jsonl --recipe preference, or train with objective.kind=sft',
  });
}

/** Reads pairs as single conversations: each chosen reply comes right before the rejected one. */
export function readPairConversations(dataset: string, split: Split): readonly Conversation[] {
  return readPairs(dataset, split).flatMap(({ chosen, rejected, ...row }) => [
    toConversation(row, chosen),
    toConversation(row, rejected),
  ]);
}

function toConversation({ prompt, weight, lineage }: PromptedRow, completion: string): Conversation {
  return {
    messages: prompt,
    completion,
    weight,
    ...(lineage && { promptOrigin: { model: lineage.model, promptTokens: lineage.promptTokens } }),
  };
}

function readRows<T>(
  dataset: string,
  split: Split,
  schema: z.ZodType<T>,
  problem: { readonly message: string; readonly hint: string },
): readonly T[] {
  const file = join(dataset, `${split}.jsonl`);
  if (!existsSync(file))
    throw new UserError({
      field: 'dataset',
      message: `this directory has no ${split}.jsonl`,
      value: dataset,
      hint: 'create one: policyloop finetune dataset <runs> --recipe improvement --out DIR',
    });
  return (readJsonLines<unknown>(file, { repair: false, symlinks: 'follow' }) ?? []).map((row, index) => {
    const { data, error } = schema.safeParse(row);
    if (error === undefined) return data;
    const { message, path } = error.issues[0]!;
    throw new UserError({
      ...problem,
      file,
      line: index + 1,
      field: path.join('.'),
      message: `${problem.message}: ${message}`,
    });
  });
}
