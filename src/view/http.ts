/** An HTTP server for pages on this machine, and its checks of requests. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { UserError } from '../base/errors.js';
import { deepestJson, isDeeperThan, parseJson } from '../base/files/json-depth.js';

/** A failed request. */
export class HttpError extends Error {
  override readonly name = 'HttpError';
  readonly status: number;
  /** The field that is invalid. */
  readonly param: string | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    message: string,
    detail: { readonly param?: string; readonly headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(message);
    this.status = status;
    this.param = detail.param;
    this.headers = detail.headers ?? {};
  }

  get body() {
    return { error: { message: this.message, param: this.param ?? null } };
  }
}

export function badRequest(message: string, param?: string): HttpError {
  return new HttpError(400, message, param === undefined ? {} : { param });
}

export const notFound = (message: string): HttpError => new HttpError(404, message);

/**
 * @param longest maximum length in bytes
 * @throws HttpError if the body isn't declared as JSON, is invalid, too long or too deeply nested
 */
export async function readJsonBody(request: IncomingMessage, longest: number): Promise<unknown> {
  // Pages of other origins can send forms and plain text without a preflight request, but not JSON.
  if (request.headers['content-type']?.split(';')[0]?.trim().toLowerCase() !== 'application/json')
    throw new HttpError(415, 'the Content-Type must be application/json');
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
      const headers = { connection: 'close' };
      reject(new HttpError(413, `the body is longer than ${longest} bytes`, { headers }));
    });
    request.on('end', () => resolve(Buffer.concat(chunks)));
    request.on('error', reject);
  });
}

/** Only programs on this machine can connect to this address. */
const host = '127.0.0.1';

/** Milliseconds that a client has to send a whole request. The answer may take as long as it needs. */
const requestTimeout = 30_000;

/**
 * Starts a server for programs on this machine.
 * @param port number of the port; 0 for any free port
 * @param respond handles a request; if it fails, only the connection of that request is closed
 * @throws UserError if the port is in use or privileged
 */
export async function startHttp(
  port: number,
  respond: (request: IncomingMessage, response: ServerResponse, port: number) => Promise<void>,
) {
  let listening = port;
  const limits = { requestTimeout, headersTimeout: requestTimeout };
  const server = createServer(limits, (request, response) => {
    // If the rest of a request isn't read, it corrupts the next request on the same connection.
    response.on('finish', () => request.resume());
    respond(request, response, listening).catch(() => response.destroy());
  });
  guardConnections(server);
  listening = await listen(server, port);
  return {
    url: `http://${host}:${listening}`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/**
 * Keeps a server responsive: for each connection above the limit, closes the oldest connection that isn't
 * waiting for an answer.
 */
export function guardConnections(server: Server, most = 256): void {
  /** For each connection, oldest first: whether a complete request is still being answered. */
  const isBusy = new Map<Duplex, () => boolean>();
  server.on('connection', (socket: Duplex) => {
    isBusy.set(socket, () => false);
    socket.once('close', () => isBusy.delete(socket));
    if (isBusy.size > most) ([...isBusy].find(([, busy]) => !busy())?.[0] ?? socket).destroy();
  });
  server.on('request', (request: IncomingMessage, response: ServerResponse) =>
    isBusy.set(request.socket, () => request.complete && !response.writableEnded),
  );
}

export function sendJson(response: ServerResponse, body: unknown, status = 200, headers: object = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

async function listen(server: Server, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(listenError(error, port)));
    server.listen({ host, port, exclusive: true }, resolve);
  });
  return (server.address() as AddressInfo).port;
}

function listenError(error: NodeJS.ErrnoException, port: number): Error {
  const wrongPort = (message: string, hint: string) =>
    new UserError({ field: '--port', value: port, message, hint });
  switch (error.code) {
    case 'EADDRINUSE':
      return wrongPort('this port is already in use', 'choose another port, or 0 for any free one');
    case 'EACCES':
      return wrongPort('this port requires privileges', 'choose a port above 1023');
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
 * @returns the path without the query
 * @throws HttpError 403 for a foreign Host, Origin or site; 400 for two Hosts, or a target that is neither a path nor an
 * http URL (RFC 9112, 3.2.2)
 */
export function requireLocal(
  { headers, headersDistinct, url = '' }: Pick<IncomingMessage, 'headers'> & Partial<IncomingMessage>,
  port: number,
  anySite: (path: string) => boolean,
): string {
  const [target = ''] = url.split(/[?#]/, 1);
  const [, named, rest = '/'] = /^http:\/\/([^/]+)(\/.*)?$/is.exec(target) ?? [];
  const path = named === undefined ? target : rest;
  if (!path.startsWith('/')) throw badRequest('the request target must be a path');
  const authorities = [host, 'localhost'].flatMap((name) =>
    port === 80 ? [name, `${name}:80`] : [`${name}:${port}`],
  );
  if ((headersDistinct?.host?.length ?? 1) > 1)
    throw badRequest('a request must have exactly one Host header');
  for (const given of [headers.host, named ?? headers.host]) {
    const authority = given?.toLowerCase() ?? '';
    if (!authorities.includes(authority)) throw refused('Host', authority);
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
  return new HttpError(403, `requests with ${header} "${value}" are not allowed`);
}

export function requireMethod({ method = '' }: IncomingMessage, ...wanted: readonly string[]): void {
  if (wanted.includes(method)) return;
  const allow = wanted.join(', ');
  throw new HttpError(405, `${method} is not allowed here, only ${allow}`, { headers: { allow } });
}
