/** Environments on an OpenEnv server (github.com/meta-pytorch/OpenEnv), with one WebSocket per concurrent episode. */
import { WebSocket } from 'ws';
import { z } from 'zod';
import { messageOf, type Problem, UserError } from '../../base/errors.js';
import { jsonIn } from '../../base/files/json-depth.js';
import { plural } from '../../base/text/numbers.js';
import { type Action, type Observation, type Space, symmetricBox } from '../environment.js';
import {
  EnvironmentError,
  type EpisodeBatch,
  type RemoteEnvironment,
  RequestChannel,
} from './remote-environment.js';

const discreteSchema = z.strictObject({ n: z.int().min(1), start: z.int().default(0) });
const boxSchema = z
  .strictObject({ low: z.array(z.number()).min(1), high: z.array(z.number()).min(1) })
  .refine(({ low, high }) => low.length === high.length, 'low and high must have the same length');
const vectorSchema = z.strictObject({ length: z.int().min(1) });
const textSchema = z.strictObject({ text: z.literal(true) });

/** OpenEnv's protocol reports neither spaces nor the format of actions, so the config must set them. */
const optionsSchema = z.strictObject({
  /** `{n}` for a discrete observation, `{length}` or `{low, high}` for a vector, `{text: true}` for text. */
  observation: z.union([discreteSchema, boxSchema, vectorSchema, textSchema]),
  /** `{n}` for a discrete action, `{low, high}` for a vector, `{text: true}` for text. */
  action: z.union([discreteSchema, boxSchema, textSchema]),
  /**
   * Observation fields with the numbers, in order (default: the numeric fields that aren't in `unobservedFields`,
   * sorted by name), or the field with the text (default: `text`).
   */
  fields: z.array(z.string().min(1)).min(1).optional(),
  /** Data sent with a step: `$action` is the action, `$action[0]` its first number. */
  step: z.record(z.string(), z.unknown()).default({ action: '$action' }),
  /** Data sent with a reset, in addition to the seed. */
  reset: z.record(z.string(), z.unknown()).default({}),
  /** Steps after which the server ends an episode, if it has a limit. */
  max_steps: z.int().min(1).optional(),
});
type Options = z.output<typeof optionsSchema>;

/** @throws UserError that lists every missing, unknown or invalid option */
function parseOptions(options: Readonly<Record<string, unknown>>): Options {
  const { data, error } = optionsSchema.safeParse(options);
  if (data !== undefined) return data;
  throw new UserError(
    error.issues.map(
      ({ message, path }): Problem => ({
        field: ['environment.options', ...path].join('.'),
        message,
        ...(/^(observation|action)$/.test(String(path[0])) && {
          hint: "OpenEnv's protocol doesn't report spaces: set observation and action to {n: 2} for a discrete space, {low: [-1], high: [1]} for a vector or {text: true} for text",
        }),
      }),
    ),
  );
}

function spaceOf(definition: Options['observation']): Space {
  if ('text' in definition) return { kind: 'text' };
  if ('n' in definition) return { kind: 'discrete', ...definition };
  if ('low' in definition) return { kind: 'box', ...definition, dtype: 'float64' };
  return symmetricBox(definition.length, Number.POSITIVE_INFINITY, 'float64');
}

/** Fields that aren't part of the observation unless `fields` names them. */
const unobservedFields = new Set(['reward', 'done', 'metadata', 'terminated', 'truncated']);

/** Extracts the text or numbers (booleans as 0 and 1) of an observation. @throws EnvironmentError if they don't fit */
function observationOf(
  id: string,
  fields: Readonly<Record<string, unknown>>,
  { fields: chosen }: Options,
  space: Space,
): Observation {
  const invalid = (message: string) =>
    new EnvironmentError('invalid', `${id}: ${message}\n  ${JSON.stringify(fields).slice(0, 300)}`);
  if (space.kind === 'text') {
    const name = chosen?.[0] ?? 'text';
    const content = fields[name];
    if (typeof content === 'string') return content;
    throw invalid(`field \`${name}\` of the observation isn't text; set environment.options.fields`);
  }
  const fieldNames = Object.keys(fields).filter((name) => !unobservedFields.has(name));
  const parts = (chosen ?? fieldNames.toSorted()).map((name) => ({ name, numbers: numbersOf(fields[name]) }));
  const missing = chosen && parts.find(({ numbers }) => numbers === undefined);
  if (missing !== undefined) throw invalid(`field \`${missing.name}\` of the observation isn't numeric`);
  const numbers = parts.flatMap((part) => part.numbers ?? []);
  const expectedCount = space.kind === 'box' ? space.low.length : 1;
  if (numbers.length !== expectedCount) {
    const numericNames = parts.filter((part) => part.numbers !== undefined).map(({ name }) => name);
    throw invalid(
      `the observation has ${plural(numbers.length, 'number')} (in ${numericNames.join(', ') || 'no field'}) instead of ${expectedCount}; set environment.options.fields, or correct environment.options.observation`,
    );
  }
  if (!numbers.every(Number.isFinite)) throw invalid('the observation contains a number that is not finite');
  return space.kind === 'box' ? numbers : numbers[0]!;
}

function numbersOf(value: unknown): readonly number[] | undefined {
  if (typeof value === 'number') return [value];
  if (typeof value === 'boolean') return [Number(value)];
  if (!Array.isArray(value)) return undefined;
  const parts = value.map(numbersOf);
  return parts.every((part) => part?.length === 1) ? parts.flatMap((part) => part ?? []) : undefined;
}

function withAction(template: unknown, action: Action): unknown {
  if (template === '$action') return action;
  if (typeof template === 'string') {
    const index = /^\$action\[(\d+)\]$/.exec(template)?.[1];
    return index === undefined ? template : [action].flat()[Number(index)];
  }
  if (Array.isArray(template)) return template.map((item) => withAction(item, action));
  if (template === null || typeof template !== 'object') return template;
  return Object.fromEntries(Object.entries(template).map(([key, value]) => [key, withAction(value, action)]));
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
type StepData = Extract<z.output<typeof answerSchema>, { type: 'observation' }>['data'];

/**
 * Connects to a server; all but the first of `parallel` connections open when they are needed. The protocol has one
 * flag for the end of an episode: it means terminated, unless the observation has `truncated: true` (and not also
 * `terminated: true`). A missing reward counts as 0.
 * @param id the address with the prefix, e.g. `openenv:ws://127.0.0.1:8000`; `/ws` is added if it has no path
 * @param timeoutMs time limit for connecting and for each reply
 * @throws UserError for an invalid address or option, and if the server can't be reached
 */
export async function openOpenEnv(
  id: string,
  options: Readonly<Record<string, unknown>>,
  { timeoutMs, parallel }: { readonly timeoutMs: number; readonly parallel: number },
): Promise<RemoteEnvironment> {
  const address = addressOf(id);
  const parsed = parseOptions(options);
  const observationSpace = spaceOf(parsed.observation);
  const connections = Array.from({ length: parallel }, () => new Connection(id, address, timeoutMs));

  const createBatch = (connection: Connection): EpisodeBatch => {
    const observe = ({ observation }: StepData) => observationOf(id, observation, parsed, observationSpace);
    return {
      slotCount: 1,
      reset: async ([seed]) => [
        observe(await connection.ask({ type: 'reset', data: { ...parsed.reset, seed } })),
      ],
      async step([move]) {
        const answer = await connection.ask({ type: 'step', data: withAction(parsed.step, move!.action) });
        const done = answer.done ?? false;
        const truncated = done && answer.observation.truncated === true;
        const terminated = done && (!truncated || answer.observation.terminated === true);
        return [{ observation: observe(answer), reward: Number(answer.reward ?? 0), terminated, truncated }];
      },
    };
  };

  await connections[0]!.open().catch((error: unknown) => {
    throw new UserError({
      field: 'environment',
      message: `can't reach the OpenEnv server: ${messageOf(error)}`,
      value: id,
      hint: `start it, or correct its address (${address})`,
    });
  });
  return {
    id,
    observationSpace,
    actionSpace: spaceOf(parsed.action),
    ...(parsed.max_steps !== undefined && { maxSteps: parsed.max_steps }),
    batches: connections.map(createBatch),
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
      message: "isn't a WebSocket address",
      value: id,
      hint: 'use openenv:ws://<host>:<port>, e.g. openenv:ws://127.0.0.1:8000',
    });
  }
  if (url.pathname === '/') url.pathname = '/ws';
  return url.href;
}

/** A connection to an OpenEnv server, opened at first use. */
class Connection {
  readonly #address: string;
  readonly #timeoutMs: number;
  readonly #channel: RequestChannel<StepData>;
  #socketPromise: Promise<WebSocket> | undefined;

  constructor(id: string, address: string, timeoutMs: number) {
    this.#channel = new RequestChannel(id);
    this.#address = address;
    this.#timeoutMs = timeoutMs;
  }

  open(): Promise<WebSocket> {
    this.#socketPromise ??= this.#connect();
    return this.#socketPromise;
  }

  /** Sends a request and waits for the reply; only one request at a time. */
  async ask(message: object): Promise<StepData> {
    const socket = await this.open();
    const onTimeout = () => {
      this.#channel.fail('timeout', `no reply within ${this.#timeoutMs / 1000} s`);
      socket.terminate();
    };
    return this.#channel.ask(() => socket.send(JSON.stringify(message)), this.#timeoutMs, onTimeout);
  }

  async close(): Promise<void> {
    this.#channel.fail('died', 'it was closed');
    const socket = await this.#socketPromise?.catch(() => undefined);
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
      socket.on('error', (error) => reject(this.#channel.fail('died', error.message || 'no connection')));
      socket.on('close', (code, reason) => {
        const cause = `code ${code}${reason.length > 0 ? `, ${reason}` : ''}`;
        reject(this.#channel.fail('died', `the connection ended (${cause})`));
      });
      socket.on('open', () => resolve(socket));
    });
  }

  #receive(text: string): void {
    const answer = answerSchema.safeParse(jsonIn(text)).data;
    if (answer === undefined) this.#channel.fail('protocol', `invalid reply: ${text.slice(0, 200)}`);
    else if (answer.type === 'observation') this.#channel.answer(answer.data);
    else this.#channel.fail('raised', `${answer.data.message} (${answer.data.code})`);
  }
}
