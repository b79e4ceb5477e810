/** What the fake model servers share: a real HTTP server on this machine that fails as it is told to, and counts. */
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { createGenerator } from '../../src/base/random/generator.js';

/** How one request goes wrong. */
export type Fault =
  /** HTTP 429; `retryAfter` is sent as it stands (default `0`). */
  | { readonly kind: 'rate-limit'; readonly retryAfter?: string; readonly code?: string }
  /** An HTTP error (default 500). */
  | { readonly kind: 'status'; readonly status?: number; readonly message?: string }
  /** The connection is cut without an answer. */
  | { readonly kind: 'drop' }
  /** The connection is cut in the middle of the answer. */
  | { readonly kind: 'cut' }
  /** HTTP 200 with half of the JSON. */
  | { readonly kind: 'malformed' }
  /** HTTP 200 with a web page. */
  | { readonly kind: 'html' }
  /** HTTP 200 and JSON, without an answer in it. */
  | { readonly kind: 'empty' }
  /** The right answer, late. */
  | { readonly kind: 'slow'; readonly milliseconds: number }
  /** No answer at all. */
  | { readonly kind: 'silent' };

export type FaultPlan =
  /** Each request fails with probability `rate`, with one of `kinds`, as a seeded generator decides. */
  | { readonly rate: number; readonly seed: number; readonly kinds?: readonly Fault[] }
  /** The first requests, in order; `undefined` is answered well, and so are those after the list. */
  | { readonly script: readonly (Fault | undefined)[] };

/** Every kind that a retry mends. */
const temporaryFaults: readonly Fault[] = [
  { kind: 'rate-limit' },
  { kind: 'status' },
  { kind: 'drop' },
  { kind: 'cut' },
  { kind: 'malformed' },
  { kind: 'html' },
  { kind: 'empty' },
  { kind: 'slow', milliseconds: 20 },
];

/** What the server knows, for comparison with what the client counted. */
interface Counts {
  /** Requests that came in. */
  requests: number;
  /** Those that were answered well and in full, late ones included. */
  succeeded: number;
  /** Completions in those answers. */
  completions: number;
  readonly faults: Record<Fault['kind'], number>;
  /** Tokens reported in those answers. */
  promptTokens: number;
  cachedTokens: number;
  completionTokens: number;
  reasoningTokens: number;
}

export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  // The body is whatever the client sent; tests assert its shape. Empty for one that is no JSON.
  readonly body: Record<string, unknown>;
  readonly text: string;
}

export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Text before the JSON. */
  readonly before?: string;
  /** What is counted when the answer has been sent. */
  readonly counted?: Partial<Omit<Counts, 'requests' | 'succeeded' | 'faults'>>;
}

export interface FakeServer {
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  /** In the order of arrival. */
  readonly requests: readonly ReceivedRequest[];
  readonly counts: Counts;
  /** Done by itself after the last test of a file. */
  close(): Promise<void>;
}

const running = new Set<Server>();

/** A server on this machine, which ends with the file of tests that started it. */
export async function listening(handle: RequestListener) {
  const server = createServer(handle);
  running.add(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { server, port, url: `http://127.0.0.1:${port}`, close: () => close(server) };
}

async function close(server: Server): Promise<void> {
  running.delete(server);
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  await closed;
}

export async function closeServers(): Promise<void> {
  for (const server of running) await close(server);
}

export async function startFakeServer(options: {
  readonly faults: FaultPlan | undefined;
  readonly answer: (request: ReceivedRequest) => Answer;
  /** JSON that a client must take for no answer. */
  readonly empty: unknown;
  /** What it says of itself, by path; such questions are neither counted nor fail. */
  readonly facts?: Readonly<Record<string, unknown>> | undefined;
}): Promise<FakeServer> {
  const requests: ReceivedRequest[] = [];
  const counts: Counts = {
    requests: 0,
    succeeded: 0,
    completions: 0,
    faults: {
      'rate-limit': 0,
      status: 0,
      drop: 0,
      cut: 0,
      malformed: 0,
      html: 0,
      empty: 0,
      slow: 0,
      silent: 0,
    },
    promptTokens: 0,
    cachedTokens: 0,
    completionTokens: 0,
    reasoningTokens: 0,
  };
  const nextFault = faultSource(options.faults);

  const handle = async (message: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (message.method === 'GET') {
      const fact = options.facts?.[message.url!];
      response.writeHead(fact === undefined ? 404 : 200, { 'content-type': 'application/json' });
      return void response.end(
        JSON.stringify(fact ?? { error: { message: `no such path: ${message.url}` } }),
      );
    }
    const chunks: Buffer[] = [];
    for await (const chunk of message) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString('utf8');
    const isJson = message.headers['content-type']?.startsWith('multipart/') !== true && text !== '';
    const request: ReceivedRequest = {
      method: message.method ?? '',
      path: message.url ?? '',
      headers: message.headers,
      body: isJson ? (JSON.parse(text) as Record<string, unknown>) : {},
      text,
    };
    requests.push(request);
    counts.requests++;
    const fault = nextFault();
    if (fault !== undefined) counts.faults[fault.kind]++;

    const answer = options.answer(request);
    const json = (answer.before ?? '') + JSON.stringify(answer.body);
    const send = (status: number, body: string, headers: Record<string, string> = {}) => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(body);
    };
    const sendAnswer = () => {
      if (answer.status === 200) {
        counts.succeeded++;
        for (const [name, amount] of Object.entries(answer.counted ?? {})) {
          counts[name as 'promptTokens'] += amount;
        }
      }
      send(answer.status, json, answer.headers);
    };
    switch (fault?.kind) {
      case undefined:
        return sendAnswer();
      case 'rate-limit':
        return send(
          429,
          JSON.stringify({ error: { message: 'Rate limit reached', code: fault.code ?? null } }),
          { 'retry-after': fault.retryAfter ?? '0' },
        );
      case 'status':
        return send(
          fault.status ?? 500,
          JSON.stringify({ error: { message: fault.message ?? 'out of order' } }),
        );
      case 'drop':
        return void message.socket.destroy();
      case 'cut':
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': json.length * 2 });
        response.write(json, () => message.socket.destroy());
        return;
      case 'malformed':
        return send(200, json.slice(0, json.length / 2));
      case 'html':
        return send(200, '<!doctype html><title>Sign in</title><p>Welcome', { 'content-type': 'text/html' });
      case 'empty':
        return send(200, JSON.stringify(options.empty));
      case 'slow':
        return void setTimeout(() => {
          if (!response.destroyed) sendAnswer();
        }, fault.milliseconds);
      case 'silent':
        return;
    }
  };

  const { close, url } = await listening((message, response) => {
    handle(message, response).catch((error: unknown) => {
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { message: String(error) } }));
    });
  });
  return { url, requests, counts, close };
}

function faultSource(plan: FaultPlan | undefined): () => Fault | undefined {
  if (plan === undefined) return () => undefined;
  if ('script' in plan) {
    let next = 0;
    return () => plan.script[next++];
  }
  const random = createGenerator(plan.seed);
  const kinds = plan.kinds ?? temporaryFaults;
  return () => {
    const fails = random.random() < plan.rate;
    const fault = random.choice(kinds);
    return fails ? fault : undefined;
  };
}

/** A stand-in for a tokenizer: deterministic, and within what token bounds allow. */
export function countTokens(text: string): number {
  return text.match(/[A-Za-z]+|\d|[^\sA-Za-z\d]/g)?.length ?? 0;
}
