/** Builds fake servers that behave as providers document, in data. */

import { createGenerator } from '../../../../src/base/random/generator.js';
import type { ConfigInput } from '../../../../src/config/config.js';
import type { AnswerFormat, ModelErrorKind, ReplyFault } from '../../../../src/models/language-model.js';
import { type Answer, countTokens, type ReceivedRequest } from '../../../support/fake-server.js';

export type Json = Readonly<Record<string, unknown>>;

/** Something that goes wrong at a provider, and what the user is told. */
export interface Failure {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: unknown;
  /** An error, or a reply with a fault. */
  readonly kind: ModelErrorKind | ReplyFault;
  /** Parts of the message. */
  readonly says: readonly string[];
  /** Settings of the model that lead to it. */
  readonly model?: Json;
}

/** Tokens of one reply. */
export interface Counts {
  readonly prompt: number;
  readonly cached: number;
  /** Without thoughts. */
  readonly answer: number;
  readonly thoughts: number;
}

export interface FakeProvider {
  readonly name: string;
  /** The section `model` for a server at this address. */
  readonly model: (url: string) => ConfigInput['model'];
  readonly env?: Readonly<Record<string, string>>;
  /** How a run records that answers are held to their form. */
  readonly format: AnswerFormat;
  /** Requests that it refuses before it is known what it takes. */
  readonly refusals: number;
  readonly answer: (request: ReceivedRequest) => Answer;
}

/** A provider that is compatible with OpenAI's chat completions. */
interface Behavior extends Pick<FakeProvider, 'name' | 'env' | 'format'> {
  readonly refusals?: number;
  /** Follows the address in `model.baseUrl`; the default is `/v1`. */
  readonly base?: string;
  /** Where requests arrive, if not below `base`. */
  readonly path?: string;
  /** More of the section `model`. */
  readonly model?: Json;
  /** Header that must hold the key; no key is asked for without it. */
  readonly key?: readonly [header: string, value: string];
  /** The refusal of a request. */
  readonly refuse?: (body: Json) => Answer | undefined;
  /** The most completions of a request, whatever its `n`. */
  readonly maxChoices?: number;
  /** Kinds of `response_format` that the decoder keeps to; by default `json_schema`. */
  readonly enforces?: readonly string[];
  /** A message with this text. */
  readonly message?: (text: string) => Json;
  /** Tokens as the provider reports them; by default as OpenAI does. */
  readonly usage?: (counts: Counts) => Json;
  /** Tokens of thoughts in each reply, and those of the prompt that come from a cache. */
  readonly thoughts?: number;
  readonly caches?: boolean;
  readonly before?: string;
}

export const refused = (status: number, body: unknown): Answer => ({ status, body });

export const invalidRequest = (message: string, more: Json = {}) =>
  refused(400, { error: { message, type: 'invalid_request_error', ...more } });

/** A key in a variable of the provider's own, sent as a bearer token. */
export const withKey = (apiKeyEnv: string, model: Json = {}) =>
  ({
    env: { [apiKeyEnv]: `key-of-${apiKeyEnv}` },
    key: ['authorization', `Bearer key-of-${apiKeyEnv}`],
    model: { apiKeyEnv, ...model },
  }) as const;

export const formatType = (body: Json) => (body.response_format as { type?: string } | undefined)?.type;

export function provider(given: Behavior): FakeProvider {
  const { base = '/v1', env, format, name, refusals = 0 } = given;
  let requests = 0;
  return {
    name,
    format,
    refusals,
    ...(env && { env }),
    model: (url) => ({ provider: 'openai', name: 'a-model', baseUrl: url + base, ...given.model }),
    answer: (request) => answerOf(given, request, ++requests),
  };
}

function answerOf(given: Behavior, { body, headers, path }: ReceivedRequest, count: number): Answer {
  const {
    base = '/v1',
    key,
    maxChoices = 8,
    message = (content) => ({ content }),
    usage = openaiUsage,
  } = given;
  const [folder, query] = (given.path ?? base).split('?');
  const expected = `${folder}/chat/completions${query === undefined ? '' : `?${query}`}`;
  if (path !== expected) return refused(404, { error: `no such path: ${path}` });
  if (key !== undefined && headers[key[0]] !== key[1]) return refused(401, { error: { message: 'no key' } });
  const refusal = given.refuse?.(body);
  if (refusal !== undefined) return refusal;
  const enforced = (given.enforces ?? ['json_schema']).includes(formatType(body) ?? 'text');
  const texts = Array.from({ length: Math.min(Number(body.n ?? 1), maxChoices) }, (_, i) =>
    proposal(Number(body.seed ?? 100 * count) + i, enforced),
  );
  const prompt = promptTokens(body);
  const counts = {
    prompt,
    cached: given.caches ? Math.floor(prompt / 2) : 0,
    answer: texts.reduce((sum, text) => sum + countTokens(text), 0),
    thoughts: texts.length * (given.thoughts ?? 0),
  };
  return {
    status: 200,
    ...(given.before !== undefined && { before: given.before }),
    counted: {
      completions: texts.length,
      promptTokens: prompt,
      cachedTokens: counts.cached,
      completionTokens: counts.answer + counts.thoughts,
      reasoningTokens: counts.thoughts,
    },
    body: {
      id: 'chat-1',
      choices: texts.map((text, index) => ({
        index,
        message: { role: 'assistant', ...message(text) },
        finish_reason: 'stop',
      })),
      usage: usage(counts),
    },
  };
}

export const openaiUsage = (counts: Counts): Json => ({
  ...plainUsage(counts),
  prompt_tokens_details: { cached_tokens: counts.cached },
  completion_tokens_details: { reasoning_tokens: counts.thoughts },
});

/** Reported without details. */
export const plainUsage = ({ answer, prompt, thoughts }: Counts): Json => ({
  prompt_tokens: prompt,
  completion_tokens: answer + thoughts,
  total_tokens: prompt + answer + thoughts,
});

export const promptTokens = (body: Json): number =>
  (body.messages as readonly { content: string }[]).reduce(
    (total, { content }) => total + countTokens(content) + 4,
    0,
  );

/** New parameters, as a decoder that is held to the schema writes them, or as a chatty model does. */
export function proposal(seed: number, enforced: boolean): string {
  const random = createGenerator(seed);
  const params = Array.from({ length: parameters }, () => Number(random.uniform(-6, 6).toFixed(1)) + 0);
  const json = JSON.stringify({ params, reason: 'a step from the best' });
  return enforced ? json : `Here is my proposal:\n\`\`\`json\n${json}\n\`\`\``;
}

/** Parameters of the policy that is improved. */
const parameters = 8;
