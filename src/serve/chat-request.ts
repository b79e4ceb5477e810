/** Parses a chat completion request. Rejects parameters that would change the answer but aren't supported. */
import { randomInt } from 'node:crypto';
import { z } from 'zod';
import type { ChatMessage, GenerateOptions, LanguageModel } from '../models/language-model.js';
import { type AnswerShape, answerShape } from './answer-shape.js';
import { badRequest, HttpError } from './http.js';

export interface ServedModel {
  readonly name: string;
  readonly model: LanguageModel;
}

export interface ChatRequest {
  readonly served: ServedModel;
  readonly messages: readonly ChatMessage[];
  readonly options: GenerateOptions;
  readonly stream: boolean;
  /** Whether the stream ends with token counts. */
  readonly includeUsage: boolean;
  readonly shape: AnswerShape | undefined;
}

/** Default maximum number of tokens, the same as in an experiment's config. */
const defaultMaxTokens = 1024;
const mostChoices = 32;

const content = z.union([
  z.string(),
  z
    .array(z.object({ type: z.literal('text', 'must be text'), text: z.string() }))
    .transform((parts) => parts.map(({ text }) => text).join('')),
]);
const messageSchema = z.object({
  role: z
    .enum(['system', 'developer', 'user', 'assistant'])
    .transform((role) => (role === 'developer' ? 'system' : role)),
  content,
});

const isNeutral = (value: unknown): boolean =>
  value === null ||
  value === undefined ||
  value === 0 ||
  value === false ||
  (typeof value === 'object' && Object.keys(value).length === 0);
const unsupported = z.unknown().refine(isNeutral, 'is not supported').optional();

/** Maps any integer, including negative ones, to a seed with enough exact successors for all choices. */
function validSeed(seed: number): number {
  if (seed >= 0 && seed <= Number.MAX_SAFE_INTEGER - mostChoices) return seed;
  return ((seed % 2 ** 31) + 2 ** 31) % 2 ** 31;
}

/** The number is limited, because each stop string is searched for after every token. */
const mostStops = 64;
const stopText = z.string().min(1).max(1024);

const requestSchema = z.looseObject({
  model: z.string().nullish(),
  messages: z.array(messageSchema).min(1),
  n: z.int().min(1).max(mostChoices).nullish(),
  seed: z.number().refine(Number.isInteger, 'must be an integer').transform(validSeed).nullish(),
  temperature: z.number().min(0).max(5).nullish(),
  top_p: z.number().gt(0).max(1).nullish(),
  top_k: z.int().min(0).nullish(),
  min_p: z.number().min(0).lt(1).nullish(),
  repetition_penalty: z.number().positive().nullish(),
  max_tokens: z.int().min(1).nullish(),
  max_completion_tokens: z.int().min(1).nullish(),
  stop: z.union([stopText, z.array(stopText).max(mostStops)]).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  logprobs: z.boolean().nullish(),
  top_logprobs: unsupported,
  response_format: z.looseObject({ type: z.string() }).nullish(),
  frequency_penalty: unsupported,
  presence_penalty: unsupported,
  logit_bias: unsupported,
  tools: unsupported,
  functions: unsupported,
  reasoning_effort: unsupported,
  chat_template_kwargs: unsupported,
});

/** @throws HttpError naming the invalid field */
export function readChatRequest(
  body: unknown,
  served: readonly [ServedModel, ...ServedModel[]],
): ChatRequest {
  const parsed = requestSchema.safeParse(body);
  if (!parsed.success) {
    const issue = parsed.error.issues[0]!;
    const param = issue.path.join('.');
    throw badRequest(param === '' ? issue.message : `${param}: ${issue.message}`, param || undefined);
  }
  const request = parsed.data;
  const model = request.model == null ? served[0] : served.find(({ name }) => name === request.model);
  if (model === undefined) throw unknownModel(`${request.model}`, served);
  const shape = readFormat(request.response_format);
  const stop = typeof request.stop === 'string' ? [request.stop] : (request.stop ?? []);
  if (shape !== undefined && stop.length > 0)
    throw badRequest("stop can't be combined with a schema, because it could truncate the answer", 'stop');
  if (shape !== undefined && request.logprobs === true)
    throw badRequest("logprobs can't be combined with a schema", 'logprobs');
  const seed = request.seed ?? randomInt(2 ** 31);
  return {
    served: model,
    messages: request.messages,
    options: {
      seeds: Array.from({ length: request.n ?? 1 }, (_, choice) => seed + choice),
      maxTokens: request.max_completion_tokens ?? request.max_tokens ?? defaultMaxTokens,
      sampling: {
        temperature: request.temperature ?? undefined,
        topP: request.top_p ?? undefined,
        topK: request.top_k ?? undefined,
        minP: request.min_p ?? undefined,
        repetitionPenalty: request.repetition_penalty ?? undefined,
      },
      stop,
      logProbabilities: request.logprobs ?? false,
      ...(shape && { grammar: shape.grammar }),
    },
    stream: request.stream ?? false,
    includeUsage: request.stream_options?.include_usage ?? false,
    shape,
  };
}

function readFormat(
  format: { readonly type: string; readonly [key: string]: unknown } | null | undefined,
): AnswerShape | undefined {
  switch (format?.type ?? 'text') {
    case 'text':
      return undefined;
    case 'json_schema':
      return answerShape((format?.json_schema as { readonly schema?: unknown } | undefined)?.schema);
    default:
      throw badRequest(
        `unsupported response format "${format?.type}"; use text or json_schema`,
        'response_format.type',
      );
  }
}

export function unknownModel(name: string, served: readonly ServedModel[]): HttpError {
  const known = served.map((one) => `"${one.name}"`).join(', ');
  return new HttpError(404, 'not_found_error', `unknown model "${name}"; available: ${known}`, {
    param: 'model',
  });
}
