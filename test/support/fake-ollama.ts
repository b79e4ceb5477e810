import type { ChatMessage } from '../../src/models/language-model.js';
import {
  type Answer,
  countTokens,
  type FakeServer,
  type FaultPlan,
  type ReceivedRequest,
  startFakeServer,
} from './fake-server.js';

export interface OllamaRequest {
  readonly messages: readonly ChatMessage[];
  readonly model: string;
  readonly options: Readonly<Record<string, unknown>>;
  readonly received: ReceivedRequest;
}

export type OllamaReply =
  | string
  | {
      readonly text: string;
      readonly thinking?: string;
      readonly doneReason?: string;
      /** Token counts in the place of the right ones. */
      readonly promptTokens?: number;
      readonly completionTokens?: number;
      /** Ends as Ollama ends one token over and over: not done, without counts. */
      readonly aborted?: true;
    };

/** An Ollama server: `POST /api/show`, and `POST /api/chat` without streaming. Reads no more of a prompt than `num_ctx` tokens, silently unless it is `strict`. */
export function startFakeOllama(options: {
  /** Called for every request, also for one that then goes wrong. */
  readonly reply: (request: OllamaRequest) => OllamaReply;
  readonly faults?: FaultPlan;
  /** The models it has (default: any). */
  readonly models?: readonly string[];
  /** The most tokens a model reads, whatever `num_ctx` says. */
  readonly contextTokens?: number;
  /** Knows `truncate: false`, as newer servers do: then refuses a prompt that is longer than its window. */
  readonly strict?: boolean;
  /** Whether its models think. */
  readonly thinks?: boolean;
  /** Theirs, in the language of Go's templates. */
  readonly template?: string;
  /** Refuses every schema. */
  readonly refusesSchema?: boolean;
}): Promise<FakeServer> {
  return startFakeServer({
    faults: options.faults,
    empty: { model: 'none', done: true },
    answer: (received) => answer(received, options),
  });
}

function answer(received: ReceivedRequest, options: Parameters<typeof startFakeOllama>[0]): Answer {
  const body = received.body as {
    model: string;
    messages: readonly ChatMessage[];
    options?: { num_ctx?: number };
    truncate?: boolean;
  };
  if (received.path !== '/api/chat' && received.path !== '/api/show')
    return { status: 404, body: { error: '404 page not found' } };
  if (options.models !== undefined && !options.models.includes(body.model)) {
    return { status: 404, body: { error: `model '${body.model}' not found` } };
  }
  if (received.path === '/api/show') {
    const length = options.contextTokens ?? 131_072;
    return {
      status: 200,
      body: {
        model_info: { 'general.architecture': 'llama', 'llama.context_length': length },
        capabilities: ['completion', ...(options.thinks ? ['thinking'] : [])],
        ...(options.template !== undefined && { template: options.template }),
      },
    };
  }
  if (options.refusesSchema && received.body.format !== undefined) {
    return { status: 500, body: { error: 'failed to load model vocabulary required for format' } };
  }
  const reply = options.reply({
    messages: body.messages,
    model: body.model,
    options: body.options ?? {},
    received,
  });
  const { text, thinking, doneReason, ...given } = typeof reply === 'string' ? { text: reply } : reply;
  const sent = body.messages.reduce((total, { content }) => total + countTokens(content) + 4, 0);
  const window = Math.min(body.options?.num_ctx ?? 4096, options.contextTokens ?? Number.POSITIVE_INFINITY);
  if (options.strict && body.truncate === false && sent > window) {
    return { status: 400, body: { error: 'the input length exceeds the context length' } };
  }
  const promptTokens = given.promptTokens ?? Math.min(sent, window);
  const completionTokens = given.completionTokens ?? countTokens(text) + countTokens(thinking ?? '');
  const message = { role: 'assistant', content: text, ...(thinking !== undefined && { thinking }) };
  if (given.aborted) return { status: 200, body: { model: body.model, message, done: false } };
  return {
    status: 200,
    counted: { completions: 1, promptTokens, completionTokens },
    body: {
      model: body.model,
      created_at: '2025-01-01T00:00:00Z',
      message,
      done: true,
      done_reason: doneReason ?? 'stop',
      total_duration: 1,
      load_duration: 1,
      prompt_eval_count: promptTokens,
      prompt_eval_duration: 1,
      eval_count: completionTokens,
      eval_duration: 1,
    },
  };
}
