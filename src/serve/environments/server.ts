/** Environments as OpenEnv servers (0.3 to 0.10), for programs of this machine. */
import { createServer, type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex, Readable } from 'node:stream';
import { WebSocketServer } from 'ws';
import { onAbort } from '../../base/abortable.js';
import type { CommandContext } from '../../base/context.js';
import { messageOf } from '../../base/errors.js';
import { harmlessLine } from '../../base/terminal-text.js';
import { plural } from '../../format/numbers.js';
import {
  authority,
  endingOf,
  guardConnections,
  HttpError,
  type LoopbackHost,
  listen,
  requestTimeoutMs,
  requireLocal,
  requireMethod,
  targetOf,
} from '../http.js';
import { longestMessage } from './messages.js';
import type { OfferedEnvironment } from './offered.js';
import { faultList, Refusal } from './refusal.js';
import { addressOf, answerRoute, routeOf } from './routes.js';
import { type SessionLimits, SocketSessions } from './sockets.js';
import { LineSessions, linesOf } from './stdio.js';

export interface EnvironmentServerOptions {
  readonly offered: readonly OfferedEnvironment[];
  readonly limits: SessionLimits;
  readonly host: LoopbackHost;
  /** 0 takes a free one. */
  readonly port: number;
  /** Told of every request and session. */
  readonly note: (line: string) => void;
}

export interface ServedEnvironment {
  readonly name: string;
  /** For clients of OpenEnv. */
  readonly url: string;
}

export interface RunningEnvironments {
  readonly url: string;
  readonly environments: readonly ServedEnvironment[];
  /** Ends all sessions, and takes no more. */
  close(): Promise<void>;
}

/** Connections beside those of sessions. */
const mostOthers = 64;

/** @throws UserError when the address can't be listened on */
export async function startEnvironmentServer(
  options: EnvironmentServerOptions,
): Promise<RunningEnvironments> {
  const { host, limits, offered } = options;
  const note = (line: string) => options.note(harmlessLine(line));
  const sessions = new SocketSessions(limits, note);
  const upgrades = new WebSocketServer({
    noServer: true,
    maxPayload: longestMessage,
    perMessageDeflate: false,
  });
  let port = options.port;
  let environments: readonly ServedEnvironment[] = [];
  const timeouts = { requestTimeout: requestTimeoutMs, headersTimeout: requestTimeoutMs };
  const server = createServer(timeouts, (request, response) => {
    // The unread rest of a request would break the next one on its connection.
    response.on('finish', () => request.resume());
    respond(request, response, { port, offered, list: () => environments })
      .then((remark) => note(`${lineOf(request)} ${remark}`))
      // Whatever one request brings about ends its connection alone.
      .catch(() => response.destroy());
  });
  server.on('upgrade', (request, socket, head) => {
    socket.on('error', () => {});
    try {
      const { host: target, path } = targetOf(request);
      requireLocal(request, port, target);
      const route = routeOf(path, offered);
      if (route.path !== '/ws') throw new HttpError(404, 'not_found_error', 'the WebSocket is at /ws');
      upgrades.handleUpgrade(request, socket, head, (client) => sessions.serve(client, route.offered));
    } catch (error) {
      note(`${lineOf(request)} ${refuseUpgrade(socket, failureOf(error))}`);
    }
  });
  guardConnections(server, limits.sessions + mostOthers);
  const end = endingOf(server);
  port = await listen(server, { host, port });
  const url = `http://${authority(host, port)}`;
  environments = offered.map(({ name }) => ({
    name,
    url: offered.length === 1 ? url : `${url}/${addressOf(name)}`,
  }));
  return {
    ...{ url, environments },
    close() {
      sessions.close();
      return end();
    },
  };
}

interface Site {
  readonly port: number;
  readonly offered: readonly OfferedEnvironment[];
  readonly list: () => readonly ServedEnvironment[];
}

/** @returns the request's entry in the log */
async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  { list, offered, port }: Site,
): Promise<string> {
  try {
    const { host, path } = targetOf(request);
    requireLocal(request, port, host);
    const body = await bodyFor(request, path, offered, list);
    return write(response, 200, body);
  } catch (error) {
    const { body, headers, remark, status } = failureOf(error);
    if (response.destroyed) return 'given up by the client';
    write(response, status, body, headers);
    return `${status} ${remark}`;
  }
}

async function bodyFor(
  request: IncomingMessage,
  path: string,
  offered: readonly OfferedEnvironment[],
  list: Site['list'],
): Promise<object> {
  if (path === '/') {
    requireMethod(request, 'GET', 'HEAD');
    return { environments: list() };
  }
  // The server as a whole is asked, too, where there are several environments.
  if (path === '/health' && offered.length > 1) {
    requireMethod(request, 'GET', 'HEAD');
    return { status: 'healthy' };
  }
  const route = routeOf(path, offered);
  return answerRoute(request, route.path, route.offered);
}

function write(response: ServerResponse, status: number, body: object, headers: object = {}): string {
  response
    .writeHead(status, { 'content-type': 'application/json', ...headers })
    .end(response.req.method === 'HEAD' ? undefined : JSON.stringify(body));
  return String(status);
}

interface Failure {
  readonly status: number;
  /** As FastAPI has it. */
  readonly body: { readonly detail: unknown };
  readonly headers: Readonly<Record<string, string>>;
  readonly remark: string;
}

function failureOf(error: unknown): Failure {
  if (error instanceof HttpError) {
    const { headers, message, status } = error;
    return { status, headers, body: { detail: message }, remark: message };
  }
  if (error instanceof Refusal && error.code === 'VALIDATION_ERROR') {
    const { message } = error;
    return { status: 422, headers: {}, body: { detail: faultList(error, ['body']) }, remark: message };
  }
  const message = messageOf(error);
  return { status: 500, headers: {}, body: { detail: message }, remark: message };
}

/** @returns the request's entry in the log */
function refuseUpgrade(socket: Duplex, { body, remark, status }: Failure): string {
  const text = JSON.stringify(body);
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Connection: close',
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(text)}`,
  ];
  // A client that never ends its half would hold the connection.
  socket.once('finish', () => socket.destroy());
  socket.end(`${head.join('\r\n')}\r\n\r\n${text}`);
  return `${status} ${remark}`;
}

function lineOf({ method, url = '' }: IncomingMessage): string {
  return `${method} ${url.split('?', 1)[0]}`;
}

/** The properties of a running server of environments. */
export interface EnvironmentsReady extends SessionLimits {
  readonly url: string;
  readonly environments: readonly ServedEnvironment[];
}

/** Serves environments over HTTP until the first signal. @throws UserError when the address can't be listened on */
export async function serveEnvironments(
  offered: readonly OfferedEnvironment[],
  limits: SessionLimits,
  { host, port }: Pick<EnvironmentServerOptions, 'host' | 'port'>,
  { note, stop }: Pick<CommandContext, 'note' | 'stop'>,
  onReady: (ready: EnvironmentsReady) => void,
): Promise<void> {
  const server = await startEnvironmentServer({ offered, limits, host, port, note });
  const { environments, url } = server;
  note(
    `${plural(environments.length, 'environment')} for OpenEnv clients, at most ${plural(limits.sessions, 'session')} at once`,
  );
  onReady({ url, environments, ...limits });
  await new Promise<void>((done) => {
    onAbort(stop.finish, done);
  });
  await server.close();
}

/** Serves environments over lines of text until they end, or the first signal. */
export async function serveLines(
  offered: readonly OfferedEnvironment[],
  sessions: number,
  input: Readable,
  { print, stop }: Pick<CommandContext, 'print' | 'stop'>,
): Promise<void> {
  const lines = new LineSessions(offered, sessions);
  const release = onAbort(stop.finish, () => input.destroy());
  try {
    for await (const line of linesOf(input)) print(await lines.answer(line));
  } catch (error) {
    // The signal ends the input in the middle of a read.
    if (!stop.finish.aborted) throw error;
  } finally {
    release();
    lines.close();
  }
}
