/** Generation settings that a model's publisher recommends. */
import path from 'node:path';
import { z } from 'zod';
import { checkedValue, readJson } from '../../../base/files/files.js';
import { plainSampling, resolveSampling, type Sampling, type SamplingChoice } from '../../language-model.js';
import { type GgufFile, isGguf, openGguf } from './gguf.js';

/** Maximum token id, over ten times the largest vocabularies; limited because tables are as long as the largest id. */
export const maxTokenId = 4_194_303;

const tokenId = z.int().max(maxTokenId);
/** A token id or a list of them; both occur in configs. */
export const tokenIdsSchema = z.union([tokenId, z.array(tokenId)]).nullish();

export interface GenerationDefaults extends Partial<Sampling> {
  readonly eosTokens: readonly number[];
}

const generationSchema = z.looseObject({
  eos_token_id: tokenIdsSchema,
  temperature: z.number().min(0).nullish(),
  top_p: z.number().nullish(),
  top_k: z.int().nullish(),
  min_p: z.number().nullish(),
  repetition_penalty: z.number().nullish(),
});

/** Reads `generation_config.json`, if it exists. For a GGUF file, only the end tokens are known. */
export function readGenerationDefaults(directory: string): GenerationDefaults {
  if (isGguf(directory)) return { eosTokens: ggufEndTokens(openGguf(directory)) };
  const file = path.join(directory, 'generation_config.json');
  const settings = checkedValue(generationSchema, readJson(file) ?? {}, file);
  const { temperature, top_p, top_k, min_p, repetition_penalty } = settings;
  return {
    eosTokens: tokenIds(settings.eos_token_id),
    ...(temperature != null && { temperature }),
    ...(top_p != null && { topP: top_p }),
    ...(top_k != null && { topK: top_k }),
    ...(min_p != null && { minP: min_p }),
    ...(repetition_penalty != null && { repetitionPenalty: repetition_penalty }),
  };
}

/** Resolves each sampling setting: the first in `choices` that sets it, then `defaults`, then `plainSampling`. */
export const samplingOf = (defaults: GenerationDefaults, choices: readonly SamplingChoice[] = []): Sampling =>
  choices.reduceRight(resolveSampling, resolveSampling(plainSampling, defaults)) as Sampling;

export function tokenIds(ids: z.output<typeof tokenIdsSchema>): number[] {
  return ids == null ? [] : typeof ids === 'number' ? [ids] : ids;
}

/** Usual spellings of end tokens, because a GGUF file may not name all of its end tokens. */
const endSpellings = new Set(
  (
    '<|eot_id|> <|eom_id|> <|im_end|> <|end|> <|return|> <|call|> <end_of_turn> ' +
    '<turn|> <|endoftext|> <|end_of_text|> <eos> </s>'
  ).split(' '),
);

const normalType = 1;

/** Returns the ids of end tokens: those that the file names, and known spellings that aren't marked as normal text. */
function ggufEndTokens({ metadata }: GgufFile): readonly number[] {
  const namedIds = ['eos', 'eot', 'eom'].map((name) => metadata.get(`tokenizer.ggml.${name}_token_id`));
  const tokens = metadata.get('tokenizer.ggml.tokens');
  const kinds = metadata.get('tokenizer.ggml.token_type');
  const spelledIds = (Array.isArray(tokens) ? tokens : []).flatMap((token, id) =>
    endSpellings.has(String(token)) && (!Array.isArray(kinds) || kinds[id] !== normalType) ? [id] : [],
  );
  return [...new Set([...namedIds.filter((id) => typeof id === 'number'), ...spelledIds])];
}
