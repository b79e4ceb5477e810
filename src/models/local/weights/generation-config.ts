/** What a model's publisher recommends for generation. */
import path from 'node:path';
import { z } from 'zod';
import { checkedValue, readJson } from '../../../storage/files.js';
import type { Sampling } from '../../language-model.js';

/** One token id or a list of them, as configs have both. */
export const tokenIdsSchema = z.union([z.int(), z.array(z.int())]).nullish();

/** Sampling defaults that the model's publisher recommends, and the tokens that end an answer. */
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

/** `generation_config.json`; empty where there is none. */
export function readGenerationDefaults(directory: string): GenerationDefaults {
  const file = path.join(directory, 'generation_config.json');
  const given = checkedValue(generationSchema, readJson(file) ?? {}, file);
  const { temperature, top_p, top_k, min_p, repetition_penalty } = given;
  return {
    eosTokens: tokenIds(given.eos_token_id),
    ...(temperature != null && { temperature }),
    ...(top_p != null && { topP: top_p }),
    ...(top_k != null && { topK: top_k }),
    ...(min_p != null && { minP: min_p }),
    ...(repetition_penalty != null && { repetitionPenalty: repetition_penalty }),
  };
}

export function tokenIds(ids: z.output<typeof tokenIdsSchema>): number[] {
  return ids == null ? [] : typeof ids === 'number' ? [ids] : ids;
}
