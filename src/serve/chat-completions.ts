/** Handles `POST /v1/chat/completions`. */
import type { ServerResponse } from 'node:http';
import type { Completion, CompletionToken, FinishReason, ToolCall } from '../models/language-model.js';
import type { Endpoint } from './admission.js';
import { type ChatRequest, readChatRequest } from './chat-request.js';
import { sendJson } from './http.js';
import {
  eventStream,
  type ModelService,
  type ReplyHead,
  type ReplyUsage,
  replyHead,
  usageOf,
  usageText,
} from './service.js';

/** Handles requests to different models in turn. If a client disconnects, its request stops within one token. */
export const chatEndpoint =
  (service: ModelService): Endpoint =>
  async ({ body, response, signal }) => {
    const asked = readChatRequest(body, service.model.served);
    const head = replyHead('chatcmpl', asked.served, service);
    const stream = asked.stream ? openStream(response, head, asked) : undefined;
    const completions = await asked.served.model.generate(asked.messages, {
      ...asked.options,
      signal,
      ...(stream && { onText: stream.onText }),
    });
    const choices = completions.map((completion) => choiceOf(completion, asked));
    const usage = usageOf([completions]);
    if (stream === undefined) sendJson(response, completionBody(head, choices, usage));
    else stream.end(choices, usage);
    return usageText(usage);
  };

export function choiceOf({ finishReason, text, tokens }: Completion, _asked: ChatRequest): Choice {
  return { text, finishReason, logprobs: tokens === undefined ? null : logprobsOf(tokens) };
}

/**
 * Log-probabilities are sent with the last chunk of a choice.
 */
function openStream(response: ServerResponse, head: ReplyHead, { includeUsage }: ChatRequest) {
  const begun = new Set<number>();
  const { done, send } = eventStream(response);
  const begin = (index: number) => {
    if (begun.has(index)) return;
    begun.add(index);
    send(choiceChunk(head, index, { role: 'assistant', content: '' }));
  };
  return {
    onText: (index: number, content: string) => {
      begin(index);
      send(choiceChunk(head, index, { content }));
    },
    end(choices: readonly Choice[], usage: ReplyUsage) {
      choices.forEach(({ finishReason, logprobs }, index) => {
        begin(index);
        send(choiceChunk(head, index, { finishReason, logprobs }));
      });
      if (includeUsage) send(usageChunk(head, usage));
      done();
    },
  };
}

export interface Choice {
  readonly toolCalls?: readonly ToolCall[];
  readonly text: string;
  readonly finishReason: FinishReason;
  readonly logprobs: ChoiceLogprobs | null;
}

interface ChoiceLogprobs {
  readonly content: readonly {
    readonly token: string;
    readonly logprob: number;
    readonly bytes: readonly number[];
    readonly top_logprobs: readonly never[];
  }[];
}

function logprobsOf(tokens: readonly CompletionToken[]): ChoiceLogprobs {
  return {
    content: tokens.map(({ bytes, logProbability }) => ({
      token: Buffer.from(bytes).toString('utf8'),
      logprob: logProbability,
      bytes,
      top_logprobs: [],
    })),
  };
}

function completionBody(head: ReplyHead, choices: readonly Choice[], usage: ReplyUsage) {
  return {
    ...head,
    object: 'chat.completion',
    choices: choices.map(({ text, finishReason, logprobs }, index) => ({
      index,
      message: { role: 'assistant', content: text, refusal: null },
      logprobs,
      finish_reason: finishReason,
    })),
    usage,
  };
}

/** A stream chunk: the start of a choice, more text, or its end. */
function choiceChunk(
  head: ReplyHead,
  index: number,
  part: {
    readonly role?: 'assistant';
    readonly content?: string;
    readonly logprobs?: ChoiceLogprobs | null;
    readonly finishReason?: FinishReason;
  },
) {
  const { role, content, logprobs = null, finishReason = null } = part;
  const delta = { ...(role && { role }), ...(content !== undefined && { content }) };
  return {
    ...head,
    object: 'chat.completion.chunk',
    choices: [{ index, delta, logprobs, finish_reason: finishReason }],
  };
}

function usageChunk(head: ReplyHead, usage: ReplyUsage) {
  return { ...head, object: 'chat.completion.chunk', choices: [], usage };
}
