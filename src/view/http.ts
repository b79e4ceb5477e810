/** The view's HTTP server, reachable only from this machine, and the checks that it makes on requests. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { UserError } from '../base/errors.js';

/** A failed request. */
export class HttpError extends Error {
  override readonly name = 'HttpError';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

/**
 * @param maxBytes maximum length of the body
 * @throws HttpError if the body isn't declared as JSON or is invalid, or its length is undeclared or too large
 */
export async function readJsonBody(request: IncomingMessage, maxBytes: number): Promise<unknown> {
  const { 'content-length': length, 'content-type': type } = request.headers;
  // Pages from other origins can send forms and plain text without a preflight request, but not JSON.
  if (type?.split(';')[0]?.trim().toLowerCase() !== 'application/json')
    throw new HttpError(415, 'the Content-Type must be application/json');
  // Node reads no more bytes than the request declares.
  if (length === undefined || Number(length) > maxBytes)
    throw new HttpError(413, `the Content-Length header is required and must be at most ${maxBytes} bytes`);
  try {
    return JSON.parse(await text(request));
  } catch {
    throw new HttpError(400, 'the body must be JSON');
  }
}

/** Only programs on this machine can connect to this address. */
const host = '127.0.0.1';

/** Time limit for receiving a whole request, in milliseconds. Responses have no limit. */
const requestTimeout = 30_000;

/**
 * Starts a server for programs on this machine.
 * @param port number of the port; 0 for any free port
 * @param respond handles a request; if it fails, only the connection of that request is closed
 * @throws UserError if the port can't be used
 */
export async function startHttp(
  port: number,
  respond: (request: IncomingMessage, response: ServerResponse, port: number) => Promise<void>,
) {
  let boundPort = port;
  const limits = { requestTimeout, headersTimeout: requestTimeout };
  const server = createServer(limits, (request, response) => {
    // If the rest of a request isn't read, it corrupts the next request on the same connection.
    response.on('finish', () => request.resume());
    respond(request, response, boundPort).catch(() => response.destroy());
  });
  guardConnections(server);
  boundPort = await listen(server, port);
  return {
    url: `http://${host}:${boundPort}`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/**
 * Keeps a server responsive: for each connection above the limit, closes the oldest connection that isn't
 * waiting for a response.
 */
export function guardConnections(server: Server, limit = 256): void {
  /** For each connection, oldest first: returns true while the server answers a complete request. */
  const busyChecks = new Map<Duplex, () => boolean>();
  server.on('connection', (socket: Duplex) => {
    busyChecks.set(socket, () => false);
    socket.once('close', () => busyChecks.delete(socket));
    if (busyChecks.size > limit) ([...busyChecks].find(([, busy]) => !busy())?.[0] ?? socket).destroy();
  });
  server.on('request', (request: IncomingMessage, response: ServerResponse) =>
    busyChecks.set(request.socket, () => request.complete && !response.writableEnded),
  );
}

export function sendJson(response: ServerResponse, body: unknown, status = 200, headers: object = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

/** @throws UserError if the port is invalid, in use or privileged */
async function listen(server: Server, port: number): Promise<number> {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host, port, exclusive: true }, resolve);
    });
  } catch (error) {
    const message = portProblems[(error as NodeJS.ErrnoException).code ?? ''];
    if (message === undefined) throw error;
    const hint = 'choose a port from 1024 to 65535, or 0 for any free one';
    throw new UserError({ field: '--port', value: port, message, hint });
  }
  return (server.address() as AddressInfo).port;
}

const portProblems: Readonly<Record<string, string>> = {
  EADDRINUSE: 'this port is already in use, perhaps by another view',
  EACCES: 'this port requires privileges',
  ERR_SOCKET_BAD_PORT: "isn't a valid port",
};

/**
 * Admits programs on this machine and pages of this server.
 *
 * Rejects other web pages in a browser on this machine: their Origin differs, or the browser reports another site. If
 * their host name resolves to this machine (DNS rebinding), the Host differs.
 * @param anySite returns true for paths that other sites may link to
 * @returns the path without the query
 * @throws HttpError 403 for a foreign Host, Origin or site; 400 for several Hosts, or a target that isn't a path
 */
export function requireLocal(
  { headers, headersDistinct, url = '' }: Pick<IncomingMessage, 'headers'> & Partial<IncomingMessage>,
  port: number,
  anySite: (path: string) => boolean,
): string {
  const [path = ''] = url.split(/[?#]/, 1);
  if (!path.startsWith('/')) throw new HttpError(400, 'the request target must be a path');
  const authorities = [host, 'localhost'].flatMap((name) =>
    port === 80 ? [name, `${name}:80`] : [`${name}:${port}`],
  );
  if ((headersDistinct?.host?.length ?? 1) > 1)
    throw new HttpError(400, 'a request must have exactly one Host header');
  const authority = headers.host?.toLowerCase() ?? '';
  if (!authorities.includes(authority)) throw forbiddenError('Host', authority);
  const { origin } = headers;
  if (origin !== undefined && !authorities.some((name) => origin === `http://${name}`))
    throw forbiddenError('Origin', origin);
  // For images, scripts and GET forms, browsers don't send an Origin, but they report the site of the page.
  const site = headers['sec-fetch-site'] ?? 'none';
  if (site !== 'none' && site !== 'same-origin' && !anySite(path))
    throw forbiddenError('Sec-Fetch-Site', String(site));
  return path;
}

function forbiddenError(header: string, value: string): HttpError {
  return new HttpError(403, `requests with ${header} "${value}" are not allowed`);
}

export function requireMethod({ method = '' }: IncomingMessage, ...methods: readonly string[]): void {
  if (methods.includes(method)) return;
  const allow = methods.join(', ');
  throw new HttpError(405, `${method} is not allowed here, only ${allow}`, { allow });
}
