/** Handles `POST /v1/chat/completions`. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Completion, CompletionToken, FinishReason } from '../models/language-model.js';
import { type ChatRequest, readChatRequest, type ServedModel } from './chat-request.js';
import { HttpError, readJsonBody } from './http.js';

export interface ChatService {
  readonly model: {
    /** The base model (the default), then the base model with each adapter. */
    readonly served: readonly [ServedModel, ...ServedModel[]];
    /** Seconds since 1970. */
    readonly created: number;
  };
  readonly now: () => Date;
  /** Called with one line for each answered request. */
  readonly note: (line: string) => void;
}

/** Maximum number of waiting and running requests. */
const mostRequests = 64;

/**
 * @returns the outcome, as text for the log
 * @throws HttpError, or an error for `httpErrorOf`, before anything is sent or in the middle of a stream
 */
export type ChatHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  stop: AbortSignal,
) => Promise<string>;

/** Handles requests to different models in turn. If a client disconnects, its request stops within one token. */
export function createChatHandler({ model, now }: ChatService): ChatHandler {
  let open = 0;

  async function reply(
    asked: ChatRequest,
    response: ServerResponse,
    signal: AbortSignal,
  ): Promise<ReplyUsage> {
    const head = {
      id: `chatcmpl-${randomUUID()}`,
      created: Math.floor(now().getTime() / 1000),
      model: asked.served.name,
    };
    const stream = asked.stream ? openStream(response, head, asked) : undefined;
    const completions = await asked.served.model.generate(asked.messages, {
      ...asked.options,
      signal,
      ...(stream && { onText: stream.onText }),
    });
    const choices = completions.map(choiceOf);
    const usage = usageOf(completions);
    if (stream === undefined) {
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify(completionBody(head, choices, usage)));
    } else {
      stream.end(choices, usage);
    }
    return usage;
  }

  return async (request, response, stop) => {
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    // Count requests before reading their bodies, so that few bodies are in memory.
    if (open >= mostRequests)
      throw new HttpError(429, 'rate_limit_error', `${open} requests are already waiting`, {
        headers: { 'retry-after': '1' },
      });
    open++;
    try {
      const asked = readChatRequest(await readJsonBody(request), model.served);
      return `200 ${tokensText(await reply(asked, response, AbortSignal.any([gone.signal, stop])))}`;
    } finally {
      open--;
    }
  };
}

function choiceOf({ finishReason, text, tokens }: Completion): Choice {
  return { text, finishReason, logprobs: tokens === undefined ? null : logprobsOf(tokens) };
}

/**
 * Sends server-sent events, but nothing before the first text, so that a failing request still gets its status.
 * Log-probabilities are sent with the last chunk of a choice.
 */
function openStream(response: ServerResponse, head: ReplyHead, { includeUsage }: ChatRequest) {
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
      begin(index);
      send(choiceChunk(head, index, { content }));
    },
    end(choices: readonly Choice[], usage: ReplyUsage) {
      choices.forEach(({ finishReason, logprobs }, index) => {
        begin(index);
        send(choiceChunk(head, index, { finishReason, logprobs }));
      });
      if (includeUsage) send(usageChunk(head, usage));
      send('[DONE]');
      response.end();
    },
  };
}

function tokensText({ prompt_tokens, prompt_tokens_details, completion_tokens }: ReplyUsage): string {
  return `${prompt_tokens} tokens in (${prompt_tokens_details.cached_tokens} cached), ${completion_tokens} out`;
}

interface ReplyHead {
  readonly id: string;
  /** Seconds since 1970. */
  readonly created: number;
  readonly model: string;
}

interface Choice {
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

/** Token counts of the whole call, which its first completion carries. */
function usageOf([first]: readonly Completion[]) {
  const { promptTokens = 0, cachedTokens = 0, completionTokens = 0 } = first?.usage ?? {};
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens },
  };
}
type ReplyUsage = ReturnType<typeof usageOf>;

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
