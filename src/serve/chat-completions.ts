/** `POST /v1/chat/completions`: one request, from its body to the last byte of its answer. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { JobResult } from '../models/local/engine/protocol.js';
import type { ModelProcess } from '../models/local/process/model-process.js';
import type { TokenBytes } from '../models/local/tokens/token-text.js';
import {
  type Choice,
  choiceChunk,
  completionBody,
  logprobsOf,
  type ReplyHead,
  usageChunk,
  usageOf,
} from './chat-reply.js';
import { type ChatRequest, readChatRequest, type ServedModel } from './chat-request.js';
import { HttpError, readJsonBody } from './http.js';

export interface ChatService {
  readonly model: {
    /** What requests may name: the base, which those that name nothing get, then the base with its adapters. */
    readonly served: readonly [ServedModel, ...ServedModel[]];
    /** When it was loaded, in seconds since 1970. */
    readonly created: number;
    readonly process: Pick<ModelProcess, 'generate'>;
    /** Bytes of tokens, for log-probabilities. */
    bytes(): TokenBytes;
  };
  readonly now: () => Date;
  /** Told of every request that was answered. */
  readonly note: (line: string) => void;
}

/** Requests that wait or run; more are turned away. */
const mostRequests = 64;

/**
 * Returns what the log says of the request.
 * @throws HttpError or what `httpErrorOf` makes one of, before anything was sent or in the middle of a stream
 */
export type ChatHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  stop: AbortSignal,
) => Promise<string>;

/**
 * Requests are met one after the other, in turns between the models that they name. One whose client goes away is given
 * up within a token.
 */
export function createChatHandler({ model, now }: ChatService): ChatHandler {
  let open = 0;

  async function meet(asked: ChatRequest, response: ServerResponse, signal: AbortSignal): Promise<JobResult> {
    const head = {
      id: `chatcmpl-${randomUUID()}`,
      created: Math.floor(now().getTime() / 1000),
      model: asked.model,
    };
    const stream = asked.stream ? openStream(response, head, asked) : undefined;
    const result = await model.process.generate(asked.job, { signal, onText: stream?.onText });
    const choices = choicesOf(result, asked, model);
    if (stream === undefined) {
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify(completionBody(head, choices, usageOf(result))));
    } else {
      stream.end(choices, result);
    }
    return result;
  }

  return async (request, response, stop) => {
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const asked = readChatRequest(await readJsonBody(request), model.served);
    if (open >= mostRequests)
      throw new HttpError(429, 'rate_limit_error', `${open} requests are waiting already`, {
        headers: { 'retry-after': '1' },
      });
    open++;
    try {
      return `200 ${tokensText(await meet(asked, response, AbortSignal.any([gone.signal, stop])))}`;
    } finally {
      open--;
    }
  };
}

function choicesOf(
  { answers }: JobResult,
  { shape, job }: ChatRequest,
  model: ChatService['model'],
): Choice[] {
  return answers.map((answer) => ({
    text: shape === undefined ? answer.text : shape.write(answer.text),
    // Whatever was cut off after a constrained answer, the answer itself is complete.
    finishReason: shape === undefined ? answer.finishReason : 'stop',
    logprobs: job.logProbabilities ? logprobsOf(answer, model.bytes()) : null,
  }));
}

/**
 * Server-sent events. Nothing is sent before the first text, so that a request that can't be met still gets its status.
 * An answer that follows a schema, and log-probabilities, come with the last chunk of a choice.
 */
function openStream(response: ServerResponse, head: ReplyHead, { shape, includeUsage }: ChatRequest) {
  const begun = new Set<number>();
  const send = (data: object | '[DONE]') => {
    if (!response.headersSent)
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    response.write(`data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`);
  };
  const begin = (index: number) => {
    if (begun.has(index)) return;
    begun.add(index);
    send(choiceChunk(head, index, { role: 'assistant', content: '' }));
  };
  return {
    onText: (index: number, content: string) => {
      if (shape !== undefined) return;
      begin(index);
      send(choiceChunk(head, index, { content }));
    },
    end(choices: readonly Choice[], result: JobResult) {
      choices.forEach(({ text, finishReason, logprobs }, index) => {
        begin(index);
        if (shape !== undefined) send(choiceChunk(head, index, { content: text }));
        send(choiceChunk(head, index, { finishReason, logprobs }));
      });
      if (includeUsage) send(usageChunk(head, usageOf(result)));
      send('[DONE]');
      response.end();
    },
  };
}

function tokensText(result: JobResult): string {
  const { prompt_tokens, completion_tokens } = usageOf(result);
  return `${prompt_tokens} tokens in (${result.cachedTokens} cached), ${completion_tokens} out`;
}
