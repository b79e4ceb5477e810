/** Wraps Node's `fetch` for the client libraries: classifies each failure before a library hides it. */

import { isDeeperThan, jsonIn, maxJsonDepth } from '../../base/files/json-depth.js';
import { isObject } from '../../base/modules/user-module.js';
import type { ModelErrorKind } from '../language-model.js';
import { AttemptError } from './retry.js';

/** Maximum size of a reply in bytes, far above any completion; a server that sends more is broken. */
const maxBodyBytes = 16 * 2 ** 20;

/** Options of undici's agents, which Node's `fetch` uses. */
const agentOptions = {
  // The default of five minutes is too short for slow local models; each call has its own deadline.
  headersTimeout: 0,
  bodyTimeout: 0,
  maxResponseSize: maxBodyBytes,
  // A server may close an idle connection just as it is reused; a new connection avoids this.
  pipelining: 0,
  // Some routers drop connections that stay silent while a model thinks.
  connect: { timeout: 10_000, keepAlive: true, keepAliveInitialDelay: 30_000 },
};

/**
 * Creates an agent of the same class as Node's global agent, which may use proxies; Node doesn't export these classes.
 * Returns undefined if the calling program has installed another kind of agent.
 */
function createAgent(): object | undefined {
  // Node creates its agent when one of the classes of `fetch` is first used.
  void Response;
  type AgentClass = new (options: object) => object;
  const globals = globalThis as { readonly [name: symbol]: { constructor: AgentClass } | undefined };
  const Agent = globals[Symbol.for('undici.globalDispatcher.1')]?.constructor;
  return Agent && /^(EnvHttpProxy)?Agent$/.test(Agent.name) ? new Agent(agentOptions) : undefined;
}

const agent = createAgent();

/** Sends a request; accepts only a status of 2xx and a JSON body. @throws AttemptError otherwise */
export const jsonFetch: typeof fetch = async (input, init) => {
  const url = new URL(input instanceof Request ? input.url : input);
  let response: Response;
  let body: string;
  try {
    const headers = new Headers(init?.headers);
    headers.set('accept-encoding', 'identity');
    const options = { headers, redirect: 'manual', dispatcher: agent } as const;
    response = await fetch(url, { ...init, ...options });
    body = await response.text();
  } catch (error) {
    throw networkFailure(url, error as Error);
  }
  if (!response.ok) throw failureOf(response, body);
  if (jsonIn(body) === undefined)
    throw new AttemptError(
      isWebPage(body) ? 'html' : 'malformed',
      `${address(url)} returned HTTP ${response.status} with ${describeBody(body)}`,
    );
  return new Response(body, { status: 200, headers: { 'content-type': 'application/json' } });
};

/** Creates the failure for a response with a status other than 2xx. */
function failureOf({ status, headers }: Response, body: string): AttemptError {
  const error = serverError(jsonIn(body));
  const text = error.message || (body && describeBody(body));
  const location = headers.get('location');
  const redirectNote = location === null ? '' : ` (redirects to ${location}; use that URL instead)`;
  const message = `HTTP ${status}${redirectNote}${text && `: ${text}`}`;
  const retryAfter = retryDelay(headers);
  return new AttemptError(errorKind(status, { ...error, message: text }), message, retryAfter);
}

/** Error texts of Azure, OpenAI, DeepSeek, Alibaba, xAI and OpenRouter for prompts that violate a content policy. */
const filterWords =
  /content[_ ]?(filter|policy|management policy)|ResponsibleAIPolicy|Content Exists Risk|data_?inspection_?failed|violates? (our |the )?(usage|content)|usage policy|was flagged|flagged_input/i;

/** Error texts for prompts that are too long. */
const lengthWords =
  /exceed_context_size|context_length_exceeded|context[ _-]?(size|length|window)|maximum context|max_new_tokens`? must be|reduce the length|prompt is too long|input token count|n_keep|request too large/i;

/** Kinds of failures by HTTP status and, for some, words in the error's code or text. The first match applies. */
const failureKinds: readonly (readonly [ModelErrorKind, statuses: RegExp, words?: RegExp])[] = [
  ['content-filter', /451/],
  ['content-filter', /400|403|422/, filterWords],
  ['too-long', /413/],
  // Some servers report the next two failures as a rate limit (429), but waiting doesn't help.
  ['too-long', /400|422|429/, lengthWords],
  ['authentication', /.../, /^insufficient_quota /],
  ['authentication', /40[123]/],
  ['not-found', /404/],
  ['rate-limit', /429/],
  ['server', /40[89]|425|5../],
];

export function errorKind(status: number, { code, message }: ServerError): ModelErrorKind {
  const text = `${code ?? ''} ${message}`;
  const match = failureKinds.find(
    ([, statuses, words]) => statuses.test(`${status}`) && (words?.test(text) ?? true),
  );
  return match?.[0] ?? 'bad-request';
}

/** Returns the milliseconds to wait, if any. `retry-after` (RFC 9110): seconds, or a date to compare with `date`. */
export function retryDelay(headers: Headers): number | undefined {
  const milliseconds = Number.parseFloat(headers.get('retry-after-ms') ?? '');
  if (milliseconds >= 0) return milliseconds;
  const text = headers.get('retry-after') ?? '';
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1000;
  if (!/^[a-z]{3}/i.test(text)) return undefined;
  const difference = Date.parse(text) - Date.parse(headers.get('date') ?? '');
  return Number.isNaN(difference) ? undefined : Math.max(0, difference);
}

const networkProblems: readonly (readonly [RegExp, string])[] = [
  [/^ECONNREFUSED$/, 'nothing is listening there'],
  [/^(ECONNRESET|EPIPE|UND_ERR_SOCKET|UND_ERR_RES_CONTENT_LENGTH_MISMATCH)$/, 'the connection was dropped'],
  [/^(ENOTFOUND|EAI_AGAIN)$/, 'the host name is unknown'],
  [/^(ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT)$/, 'the connection timed out'],
];

/** Codes of failures after the connection was made; the server may have generated a reply. */
const cutCodes = /^(ECONNRESET|EPIPE|UND_ERR_(?!CONNECT)|HPE_)/;

function networkFailure(url: URL, error: Error): AttemptError {
  const cause = (error.cause ?? error) as { readonly code?: unknown; readonly message: string };
  const code = typeof cause.code === 'string' ? cause.code : '';
  if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE')
    return new AttemptError('malformed', `${address(url)} returned more than ${maxBodyBytes} bytes`);
  const problemText = networkProblems.find(([codes]) => codes.test(code))?.[1];
  const problem = problemText ?? (code || cause.message);
  const kind = cutCodes.test(code) ? 'cut' : 'network';
  return new AttemptError(kind, `no answer from ${address(url)}: ${problem}`);
}

/** Returns a URL without its login and query, which may be secret. */
const address = ({ origin, pathname }: URL) => `${origin}${pathname}`;

export interface ServerError {
  readonly message: string;
  /** An error code such as `insufficient_quota`. */
  readonly code?: string;
  /** HTTP status that the error states as its code; some errors are sent with HTTP 200. */
  readonly status?: number;
}

/** Finds the error in a response: under `error` (OpenAI), at the top level (SGLang, Mistral), or in a list (Gemini). */
export function serverError(value: unknown): ServerError {
  const [response] = [value].flat();
  const error = isObject(response) && isObject(response.error) ? response.error : response;
  const { code, type } = isObject(error) ? error : {};
  const name = [code, type].find((one) => typeof one === 'string' && !/^(\d+|None)$/.test(one));
  const status = Number(code);
  return {
    message: shorten(errorText(response)),
    ...(name !== undefined && { code: name as string }),
    ...(status >= 400 && status <= 599 && { status }),
  };
}

/**
 * Finds the text of an error. FastAPI puts a list of problems into `detail`, Mistral an object with such a list into
 * `message`, and OpenRouter the provider's own error into `metadata.raw`, often as JSON.
 */
function errorText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map(errorText).filter(Boolean).join('; ');
  if (!isObject(value)) return '';
  const { detail, error, loc, message, metadata, msg } = value;
  if (typeof msg === 'string') {
    const fieldPath = Array.isArray(loc) ? loc.filter((part) => part !== 'body').join('.') : '';
    return fieldPath === '' ? msg : `${fieldPath}: ${msg}`;
  }
  const text = [error, message, detail].map(errorText).find(Boolean) ?? '';
  if (!isObject(metadata)) return text;
  const { provider_name: name, raw } = metadata;
  const cause = [name, typeof raw === 'string' ? (jsonIn(raw) ?? raw) : raw].map(errorText).filter(Boolean);
  return cause.length === 0 ? text : `${text} (${cause.join(': ')})`;
}

/** Describes a body that contains neither an error nor a completion. */
function describeBody(body: string): string {
  if (body.trim() === '') return 'an empty body';
  if (isWebPage(body)) {
    const title = /<title>([^<]*)<\/title>/i.exec(body)?.[1]?.trim();
    return `an HTML page${title ? ` (“${shorten(title)}”)` : ''}`;
  }
  return isDeeperThan(body, maxJsonDepth)
    ? `lists and objects nested more than ${maxJsonDepth} levels deep`
    : `an unexpected text: ${shorten(body)}`;
}

const isWebPage = (body: string) => /^\s*<(!doctype|html|head|body|\?xml|!--)/i.test(body);

function shorten(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length <= 300 ? line : `${line.slice(0, 299)}…`;
}
