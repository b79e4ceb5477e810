/** A server of environments, clients that speak its WebSocket word for word, and what the same episodes are without it. */
import { WebSocket } from 'ws';
import { makeEnvironment } from '../../../src/environments/catalogue/open.js';
import type { Action, Observation } from '../../../src/environments/environment.js';
import { createGenerator } from '../../../src/random/generator.js';
import { offerEnvironments } from '../../../src/serve/environments/offered.js';
import { type ServedEnvironment, startEnvironmentServer } from '../../../src/serve/environments/server.js';
import type { SessionLimits } from '../../../src/serve/environments/sockets.js';

export interface Message {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface Seen {
  readonly observation: Readonly<Record<string, unknown>>;
  readonly reward: number | null;
  readonly done: boolean;
}

export async function startServer(
  ids: readonly string[],
  limits: Partial<SessionLimits> = {},
  options: Readonly<Record<string, unknown>> = {},
  cwd = '/',
) {
  const log: string[] = [];
  const offered = await offerEnvironments(ids, options, cwd);
  const server = await startEnvironmentServer({
    offered,
    limits: { sessions: 8, idleSeconds: 60, ...limits },
    host: '127.0.0.1',
    port: 0,
    note: (line) => log.push(line),
  });
  const environments: readonly ServedEnvironment[] = server.environments;
  return { ...server, environments, log, port: Number(new URL(server.url).port) };
}

/** A connection: what is sent, and one answer after the other. */
export async function connect(url: string, headers: Readonly<Record<string, string>> = {}) {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/ws`, { headers });
  const answers: Message[] = [];
  const waiting: ((answer: Message) => void)[] = [];
  socket.on('message', (text) => {
    const answer = JSON.parse(String(text)) as Message;
    const next = waiting.shift();
    if (next === undefined) answers.push(answer);
    else next(answer);
  });
  const closed = new Promise<{ code: number; reason: string }>((resolve) =>
    socket.once('close', (code, reason) => resolve({ code, reason: String(reason) })),
  );
  await new Promise((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('error', reject);
  });
  const next = () =>
    new Promise<Message>((resolve) => {
      const answer = answers.shift();
      if (answer === undefined) waiting.push(resolve);
      else resolve(answer);
    });
  const ask = (message: unknown) => {
    socket.send(typeof message === 'string' ? message : JSON.stringify(message));
    return next();
  };
  const seen = async (type: string, data: object) => {
    const answer = await ask({ type, data });
    if (answer.type !== 'observation') throw new Error(JSON.stringify(answer));
    return answer.data as unknown as Seen;
  };
  return {
    socket,
    closed,
    next,
    ask,
    reset: (data: object = {}) => seen('reset', data),
    step: (action: Action) => seen('step', { action }),
    state: async () => (await ask({ type: 'state' })).data,
    close: () => {
      socket.close();
      return closed;
    },
  };
}

/** What one step tells, without the server's words for it. */
export interface Turn {
  readonly shown: Observation;
  readonly reward: number | null;
  readonly terminated: boolean;
  readonly truncated: boolean;
}

export interface Trace {
  readonly actions: readonly Action[];
  readonly turns: readonly Turn[];
}

/** Random actions without a server: those of a text world are among its admissible commands. */
export async function nativeTrace(
  id: string,
  seed: number,
  options: Readonly<Record<string, unknown>> = {},
  mostSteps = 120,
): Promise<Trace> {
  const environment = await makeEnvironment(id, options);
  const random = createGenerator(seed);
  const { actionSpace } = environment;
  const chosen = (texts: readonly string[]) => texts[random.integers(0, texts.length)]!;
  const choose = (): Action => {
    switch (actionSpace.kind) {
      case 'discrete':
        return (actionSpace.start ?? 0) + random.integers(0, actionSpace.n);
      case 'box':
        return actionSpace.low.map((low, i) => random.uniform(low, actionSpace.high[i]!));
      case 'text':
        return chosen(environment.info?.().admissible ?? actionSpace.choices ?? ['0']);
      case 'tuple':
        return actionSpace.spaces.map(({ n, start = 0 }) => start + random.integers(0, n));
    }
  };
  const begun = { reward: null, terminated: false, truncated: false };
  const turns: Turn[] = [{ shown: environment.reset(seed), ...begun }];
  const actions: Action[] = [];
  while (actions.length < mostSteps && !turns.at(-1)!.terminated && !turns.at(-1)!.truncated) {
    const action = choose();
    actions.push(action);
    const { observation, ...rest } = environment.step(action);
    turns.push({ shown: observation, ...rest });
  }
  environment.close?.();
  return { actions, turns };
}

export function turnOf({ observation, reward, done }: Seen): Turn {
  const { vector, state, text, terminated, truncated } = observation;
  if (done !== (terminated === true || truncated === true)) throw new Error('done is another flag');
  const shown = (vector ?? state ?? text) as Observation;
  return { shown, reward, terminated: terminated === true, truncated: truncated === true };
}
