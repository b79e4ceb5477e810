/**
 * The `fetch` that the client libraries use. The global one gives up after five minutes without headers, which is too
 * soon for slow local models. This one also classifies each failure, before a library prints it or hides its headers.
 */
import * as http from 'node:http';
import * as https from 'node:https';
import { isRecord } from '../../modules/user-module.js';
import { deepestJson, isDeeperThan, jsonIn } from '../../storage/json-depth.js';
import type { ModelErrorKind } from '../language-model.js';
import { TryFailure } from './retry.js';

/** Agent options that are missing from Node 20's types. */
interface ProxyOptions extends https.AgentOptions {
  readonly proxyEnv?: NodeJS.ProcessEnv;
}

interface Reply {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
}

/** Maximum size of a reply in bytes, far above any completion; a server that sends more is broken. */
const longestBody = 16 * 2 ** 20;

/** A host that takes longer to accept a connection (including TLS) counts as down. */
const connectTimeoutMs = 10_000;

/** Sends `init` (method, headers, text body, signal); accepts any status. @throws TryFailure without a full reply */
export const plainFetch: typeof fetch = async (input, init = {}) => {
  const { status, body } = await exchange(new URL(input instanceof Request ? input.url : input), init);
  return new Response(body === '' ? null : body, { status });
};

/** Like `plainFetch`, but accepts only a status of 2xx and a JSON body. @throws TryFailure otherwise */
export const jsonFetch: typeof fetch = async (input, init = {}) => {
  const url = new URL(input instanceof Request ? input.url : input);
  const reply = await exchange(url, init);
  if (reply.status < 200 || reply.status > 299) throw failureOf(reply);
  if (jsonIn(reply.body) === undefined)
    throw new TryFailure(
      isWebPage(reply.body) ? 'html' : 'malformed',
      `${place(url)} answered HTTP ${reply.status} with ${describeBody(reply.body)}`,
    );
  return new Response(reply.body, { status: 200, headers: { 'content-type': 'application/json' } });
};

function exchange(url: URL, init: RequestInit): Promise<Reply> {
  return new Promise((resolve, reject) => {
    let isConnected = false;
    const failed = (error: Error) =>
      reject(error instanceof TryFailure ? error : networkFailure(url, error, isConnected));
    const isSecure = url.protocol === 'https:';
    const { Agent, globalAgent, request: send } = isSecure ? https : http;
    const request = send(
      url,
      {
        // A server may close an idle connection just as it is reused; a new connection avoids this. Only the
        // global agent knows whether Node uses proxies (NODE_USE_ENV_PROXY or --use-env-proxy).
        agent: new Agent({
          proxyEnv: (globalAgent as { readonly options?: ProxyOptions }).options?.proxyEnv,
        } as ProxyOptions),
        method: init.method ?? 'GET',
        headers: { ...Object.fromEntries(new Headers(init.headers)), 'accept-encoding': 'identity' },
        ...(init.signal && { signal: init.signal }),
      },
      (response) => {
        const chunks: Buffer[] = [];
        let length = 0;
        response.on('data', (chunk: Buffer) => {
          length += chunk.length;
          chunks.push(chunk);
          if (length > longestBody) {
            const problem = `${place(url)} answered with more than ${longestBody} bytes`;
            response.destroy(new TryFailure('malformed', problem));
          }
        });
        response.on('error', failed);
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: Buffer.concat(chunks).toString('utf8'),
          }),
        );
      },
    );
    request.on('error', failed);
    request.on('socket', (socket) => {
      // Some routers drop connections that stay silent while a model thinks.
      socket.setKeepAlive(true, 30_000);
      const hangs = () => request.destroy(Object.assign(new Error(), { code: 'ETIMEDOUT' }));
      const timer = setTimeout(hangs, connectTimeoutMs);
      const connected = () => {
        isConnected = true;
        clearTimeout(timer);
      };
      socket.once(isSecure ? 'secureConnect' : 'connect', connected);
      // Through a proxy, the socket is already connected and emits no such event.
      request.once('finish', connected);
      socket.once('close', () => clearTimeout(timer));
    });
    request.end(init.body ?? undefined);
  });
}

/** The failure for a reply with a status other than 2xx. */
function failureOf(reply: Reply): TryFailure {
  const { status, headers, body } = reply;
  const error = refusalIn(body);
  const redirect =
    headers.location === undefined ? '' : ` (redirects to ${headers.location}; use that URL instead)`;
  const message = `HTTP ${status}${redirect}${error.message === '' ? '' : `: ${error.message}`}`;
  const afterMs = retryAfter(headers);
  const sentAt = Date.parse(headers.date ?? '');
  return new TryFailure(
    kindOf(status, error),
    message,
    afterMs === undefined ? undefined : { afterMs, sentAt },
  );
}

/** Error texts of Azure, OpenAI, DeepSeek, Alibaba, xAI and OpenRouter for prompts that violate a content policy. */
const filterWords =
  /content[_ ]?(filter|policy|management policy)|ResponsibleAIPolicy|Content Exists Risk|data_?inspection_?failed|violates? (our |the )?(usage|content)|usage policy|was flagged|flagged_input/i;

/** Error texts for prompts that are too long. Some come with status 429, but waiting doesn't help. */
const lengthWords =
  /exceed_context_size|context_length_exceeded|context[ _-]?(size|length|window)|maximum context|max_new_tokens`? must be|reduce the length|prompt is too long|input token count|n_keep|request too large/i;

/** Classifies a failure by its HTTP status and the server's error. */
export function kindOf(status: number, { code, message }: ServerError): ModelErrorKind {
  if (status === 451) return 'content-filter';
  const words = `${code ?? ''} ${message}`;
  if ([400, 403, 422].includes(status) && filterWords.test(words)) return 'content-filter';
  if (status === 413 || ([400, 422, 429].includes(status) && lengthWords.test(words))) return 'too-long';
  // Some servers report an account without credit as a rate limit (429), but waiting doesn't help.
  if ([401, 402, 403].includes(status) || code === 'insufficient_quota') return 'authentication';
  if (status === 404) return 'not-found';
  if (status === 429) return 'rate-limit';
  return [408, 409, 425].includes(status) || status >= 500 ? 'server' : 'bad-request';
}

/** Milliseconds to wait, if stated. `retry-after` (RFC 9110) is in seconds, or a date to compare with `date`. */
export function retryAfter(headers: http.IncomingHttpHeaders): number | undefined {
  const given = headers['retry-after-ms'];
  const milliseconds = Number.parseFloat(Array.isArray(given) ? '' : (given ?? ''));
  if (milliseconds >= 0) return milliseconds;
  const text = headers['retry-after']?.trim();
  if (text === undefined) return undefined;
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1000;
  if (!/^[a-z]{3}/i.test(text)) return undefined;
  const difference = Date.parse(text) - Date.parse(headers.date ?? '');
  return Number.isNaN(difference) ? undefined : Math.max(0, difference);
}

const networkProblems: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing is listening there',
  ECONNRESET: 'the connection was dropped',
  EPIPE: 'the connection was dropped',
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'the host name could not be looked up',
  ETIMEDOUT: 'the connection timed out',
};

function networkFailure(url: URL, error: Error & { code?: unknown }, isConnected: boolean): TryFailure {
  const problem = typeof error.code === 'string' ? (networkProblems[error.code] ?? error.code) : undefined;
  const message = `no answer from ${place(url)}: ${problem ?? error.message}`;
  return new TryFailure(isConnected ? 'cut' : 'network', message);
}

/** The URL without its login and query, which may be secret. */
const place = ({ origin, pathname }: URL) => `${origin}${pathname}`;

export interface ServerError {
  readonly message: string;
  /** An error code such as `insufficient_quota`. */
  readonly code?: string;
  /** The HTTP status that the error states as its code, because some errors are sent with HTTP 200. */
  readonly status?: number;
}

export function serverError(body: string): ServerError {
  const value = jsonIn(body);
  if (value === undefined) return { message: body === '' ? '' : describeBody(body) };
  const error = errorIn(value);
  return { ...error, message: shorten(error.message) };
}

/** The error object is under `error` (OpenAI), at the top level (SGLang, Mistral), or in a list (Gemini). */
function errorIn(value: unknown): ServerError {
  if (Array.isArray(value)) return errorIn(value[0]);
  if (!isRecord(value)) return { message: wordsOf(value) };
  const error = isRecord(value.error) ? value.error : value;
  const said = [error.error, error.message, error.detail, value.message].map(wordsOf).find(Boolean);
  const code = [error.code, error.type].find((one) => typeof one === 'string' && !/^(\d+|None)$/.test(one));
  const status = Number(error.code);
  return {
    message: (said ?? '') + causeIn(error.metadata),
    ...(code !== undefined && { code: code as string }),
    ...(status >= 400 && status <= 599 && { status }),
  };
}

/** OpenRouter says “Provider returned error” and puts the provider's message into `raw`, often as JSON. */
function causeIn(metadata: unknown): string {
  if (!isRecord(metadata)) return '';
  const { provider_name: provider, raw } = metadata;
  const parsed = typeof raw === 'string' ? jsonIn(raw) : raw;
  const cause = parsed === undefined ? wordsOf(raw) : errorIn(parsed).message;
  const parts = [wordsOf(provider), cause].filter(Boolean);
  return parts.length === 0 ? '' : ` (${parts.join(': ')})`;
}

/** An error's text. FastAPI puts text or a list of problems into `detail`; Mistral puts such an object into `message`. */
function wordsOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map(wordsOf).filter(Boolean).join('; ');
  if (!isRecord(value)) return '';
  const { detail, loc, message, msg } = value;
  if (typeof msg !== 'string') return wordsOf(detail ?? message);
  const place = Array.isArray(loc) ? loc.filter((part) => part !== 'body').join('.') : '';
  return place === '' ? msg : `${place}: ${msg}`;
}

/** The error in the body of a failed request; if its format is unknown, the message consists of all strings in it. */
function refusalIn(body: string): ServerError {
  const error = serverError(body);
  return error.message === '' ? { ...error, message: shorten(textsIn(jsonIn(body)).join(', ')) } : error;
}

const textsIn = (value: unknown): readonly string[] =>
  typeof value === 'string'
    ? [value]
    : Object.values(isRecord(value) || Array.isArray(value) ? value : {}).flatMap(textsIn);

/** Describes a body that should have been JSON. */
function describeBody(body: string): string {
  if (body.trim() === '') return 'an empty body';
  if (isWebPage(body)) {
    const title = /<title>([^<]*)<\/title>/i.exec(body)?.[1]?.trim();
    return `an HTML page${title ? ` (“${shorten(title)}”)` : ''}`;
  }
  return isDeeperThan(body, deepestJson)
    ? `lists and objects nested more than ${deepestJson} levels deep`
    : `text that is not JSON: ${shorten(body)}`;
}

const isWebPage = (body: string) => /^\s*<(!doctype|html|head|body|\?xml|!--)/i.test(body);

function shorten(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length <= 300 ? line : `${line.slice(0, 299)}…`;
}
