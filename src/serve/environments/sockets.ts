/** OpenEnv's WebSockets: one environment per connection. */
import { type RawData, WebSocket } from 'ws';
import { messageOf } from '../../base/errors.js';
import { plural } from '../../format/numbers.js';
import { type Answer, batchTypes, errorAnswer, readMessage, sessionTypes, unknownType } from './messages.js';
import type { OfferedEnvironment } from './offered.js';
import type { OpenSession } from './open-session.js';
import { Refusal } from './refusal.js';

export interface SessionLimits {
  /** Maximum number of concurrent sessions, over all environments. */
  readonly sessions: number;
  /** Time without a message after which a session ends. */
  readonly idleSeconds: number;
}

/** Maximum number of bytes of unread answers; beyond this, the connection is closed. */
const mostUnread = 2 ** 20;

/** Milliseconds that a client has to close its side of a connection. */
const closingMs = 1000;

/** Close codes from RFC 6455 and its registry. */
const closeCodes = { normal: 1000, leaving: 1001, tryLater: 1013 } as const;

export class SocketSessions {
  readonly #limits: SessionLimits;
  readonly #note: (line: string) => void;
  readonly #open = new Set<WebSocket>();
  #begun = 0;

  /** @param note receives a line when a session starts or ends */
  constructor(limits: SessionLimits, note: (line: string) => void) {
    this.#limits = limits;
    this.#note = note;
  }

  /** Starts a client's session, or sends an error and closes the connection. Never throws. */
  async serve(socket: WebSocket, offered: OfferedEnvironment): Promise<void> {
    // After this event, `ws` itself closes the connection with a code.
    socket.on('error', () => {});
    const { sessions } = this.#limits;
    if (this.#open.size >= sessions) {
      const message = `the limit of ${plural(sessions, 'session')} is reached`;
      const detail = { active_sessions: this.#open.size, max_sessions: sessions };
      send(socket, errorAnswer(new Refusal('CAPACITY_REACHED', message), detail));
      end(socket, closeCodes.tryLater, 'no more sessions');
      return;
    }
    this.#open.add(socket);
    socket.once('close', () => this.#open.delete(socket));
    const name = `session ${++this.#begun}`;
    this.#note(`${name} started: ${offered.name}`);
    let session: OpenSession;
    try {
      socket.pause();
      session = await offered.open();
      socket.resume();
    } catch (error) {
      socket.resume();
      send(socket, errorAnswer(new Refusal('FACTORY_ERROR', messageOf(error))));
      end(socket, closeCodes.normal, 'no environment');
      this.#note(`${name} ended: ${messageOf(error)}`);
      return;
    }
    this.#play(socket, session, name);
  }

  close(): void {
    for (const socket of this.#open) end(socket, closeCodes.leaving, 'the server is shutting down');
  }

  #play(socket: WebSocket, session: OpenSession, name: string): void {
    const { idleSeconds } = this.#limits;
    const idle = setTimeout(() => {
      send(socket, errorAnswer(new Refusal('SESSION_ERROR', `no message for ${idleSeconds} s`)));
      end(socket, closeCodes.leaving, 'idle');
    }, 1000 * idleSeconds);
    let turn = Promise.resolve();
    socket.on('message', (data, isBinary) => {
      // Read one message at a time.
      socket.pause();
      turn = turn.then(async () => {
        if (socket.readyState === WebSocket.OPEN) {
          const answer = await answered(data, isBinary, session);
          idle.refresh();
          if (answer === undefined) end(socket, closeCodes.normal, '');
          else send(socket, answer);
          this.#hold(socket, name);
        }
        socket.resume();
      });
    });
    socket.on('ping', () => this.#hold(socket, name));
    const ended = () => {
      clearTimeout(idle);
      session.close();
      this.#note(`${name} ended: ${session.played}`);
    };
    // The client may have disconnected while its environment was being created.
    if (socket.readyState === WebSocket.CLOSED) ended();
    else socket.once('close', ended);
  }

  /** Ends the session if its client sends messages but doesn't read the answers. */
  #hold(socket: WebSocket, name: string): void {
    if (socket.bufferedAmount <= mostUnread || socket.readyState === WebSocket.CLOSED) return;
    this.#note(`${name}: the client doesn't read its answers`);
    socket.terminate();
  }
}

async function answered(data: RawData, isBinary: boolean, session: OpenSession): Promise<Answer | undefined> {
  try {
    if (isBinary) throw new Refusal('INVALID_JSON', 'Invalid JSON: a message must be text, not binary');
    const message = readMessage(String(data));
    // A large batch would make other clients wait.
    if (batchTypes.includes(message.type)) throw unknownType(message.type, [...sessionTypes, 'close']);
    return await session.answer(message);
  } catch (error) {
    return errorAnswer(error);
  }
}

function send(socket: WebSocket, answer: Answer): void {
  if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(answer));
}

function end(socket: WebSocket, code: number, reason: string): void {
  socket.close(code, reason);
  const timer = setTimeout(() => socket.terminate(), closingMs);
  socket.once('close', () => clearTimeout(timer));
}
