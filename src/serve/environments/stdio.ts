/**
 * Environments over standard input and output: one JSON object per line, answered in order. Messages have the
 * format of OpenEnv's WebSockets, plus the name of a session; there are additional messages for batches.
 */
import { z } from 'zod';
import { messageOf } from '../../base/errors.js';
import { plural } from '../../format/numbers.js';
import {
  type Answer,
  batchTypes,
  errorAnswer,
  longestMessage,
  readMessage,
  sessionTypes,
  unknownType,
} from './messages.js';
import type { OfferedEnvironment } from './offered.js';
import type { OpenSession } from './open-session.js';
import { Refusal, validated } from './refusal.js';
import { metadataOf, schemasOf } from './routes.js';

/** Accepts null for a missing field, because some programs send it. */
const orNone = <S extends z.ZodType>(schema: S) => schema.nullish().transform((value) => value ?? undefined);

const envelopeSchema = z.object({
  /** Sent back with the answer. */
  id: orNone(
    z.union([z.string().max(255), z.int()], {
      error: 'must be a string of at most 255 characters or a whole number',
    }),
  ),
  session: orNone(z.string().min(1).max(255)),
  /** Required in the first message of a session if several environments are offered. */
  environment: orNone(z.string()),
});

type Envelope = Partial<z.output<typeof envelopeSchema>>;

/** Name of the session for messages that don't name one. */
const theSession = 'default';

interface NamedSession {
  readonly name: string;
  readonly session: OpenSession;
}

type LineAnswer =
  | Answer
  | { readonly type: 'closed' | 'health' | 'metadata' | 'schema'; readonly data: object };

const playing = [...sessionTypes, ...batchTypes];
const types = [...playing, 'close', 'schema', 'metadata', 'health'];

export class LineSessions {
  readonly #offered: readonly OfferedEnvironment[];
  readonly #most: number;
  readonly #open = new Map<string, NamedSession>();

  constructor(offered: readonly OfferedEnvironment[], most: number) {
    this.#offered = offered;
    this.#most = most;
  }

  /**
   * Answers a line. Never throws: errors become answers.
   * @param line undefined if it was too long
   * @returns a line of JSON, without the line break
   */
  async answer(line: string | undefined): Promise<string> {
    let envelope: Envelope = {};
    try {
      if (line === undefined)
        throw new Refusal('INVALID_JSON', `Invalid JSON: a line can have at most ${longestMessage} bytes`);
      const given = readMessage(line);
      envelope = validated(envelopeSchema, given);
      const { id: _id, session: _session, environment: _environment, ...message } = given;
      const answer = await this.#answerTo(message, envelope);
      return written(answer, envelope);
    } catch (error) {
      return written(errorAnswer(error), envelope);
    }
  }

  close(): void {
    for (const { session } of this.#open.values()) session.close();
    this.#open.clear();
  }

  async #answerTo(message: Readonly<Record<string, unknown>>, envelope: Envelope): Promise<LineAnswer> {
    const { session: key = theSession } = envelope;
    const { type } = message;
    switch (type) {
      case 'health':
        return { type, data: { status: 'healthy', sessions: this.#open.size } };
      case 'metadata':
        return { type, data: await metadataWithSpaces(this.#named(envelope)) };
      case 'schema':
        return { type, data: schemasOf(await this.#named(envelope).describe()) };
      case 'close':
        this.#end(key);
        return { type: 'closed', data: {} };
      default:
        if (!playing.includes(type)) throw unknownType(type, types);
        return (await (await this.#session(envelope)).answer(message))!;
    }
  }

  async #session(envelope: Envelope): Promise<OpenSession> {
    const { environment, session: key = theSession } = envelope;
    const open = this.#open.get(key);
    if (open !== undefined) {
      if (environment === undefined || environment === open.name) return open.session;
      const message = `session ${key} already uses ${open.name}; close it first`;
      throw new Refusal('VALIDATION_ERROR', '', [{ path: ['environment'], message }]);
    }
    const offered = this.#named(envelope);
    if (this.#open.size >= this.#most) {
      const message = `the limit of ${plural(this.#most, 'session')} is reached; close one`;
      throw new Refusal('CAPACITY_REACHED', message);
    }
    const session = await offered.open().catch((error: unknown) => {
      throw new Refusal('FACTORY_ERROR', messageOf(error));
    });
    this.#open.set(key, { name: offered.name, session });
    return session;
  }

  #named({ environment, session: key = theSession }: Envelope): OfferedEnvironment {
    const wanted = environment ?? this.#open.get(key)?.name;
    const names = this.#offered.map(({ name }) => name);
    const named = wanted === undefined ? undefined : this.#offered[names.indexOf(wanted)];
    const [only, ...others] = this.#offered;
    const found = named ?? (wanted === undefined && others.length === 0 ? only : undefined);
    if (found !== undefined) return found;
    const problem =
      wanted === undefined
        ? 'several environments are available; choose one'
        : `${wanted} is not available; choose one`;
    const message = `${problem}: ${names.join(', ')}`;
    throw new Refusal('VALIDATION_ERROR', '', [{ path: ['environment'], message }]);
  }

  #end(key: string): void {
    this.#open.get(key)?.session.close();
    this.#open.delete(key);
  }
}

function written(answer: LineAnswer, { id, session }: Envelope): string {
  return JSON.stringify({
    ...(id !== undefined && { id }),
    ...(session !== undefined && { session }),
    ...answer,
  });
}

/** Adds the step limit, and the spaces, because their JSON Schemas don't contain data types. */
async function metadataWithSpaces(offered: OfferedEnvironment): Promise<object> {
  const described = await offered.describe();
  const {
    actionSpace: action_space,
    maxSteps: max_steps = null,
    observationSpace: observation_space,
  } = described;
  return { ...metadataOf(described), observation_space, action_space, max_steps };
}

/** Splits a stream into lines; yields undefined for a line longer than `longest` bytes, which is discarded. */
export async function* linesOf(
  input: AsyncIterable<Buffer>,
  longest = longestMessage,
): AsyncGenerator<string | undefined> {
  let parts: Buffer[] = [];
  let length = 0;
  const line = () => {
    const whole = length > longest ? undefined : Buffer.concat(parts).toString('utf8');
    parts = [];
    length = 0;
    return whole;
  };
  for await (const chunk of input) {
    let start = 0;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, start)) {
      take(chunk.subarray(start, at));
      start = at + 1;
      const whole = line();
      if (whole?.trim() !== '') yield whole;
    }
    take(chunk.subarray(start));
  }
  const last = line();
  if (last?.trim() !== '') yield last;

  function take(part: Buffer): void {
    length += part.length;
    if (length > longest) parts = [];
    else parts.push(part);
  }
}
