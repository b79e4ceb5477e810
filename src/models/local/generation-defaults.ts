import path from 'node:path';
import { z } from 'zod';
import { UserError } from '../../errors.js';
import { readJson } from './json-file.js';

/** One token id or a list of them, as configs have both. */
export const tokenIdsSchema = z.union([z.int(), z.array(z.int())]).nullish();

/** Sampling defaults that the model's publisher recommends, and the tokens that end an answer. */
export interface GenerationDefaults {
  readonly eosTokens: readonly number[];
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly minP?: number;
  readonly repetitionPenalty?: number;
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
  const parsed = generationSchema.safeParse(readJson(file) ?? {});
  if (!parsed.success)
    throw new UserError(
      parsed.error.issues.map((issue) => ({ file, field: issue.path.join('.'), message: issue.message })),
    );
  const { eos_token_id, temperature, top_p, top_k, min_p, repetition_penalty } = parsed.data;
  return {
    eosTokens: tokenIds(eos_token_id),
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
