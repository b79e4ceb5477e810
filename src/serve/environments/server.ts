/** Environments as OpenEnv servers (versions 0.3 to 0.10), for programs on this machine. */
import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Duplex, Readable } from 'node:stream';
import { WebSocketServer } from 'ws';
import { onAbort } from '../../base/abortable.js';
import type { CommandContext } from '../../base/context.js';
import { messageOf } from '../../base/errors.js';
import { harmlessLine } from '../../base/terminal-text.js';
import { plural } from '../../format/numbers.js';
import {
  type Address,
  HttpError,
  notFound,
  requestLine,
  requireLocal,
  requireMethod,
  sendJson,
  startHttp,
} from '../http.js';
import { longestMessage } from './messages.js';
import type { OfferedEnvironment } from './offered.js';
import { faultList, Refusal } from './refusal.js';
import { addressOf, answerRoute, routeOf } from './routes.js';
import { type SessionLimits, SocketSessions } from './sockets.js';
import { LineSessions, linesOf } from './stdio.js';

interface EnvironmentServerOptions extends Address {
  readonly offered: readonly OfferedEnvironment[];
  readonly limits: SessionLimits;
  readonly note: (line: string) => void;
}

export interface ServedEnvironment {
  readonly name: string;
  readonly url: string;
}

/** Number of connections allowed in addition to the maximum number of sessions. */
const mostOthers = 64;

/**
 * @returns the server; `close` ends all sessions
 * @throws UserError if the server can't listen on the address
 */
export async function startEnvironmentServer(options: EnvironmentServerOptions) {
  const { limits, offered } = options;
  const note = (line: string) => options.note(harmlessLine(line));
  const sessions = new SocketSessions(limits, note);
  const upgrades = new WebSocketServer({
    noServer: true,
    maxPayload: longestMessage,
    perMessageDeflate: false,
  });
  let environments: readonly ServedEnvironment[] = [];
  const server = await startHttp(
    options,
    async (request, response, port) => {
      const line = requestLine(request);
      try {
        sendJson(response, await bodyFor(request, port, offered, () => environments));
        note(`${line} 200`);
      } catch (error) {
        const { body, headers, remark, status } = failureOf(error);
        if (!response.destroyed) sendJson(response, body, status, headers);
        note(`${line} ${response.destroyed ? 'aborted by the client' : `${status} ${remark}`}`);
      }
    },
    (request, socket, head, port) => {
      socket.on('error', () => {});
      try {
        const route = routeOf(requireLocal(request, port), offered);
        if (route.path !== '/ws') throw notFound('the WebSocket is at /ws');
        upgrades.handleUpgrade(request, socket, head, (client) => sessions.serve(client, route.offered));
      } catch (error) {
        note(`${requestLine(request)} ${refuseUpgrade(socket, failureOf(error))}`);
      }
    },
    limits.sessions + mostOthers,
  );
  const { url } = server;
  environments = offered.map(({ name }) => ({
    name,
    url: offered.length === 1 ? url : `${url}/${addressOf(name)}`,
  }));
  return {
    ...{ url, environments },
    close() {
      sessions.close();
      return server.finish();
    },
  };
}

async function bodyFor(
  request: IncomingMessage,
  port: number,
  offered: readonly OfferedEnvironment[],
  list: () => readonly ServedEnvironment[],
): Promise<object> {
  const path = requireLocal(request, port);
  // With several environments, clients also check the health of the server as a whole.
  if (path === '/' || (path === '/health' && offered.length > 1)) {
    requireMethod(request, 'GET', 'HEAD');
    return path === '/' ? { environments: list() } : { status: 'healthy' };
  }
  const route = routeOf(path, offered);
  return answerRoute(request, route.path, route.offered);
}

interface Failure {
  readonly status: number;
  /** The error format of FastAPI. */
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

/** @returns a summary for the log */
function refuseUpgrade(socket: Duplex, { body, remark, status }: Failure): string {
  const text = JSON.stringify(body);
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Connection: close',
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(text)}`,
  ];
  // Otherwise, the connection would stay open if the client never closes its side.
  socket.once('finish', () => socket.destroy());
  socket.end(`${head.join('\r\n')}\r\n\r\n${text}`);
  return `${status} ${remark}`;
}

export interface EnvironmentsReady extends SessionLimits {
  readonly url: string;
  readonly environments: readonly ServedEnvironment[];
}

/** Serves until the first signal. @throws UserError if the server can't listen on the address */
export async function serveEnvironments(
  offered: readonly OfferedEnvironment[],
  limits: SessionLimits,
  address: Address,
  { note, stop }: Pick<CommandContext, 'note' | 'stop'>,
  onReady: (ready: EnvironmentsReady) => void,
): Promise<void> {
  const server = await startEnvironmentServer({ offered, limits, ...address, note });
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

/** Serves over standard input and output, line by line, until the input ends or the first signal arrives. */
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
    // The signal destroys the input, even during a read.
    if (!stop.finish.aborted) throw error;
  } finally {
    release();
    lines.close();
  }
}
