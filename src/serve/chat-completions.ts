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
import { type ReplyParts, ReplyReader } from './tool-calls.js';

/** Answers a chat. If the client disconnects, generation stops. */
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

export function choiceOf({ finishReason, text, tokens }: Completion, { calls }: ChatRequest): Choice {
  const reader = new ReplyReader(calls);
  reader.push(text);
  const reply = reader.end();
  const called = reply.calls.length > 0 && finishReason === 'stop';
  return {
    text: reply.content,
    toolCalls: reply.calls,
    finishReason: called ? 'tool_calls' : finishReason,
    logprobs: tokens === undefined ? null : logprobsOf(tokens),
  };
}

/** Streams choices. Log-probabilities come with the last chunk of a choice. */
function openStream(response: ServerResponse, head: ReplyHead, { calls, includeUsage }: ChatRequest) {
  const begun = new Map<number, { readonly reader: ReplyReader; sent: ReplyParts }>();
  const { done, send } = eventStream(response);
  const begin = (index: number) => {
    const known = begun.get(index) ?? { reader: new ReplyReader(calls), sent: { content: '', calls: [] } };
    if (!begun.has(index)) send(choiceChunk(head, index, { role: 'assistant', content: '' }));
    begun.set(index, known);
    return known;
  };
  const show = (index: number, read: (reader: ReplyReader) => ReplyParts) => {
    const one = begin(index);
    const parts = read(one.reader);
    for (const delta of newParts(one.sent, parts)) send(choiceChunk(head, index, delta));
    one.sent = parts;
  };
  return {
    onText: (index: number, text: string) => show(index, (reader) => reader.push(text)),
    end(choices: readonly Choice[], usage: ReplyUsage) {
      choices.forEach(({ finishReason, logprobs }, index) => {
        show(index, (reader) => reader.end());
        send(choiceChunk(head, index, { finishReason, logprobs }));
      });
      if (includeUsage) send(usageChunk(head, usage));
      done();
    },
  };
}

/** The parts that haven't been sent yet; for a call, first its name, then its arguments. */
function newParts(sent: ReplyParts, parts: ReplyParts): readonly ChoiceDelta[] {
  const content = parts.content.slice(sent.content.length);
  return [
    ...(content === '' ? [] : [{ content }]),
    ...parts.calls.flatMap(({ arguments: all, id, name }, index): ChoiceDelta[] => {
      const before = sent.calls[index];
      const more = all.slice(before?.arguments.length ?? 0);
      return [
        ...(before ? [] : [{ call: { index, id, type: 'function', function: { name, arguments: '' } } }]),
        ...(more === '' ? [] : [{ call: { index, function: { arguments: more } } }]),
      ];
    }),
  ];
}

export interface Choice {
  readonly text: string;
  readonly toolCalls: readonly ToolCall[];
  readonly finishReason: FinishReason | 'tool_calls';
  readonly logprobs: ChoiceLogprobs | null;
}

interface ChoiceLogprobs {
  readonly content: readonly {
    readonly token: string;
    readonly logprob: number;
    readonly bytes: readonly number[];
    readonly top_logprobs: readonly object[];
  }[];
}

function logprobsOf(tokens: readonly CompletionToken[]): ChoiceLogprobs {
  return {
    content: tokens.map(({ top = [], ...token }) => ({
      ...logprobOf(token),
      top_logprobs: top.map(logprobOf),
    })),
  };
}

const logprobOf = ({ bytes, logProbability }: CompletionToken) => ({
  token: Buffer.from(bytes).toString('utf8'),
  logprob: logProbability,
  bytes,
});

function completionBody(head: ReplyHead, choices: readonly Choice[], usage: ReplyUsage) {
  return {
    ...head,
    object: 'chat.completion',
    choices: choices.map(({ finishReason, logprobs, text, toolCalls }, index) => ({
      index,
      message: {
        role: 'assistant',
        content: text === '' && toolCalls.length > 0 ? null : text,
        refusal: null,
        ...(toolCalls.length > 0 && {
          tool_calls: toolCalls.map(({ id, ...called }) => ({ id, type: 'function', function: called })),
        }),
      },
      logprobs,
      finish_reason: finishReason,
    })),
    usage,
  };
}

interface ChoiceDelta {
  readonly role?: 'assistant';
  readonly content?: string;
  readonly call?: object;
  readonly logprobs?: ChoiceLogprobs | null;
  readonly finishReason?: Choice['finishReason'];
}

/** Makes a chunk of the stream: the start of a choice, more of its text or of a call, or its end. */
function choiceChunk(head: ReplyHead, index: number, part: ChoiceDelta) {
  const { call, role, content, logprobs = null, finishReason = null } = part;
  const delta = {
    ...(role && { role }),
    ...(content !== undefined && { content }),
    ...(call && { tool_calls: [call] }),
  };
  return {
    ...head,
    object: 'chat.completion.chunk',
    choices: [{ index, delta, logprobs, finish_reason: finishReason }],
  };
}

function usageChunk(head: ReplyHead, usage: ReplyUsage) {
  return { ...head, object: 'chat.completion.chunk', choices: [], usage };
}
