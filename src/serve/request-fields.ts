/** Fields shared by chat requests and plain completion requests. */
import { randomInt } from 'node:crypto';
import { z } from 'zod';
import type { GenerateOptions } from '../models/language-model.js';
import { badRequest } from './http.js';

const mostChoices = 32;

/** True if an unsupported field with this value can be ignored, because it wouldn't change the answer. */
const isNeutral = (value: unknown): boolean =>
  value === null ||
  value === undefined ||
  value === 0 ||
  value === false ||
  value === '' ||
  (typeof value === 'object' && Object.keys(value).length === 0);
export const unsupported = z.unknown().refine(isNeutral, 'is not supported').optional();
const penalty = z.number().min(-2).max(2).nullish();

/** Maps any integer to a non-negative seed. Choices use consecutive seeds, which must all be exact integers. */
function validSeed(seed: number): number {
  if (seed >= 0 && seed <= Number.MAX_SAFE_INTEGER - mostChoices) return seed;
  return ((seed % 2 ** 31) + 2 ** 31) % 2 ** 31;
}

/** Maximum number of stop strings; each is searched for after every token. */
const mostStops = 64;
const stopText = z.string().min(1).max(1024);

export const samplingFields = {
  model: z.string().nullish(),
  n: z.int().min(1).max(mostChoices).nullish(),
  seed: z.number().refine(Number.isInteger, 'must be an integer').transform(validSeed).nullish(),
  temperature: z.number().min(0).max(5).nullish(),
  top_p: z.number().gt(0).max(1).nullish(),
  top_k: z.int().min(0).nullish(),
  min_p: z.number().min(0).lt(1).nullish(),
  repetition_penalty: z.number().positive().nullish(),
  stop: z.union([stopText, z.array(stopText).max(mostStops)]).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  frequency_penalty: penalty,
  presence_penalty: penalty,
  logit_bias: z
    .record(z.string().regex(/^\d+$/, 'must be a token id'), z.number().min(-100).max(100))
    .nullish(),
};
const samplingSchema = z.object(samplingFields);

/** @throws HttpError naming the first invalid field */
export function parsedBody<T>(schema: z.ZodType<T>, body: unknown): T {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0]!;
  const param = issue.path.join('.');
  throw badRequest(param === '' ? issue.message : `${param}: ${issue.message}`, param || undefined);
}

/** Draws a random seed if the request has none. */
export function samplingOptions(
  request: z.output<typeof samplingSchema>,
): Pick<GenerateOptions, 'seeds' | 'sampling' | 'stop' | 'logits'> {
  const seed = request.seed ?? randomInt(2 ** 31);
  const bias = Object.entries(request.logit_bias ?? {}).map(([id, value]) => [Number(id), value] as const);
  const [frequencyPenalty, presencePenalty] = [request.frequency_penalty ?? 0, request.presence_penalty ?? 0];
  const changes = frequencyPenalty !== 0 || presencePenalty !== 0 || bias.length > 0;
  return {
    seeds: Array.from({ length: request.n ?? 1 }, (_, choice) => seed + choice),
    sampling: {
      temperature: request.temperature ?? undefined,
      topP: request.top_p ?? undefined,
      topK: request.top_k ?? undefined,
      minP: request.min_p ?? undefined,
      repetitionPenalty: request.repetition_penalty ?? undefined,
    },
    stop: typeof request.stop === 'string' ? [request.stop] : (request.stop ?? []),
    ...(changes && { logits: { frequencyPenalty, presencePenalty, bias } }),
  };
}
