import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { messageOf, UserError } from '../base/errors.js';
import { ModelError, shortenPrompt } from '../models/language-model.js';
import { deepestJson, isDeeperThan, parseJson } from '../storage/json-depth.js';
import { endingOf, guardConnections } from './connections.js';

export type HttpErrorType =
  | 'invalid_request_error'
  | 'not_found_error'
  | 'permission_error'
  | 'rate_limit_error'
  | 'server_error';

/** A failed request, in the format of OpenAI's API. */
export class HttpError extends Error {
  override readonly name = 'HttpError';
  readonly status: number;
  readonly type: HttpErrorType;
  readonly param: string | undefined;
  /** Error code for programs, such as `context_length_exceeded`. */
  readonly code: string | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    type: HttpErrorType,
    message: string,
    detail: {
      readonly param?: string;
      readonly code?: string;
      readonly headers?: Readonly<Record<string, string>>;
    } = {},
  ) {
    super(message);
    this.status = status;
    this.type = type;
    this.param = detail.param;
    this.code = detail.code;
    this.headers = detail.headers ?? {};
  }

  get body() {
    const { code = null, message, param = null, type } = this;
    return { error: { message, type, param, code } };
  }
}

export function badRequest(message: string, param?: string): HttpError {
  return new HttpError(400, 'invalid_request_error', message, param === undefined ? {} : { param });
}

/** Replacements for words about configs in the model's messages; one is a phrase that clients look for. */
const inTermsOfRequests = [
  [shortenPrompt, 'shorten the prompt'],
  ['the context only holds', "this model's maximum context length is"],
  ['model.contextTokens', '--context-tokens of the server'],
  ['model.maxTokens', 'max_tokens'],
] as const;

function forClient(message: string): string {
  return inTermsOfRequests.reduce((text, [config, request]) => text.replaceAll(config, request), message);
}

export function httpErrorOf(error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  if (error instanceof UserError)
    return badRequest(forClient(error.problems.map(({ message }) => message).join('; ')));
  if (error instanceof ModelError && error.kind === 'too-long')
    return new HttpError(400, 'invalid_request_error', forClient(error.message), {
      code: 'context_length_exceeded',
    });
  if (error instanceof ModelError && error.kind === 'bad-request')
    return badRequest(forClient(error.message));
  if (error instanceof ModelError && error.kind === 'aborted')
    return new HttpError(503, 'server_error', 'the server is shutting down');
  return new HttpError(500, 'server_error', forClient(messageOf(error)));
}

/** Maximum length of a request body in bytes. */
export const longestBody = 8 * 2 ** 20;

/**
 * @param longest maximum length in bytes
 * @throws HttpError if the body isn't declared as JSON, is compressed, invalid, too long or too deeply nested
 */
export async function readJsonBody(request: IncomingMessage, longest = longestBody): Promise<unknown> {
  // Pages of other origins can send forms and plain text without a preflight request, but not JSON.
  if (request.headers['content-type']?.split(';')[0]?.trim().toLowerCase() !== 'application/json')
    throw new HttpError(415, 'invalid_request_error', 'the Content-Type must be application/json');
  const encoding = request.headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity')
    throw new HttpError(415, 'invalid_request_error', `unsupported Content-Encoding "${encoding}"`);
  if (Number(request.headers['content-length'] ?? 0) > longest) throw tooLong(longest);
  const body = await readBody(request, longest);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    throw badRequest('the body must be JSON in UTF-8');
  }
  try {
    return parseJson(text);
  } catch {
    if (isDeeperThan(text, deepestJson))
      throw badRequest(`the body is nested more than ${deepestJson} levels deep`);
    throw badRequest('the body must be JSON in UTF-8');
  }
}

function readBody(request: IncomingMessage, longest: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let chunks: Buffer[] = [];
    let length = 0;
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      chunks.push(chunk);
      if (length <= longest) return;
      // Discard the rest of the body, so that the client can read the answer.
      chunks = [];
      reject(tooLong(longest));
    });
    request.on('end', () => resolve(Buffer.concat(chunks)));
    request.on('error', reject);
  });
}

function tooLong(longest: number): HttpError {
  return new HttpError(413, 'invalid_request_error', `the body is longer than ${longest} bytes`, {
    headers: { connection: 'close' },
  });
}

export const loopbackHosts = ['127.0.0.1', '::1'] as const;
export type LoopbackHost = (typeof loopbackHosts)[number];

export interface Address {
  readonly host: LoopbackHost;
  /** Port number; 0 for any free port. */
  readonly port: number;
}

/** Milliseconds that a client has to send a whole request. The answer may take as long as it needs. */
const requestTimeout = 30_000;

/**
 * Starts a server for programs on this machine.
 * @param respond handles a request; if it fails, only the connection of that request is closed
 * @param upgrade handles WebSockets; without it, upgrade requests are handled like others
 * @param connections maximum number of open connections
 * @throws UserError if the port is in use or privileged, or this machine lacks the address
 */
export async function startHttp(
  address: Address,
  respond: (request: IncomingMessage, response: ServerResponse, port: number) => Promise<void>,
  upgrade?: (request: IncomingMessage, socket: Duplex, head: Buffer, port: number) => void,
  connections?: number,
) {
  let { port } = address;
  const limits = { requestTimeout, headersTimeout: requestTimeout };
  const server = createServer(limits, (request, response) => {
    // If the rest of a request isn't read, it corrupts the next request on the same connection.
    response.on('finish', () => request.resume());
    respond(request, response, port).catch(() => response.destroy());
  });
  if (upgrade) server.on('upgrade', (request, socket, head) => upgrade(request, socket, head, port));
  guardConnections(server, connections);
  const finish = endingOf(server);
  port = await listen(server, address);
  const url = `http://${address.host === '::1' ? '[::1]' : address.host}:${port}`;
  return { url, finish, abort: () => server.closeAllConnections() };
}

export function sendJson(response: ServerResponse, body: unknown, status = 200, headers: object = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

/** `GET /path`, without the query, because some programs put keys there. */
export const requestLine = ({ method, url = '' }: IncomingMessage): string =>
  `${method} ${url.split('?', 1)[0]}`;

async function listen(server: Server, { host, port }: Address): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(listenError(error, { host, port })));
    server.listen({ host, port, exclusive: true }, resolve);
  });
  return (server.address() as AddressInfo).port;
}

function listenError(error: NodeJS.ErrnoException, { host, port }: Address): Error {
  const wrongPort = (message: string, remedy: string) =>
    new UserError({ field: '--port', value: port, message, remedy });
  switch (error.code) {
    case 'EADDRINUSE':
      return wrongPort('this port is already in use', 'choose another port, or 0 for any free one');
    case 'EACCES':
      return wrongPort('this port requires privileges', 'choose a port above 1023');
    case 'EADDRNOTAVAIL':
      return new UserError({
        field: '--host',
        value: host,
        message: "this machine doesn't have this address",
      });
    default:
      return error;
  }
}

/** @throws UserError unless `given` is a valid port number, or 0 for any free port */
export function requirePort(given: number): number {
  if (Number.isInteger(given) && given >= 0 && given <= 65_535) return given;
  throw new UserError({
    field: '--port',
    value: given,
    message: "isn't a valid port",
    alternatives: ['a whole number from 0 (any free one) to 65535'],
  });
}

/**
 * Admits programs on this machine and pages of this server.
 *
 * Rejects other web pages in a browser on this machine: their Origin differs, or the browser reports another site. If
 * their host name resolves to this machine (DNS rebinding), the Host differs.
 * @param anySite true for paths that other sites may link to
 * @returns the path without the query, where some programs put keys
 * @throws HttpError 403 for a foreign Host, Origin or site; 400 for two Hosts, or a target that is neither a path nor an
 * http URL (RFC 9112, 3.2.2)
 */
export function requireLocal(
  { headers, headersDistinct, url = '' }: Pick<IncomingMessage, 'headers'> & Partial<IncomingMessage>,
  port: number,
  anySite: (path: string) => boolean = () => false,
): string {
  const [target = ''] = url.split(/[?#]/, 1);
  const [, named, rest = '/'] = /^http:\/\/([^/]+)(\/.*)?$/is.exec(target) ?? [];
  const path = named === undefined ? target : rest;
  if (!path.startsWith('/')) throw badRequest('the request target must be a path');
  const authorities = ['127.0.0.1', 'localhost', '[::1]'].flatMap((name) =>
    port === 80 ? [name, `${name}:80`] : [`${name}:${port}`],
  );
  if ((headersDistinct?.host?.length ?? 1) > 1)
    throw badRequest('a request must have exactly one Host header');
  for (const given of [headers.host, named ?? headers.host]) {
    const host = given?.toLowerCase() ?? '';
    if (!authorities.includes(host)) throw refused('Host', host);
  }
  const { origin } = headers;
  if (origin !== undefined && !authorities.some((name) => origin === `http://${name}`))
    throw refused('Origin', origin);
  // For images, scripts and GET forms, browsers don't send an Origin, but they report the site of the page.
  const site = headers['sec-fetch-site'] ?? 'none';
  if (site !== 'none' && site !== 'same-origin' && !anySite(path))
    throw refused('Sec-Fetch-Site', String(site));
  return path;
}

function refused(header: string, value: string): HttpError {
  return new HttpError(403, 'permission_error', `requests with ${header} "${value}" are not allowed`);
}

export function requireMethod({ method = '' }: IncomingMessage, ...wanted: readonly string[]): void {
  if (wanted.includes(method)) return;
  const allow = wanted.join(', ');
  throw new HttpError(405, 'invalid_request_error', `${method} is not allowed here, only ${allow}`, {
    headers: { allow },
  });
}

export const notFound = (message: string): HttpError => new HttpError(404, 'not_found_error', message);
