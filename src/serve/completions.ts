/** Handles `POST /v1/completions`: continues prompts without a chat template, and scores prompts with `echo`. */
import { z } from 'zod';
import type { Completion, GenerateOptions, PromptToken } from '../models/language-model.js';
import type { Endpoint } from './admission.js';
import { formFields, requestedForm } from './answer-form.js';
import { badRequest, sendJson } from './http.js';
import { eachPrompt, mostPrompts, type Prompt, promptsSchema } from './prompts.js';
import { parsedBody, samplingFields, samplingOptions, unsupported } from './request-fields.js';
import {
  eventStream,
  type ModelService,
  type ReplyHead,
  replyHead,
  servedModel,
  usageOf,
  usageText,
} from './service.js';

const requestSchema = z.looseObject({
  ...samplingFields,
  ...formFields,
  prompt: promptsSchema,
  max_tokens: z.int().min(0).nullish(),
  echo: z.boolean().nullish(),
  logprobs: z.int().min(0).max(20).nullish(),
  best_of: z.int().min(1).nullish(),
  suffix: unsupported,
});

/** OpenAI's default. */
const defaultMaxTokens = 16;

export const completionsEndpoint =
  (service: ModelService): Endpoint =>
  async ({ body, response, signal }) => {
    const request = parsedBody(requestSchema, body);
    const served = servedModel(request.model, service.model.served);
    const choices = request.n ?? 1;
    if (choices * request.prompt.length > mostPrompts)
      throw badRequest(`n: more than ${mostPrompts} choices in one request are not supported`, 'n');
    if ((request.best_of ?? choices) !== choices) throw badRequest('best_of: must equal n', 'best_of');
    const form = requestedForm(request);
    const echo = request.echo ?? false;
    const options: GenerateOptions = {
      ...samplingOptions(request),
      maxTokens: request.max_tokens ?? defaultMaxTokens,
      logProbabilities: request.logprobs != null,
      topLogProbabilities: request.logprobs ?? 0,
      echo,
      ...(form && { form }),
    };
    const head = replyHead('cmpl', served, service);
    const stream = request.stream ? openStream(response, head) : undefined;
    const { slots } = service.model;
    const calls = await eachPrompt(request.prompt, slots, async (prompt, place) => {
      const onText = (index: number, text: string) => stream?.send(place * choices + index, { text });
      const call = await served.model.generate([], {
        ...{ ...options, prompt, signal },
        ...(stream && !echo && { onText }),
      });
      return call.map((completion) => choiceOf(completion, prompt, call[0]?.echo, options));
    });
    const usage = usageOf(calls.map((call) => call.map(({ completion }) => completion)));
    const all = calls.flat();
    if (stream === undefined) {
      const written = all.map(({ completion, ...choice }, index) => ({ index, ...choice }));
      sendJson(response, { ...head, object: 'text_completion', choices: written, usage });
    } else {
      for (const [index, { finish_reason, logprobs, text }] of all.entries())
        stream.send(index, { text: echo ? text : '', logprobs, finish_reason });
      stream.end(request.stream_options?.include_usage ? usage : undefined);
    }
    return usageText(usage);
  };

interface Choice {
  readonly text: string;
  readonly logprobs: ChoiceLogprobs | null;
  readonly finish_reason: string;
}

function choiceOf(
  completion: Completion,
  prompt: Prompt,
  echo: readonly PromptToken[] | undefined,
  { logProbabilities }: GenerateOptions,
): Choice & { readonly completion: Completion } {
  const tokens = [...(echo ?? []), ...(completion.tokens ?? [])];
  const before = echo === undefined ? '' : typeof prompt === 'string' ? prompt : textOf(echo);
  return {
    completion,
    text: before + completion.text,
    logprobs: logProbabilities ? logprobsOf(tokens) : null,
    finish_reason: completion.finishReason,
  };
}

const textOf = (tokens: readonly PromptToken[]): string =>
  Buffer.from(tokens.flatMap(({ bytes }) => bytes)).toString('utf8');

/** Lists with one entry per token. Log-probabilities are null for the first token of a prompt. */
interface ChoiceLogprobs {
  readonly tokens: readonly string[];
  readonly token_logprobs: readonly (number | null)[];
  readonly top_logprobs: readonly (Readonly<Record<string, number>> | null)[];
  /** Position of the token's first character in the concatenated text of all tokens. */
  readonly text_offset: readonly number[];
}

function logprobsOf(tokens: readonly PromptToken[]): ChoiceLogprobs {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let offset = 0;
  return {
    tokens: tokens.map(tokenName),
    token_logprobs: tokens.map(({ logProbability }) => logProbability ?? null),
    top_logprobs: tokens.map(({ top }) =>
      // Likeliest last: of several tokens with the same text, `fromEntries` keeps the last.
      top === undefined
        ? null
        : Object.fromEntries(top.toReversed().map((one) => [tokenName(one), one.logProbability])),
    ),
    text_offset: tokens.map(({ bytes }) => {
      const start = offset;
      offset += decoder.decode(Uint8Array.from(bytes), { stream: true }).length;
      return start;
    }),
  };
}

/** A token's text; as in OpenAI's API, `bytes:\xe2\x82` for a part of a character. */
function tokenName({ bytes }: Pick<PromptToken, 'bytes'>): string {
  const text = Buffer.from(bytes).toString('utf8');
  if (Buffer.from(text).equals(Uint8Array.from(bytes))) return text;
  return `bytes:${bytes.map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('')}`;
}

function openStream(response: Parameters<typeof eventStream>[0], head: ReplyHead) {
  const { done, send } = eventStream(response);
  const chunk = (choices: readonly object[]) => ({ ...head, object: 'text_completion', choices });
  return {
    send: (index: number, { finish_reason = null, logprobs = null, text }: StreamPart) =>
      send(chunk([{ index, text, logprobs, finish_reason }])),
    end(usage: object | undefined) {
      if (usage !== undefined) send({ ...chunk([]), usage });
      done();
    },
  };
}

interface StreamPart {
  readonly text: string;
  readonly logprobs?: ChoiceLogprobs | null;
  readonly finish_reason?: string | null;
}
