import { WebSocket } from 'ws';
import { z } from 'zod';
import { UserError } from '../../base/errors.js';
import { jsonIn } from '../../storage/json-depth.js';
import { infoOf, observationOf, parseOpenEnvOptions, spaceOf, withAction } from './openenv-options.js';
import {
  EnvironmentError,
  type EpisodeBatch,
  Exchange,
  type RemoteEnvironment,
} from './remote-environment.js';

export interface OpenEnvSettings {
  /** Longest wait for the connection and for an answer. */
  readonly timeoutMs: number;
  /** Connections, each with an episode of its own: as many as the server allows. */
  readonly parallel: number;
}

const answerSchema = z.union([
  z.object({
    type: z.literal('observation'),
    data: z.object({
      observation: z.record(z.string(), z.unknown()),
      reward: z.union([z.number(), z.boolean()]).nullish(),
      done: z.boolean().nullish(),
    }),
  }),
  z.object({
    type: z.literal('error'),
    data: z.object({ message: z.string().default('no reason given'), code: z.string().default('no code') }),
  }),
]);
type Seen = Extract<z.output<typeof answerSchema>, { type: 'observation' }>['data'];

/**
 * An environment that an OpenEnv server plays (github.com/meta-pytorch/OpenEnv), over WebSockets with an environment each.
 * The protocol has one flag for the end of an episode: it counts as terminated, unless the observation says `truncated`. A
 * step without a reward has 0.
 * @param id the address with the prefix, e.g. `openenv:ws://127.0.0.1:8000`; `/ws` is added where it has no path
 * @throws UserError for a wrong address or option, and when no server answers there
 */
export async function openOpenEnv(
  id: string,
  options: Readonly<Record<string, unknown>>,
  { timeoutMs, parallel }: OpenEnvSettings,
): Promise<RemoteEnvironment> {
  const address = addressOf(id);
  const parsed = parseOpenEnvOptions(options);
  const observationSpace = spaceOf(parsed.observation);
  const connections = Array.from({ length: parallel }, () => new Connection(id, address, timeoutMs));

  const batch = (connection: Connection): EpisodeBatch => {
    let told: Seen['observation'] = {};
    const observe = ({ observation }: Seen) => {
      told = observation;
      return observationOf(id, observation, parsed, observationSpace);
    };
    return {
      slots: 1,
      // Whether a server tells it is known once it has told something.
      get info() {
        const info = observationSpace.kind === 'text' ? infoOf(told) : undefined;
        return info && (() => info);
      },
      objective: () => (typeof told.objective === 'string' ? told.objective : undefined),
      reset: ([seed]) =>
        connection.ask({ type: 'reset', data: { ...parsed.reset, seed } }).then((seen) => [observe(seen)]),
      async step([move]) {
        const seen = await connection.ask({ type: 'step', data: withAction(parsed.step, move!.action) });
        const observation = observe(seen);
        const done = seen.done ?? false;
        const truncated = done && told.truncated === true;
        const terminated = done && (!truncated || told.terminated === true);
        const reward = Number(seen.reward ?? 0);
        return [{ observation, reward, terminated, truncated }];
      },
    };
  };

  try {
    await connections[0]!.open();
  } catch (error) {
    if (!(error instanceof EnvironmentError)) throw error;
    throw new UserError({
      field: 'environment',
      message: `no OpenEnv server answers: ${error.message.slice(id.length + 2)}`,
      value: id,
      remedy: `start it, or correct the address: ${address}`,
    });
  }
  return {
    id,
    observationSpace,
    actionSpace: spaceOf(parsed.action),
    ...(parsed.max_steps !== undefined && { maxSteps: parsed.max_steps }),
    batches: connections.map(batch),
    async close() {
      await Promise.all(connections.map((connection) => connection.close()));
    },
  };
}

function addressOf(id: string): string {
  const text = id.slice('openenv:'.length);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['ws:', 'wss:'].includes(url.protocol)) {
    throw new UserError({
      field: 'environment',
      message: 'this is no address of a WebSocket',
      value: id,
      remedy: 'write openenv:ws://<host>:<port>, e.g. openenv:ws://127.0.0.1:8000',
    });
  }
  if (url.pathname === '/') url.pathname = '/ws';
  return url.href;
}

/** A connection to an OpenEnv server; it connects when it is first needed. */
class Connection {
  readonly #address: string;
  readonly #timeoutMs: number;
  #opening: Promise<WebSocket> | undefined;
  readonly #exchange: Exchange<Seen>;

  constructor(id: string, address: string, timeoutMs: number) {
    this.#exchange = new Exchange(id);
    this.#address = address;
    this.#timeoutMs = timeoutMs;
  }

  open(): Promise<WebSocket> {
    this.#opening ??= this.#connect();
    return this.#opening;
  }

  /** Sends a request and waits for its answer; one at a time. */
  async ask(message: object): Promise<Seen> {
    const socket = await this.open();
    const onTimeout = () => {
      this.#exchange.fail('timeout', `no answer in ${this.#timeoutMs / 1000} s`);
      socket.terminate();
    };
    return this.#exchange.ask(() => socket.send(JSON.stringify(message)), this.#timeoutMs, onTimeout);
  }

  async close(): Promise<void> {
    this.#exchange.fail('died', 'it was closed');
    const socket = await this.#opening?.catch(() => undefined);
    if (socket === undefined || socket.readyState === WebSocket.CLOSED) return;
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ type: 'close' }));
    socket.close();
    const timer = setTimeout(() => socket.terminate(), 1000);
    await closed;
    clearTimeout(timer);
  }

  #connect(): Promise<WebSocket> {
    return new Promise((resolve, reject) => {
      const socket = new WebSocket(this.#address, { handshakeTimeout: this.#timeoutMs });
      socket.on('message', (data) => this.#receive(String(data)));
      socket.on('error', (error) => reject(this.#exchange.fail('died', error.message || 'no connection')));
      socket.on('close', (code, reason) => {
        const why = `code ${code}${reason.length > 0 ? `, ${reason}` : ''}`;
        reject(this.#exchange.fail('died', `the connection ended (${why})`));
      });
      socket.on('open', () => resolve(socket));
    });
  }

  #receive(text: string): void {
    const answer = answerSchema.safeParse(jsonIn(text)).data;
    if (answer === undefined) this.#exchange.fail('protocol', `no answer: ${text.slice(0, 200)}`);
    else if (answer.type === 'observation') this.#exchange.answer(answer.data);
    else this.#exchange.fail('raised', `${answer.data.message} (${answer.data.code})`);
  }
}
