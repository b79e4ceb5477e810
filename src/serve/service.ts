/** The models of a server, and the parts common to its replies. */
import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Completion, LanguageModel } from '../models/language-model.js';
import { HttpError } from './http.js';

export interface ServedModel {
  readonly name: string;
  readonly model: LanguageModel;
}

type Served = readonly [ServedModel, ...ServedModel[]];

export interface ModelService {
  readonly model: {
    /** The base model (the default), then the base model with each adapter. */
    readonly served: Served;
    /** Seconds since 1970. */
    readonly created: number;
    /** Directory or file of the base model. */
    readonly path: string;
    /** Maximum number of tokens in prompt and answer together; `trainedTokens` is the model's own maximum. */
    readonly contextTokens: number;
    readonly trainedTokens: number;
    /** Maximum number of requests per batch. */
    readonly slots: number;
    /** Changes with the version, settings, adapters, device or threads, which can affect the answer to a seed. */
    readonly fingerprint: string;
  };
  readonly now: () => Date;
  /** Called with one line for each request, even if it fails. */
  readonly note: (line: string) => void;
}

/** @throws HttpError for an unknown name */
export function servedModel(name: string | null | undefined, served: Served): ServedModel {
  const found = name == null ? served[0] : served.find((one) => one.name === name);
  if (found === undefined) throw unknownModel(`${name}`, served);
  return found;
}

export function unknownModel(name: string, served: readonly ServedModel[]): HttpError {
  const known = served.map((one) => `"${one.name}"`).join(', ');
  return new HttpError(404, 'not_found_error', `unknown model "${name}"; available: ${known}`, {
    param: 'model',
    code: 'model_not_found',
  });
}

/** Fields common to all replies. */
export const replyHead = (prefix: string, { name }: ServedModel, { model, now }: ModelService) => ({
  id: `${prefix}-${randomUUID()}`,
  created: Math.floor(now().getTime() / 1000),
  model: name,
  system_fingerprint: model.fingerprint,
});
export type ReplyHead = ReturnType<typeof replyHead>;

/** Sums the token counts of calls. The first completion of a call has the counts of the whole call. */
export function usageOf(calls: readonly (readonly Completion[])[]) {
  const sum = (key: 'promptTokens' | 'cachedTokens' | 'completionTokens') =>
    calls.reduce((total, [first]) => total + (first?.usage[key] ?? 0), 0);
  const [prompt, completion] = [sum('promptTokens'), sum('completionTokens')];
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: sum('cachedTokens') },
  };
}
export type ReplyUsage = ReturnType<typeof usageOf>;

export function usageText({ prompt_tokens, prompt_tokens_details, completion_tokens }: ReplyUsage): string {
  return `200 ${prompt_tokens} tokens in (${prompt_tokens_details.cached_tokens} cached), ${completion_tokens} out`;
}

/** Streams server-sent events. Nothing is sent before the first one, so that a failing request gets an error status. */
export function eventStream(response: ServerResponse) {
  const write = (text: string) => {
    if (!response.headersSent)
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    response.write(text);
  };
  return {
    /** @param event name, for clients that distinguish events by it */
    send: (data: object, event?: string) =>
      write(`${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`),
    done() {
      write('data: [DONE]\n\n');
      response.end();
    },
    end: () => response.end(),
  };
}
