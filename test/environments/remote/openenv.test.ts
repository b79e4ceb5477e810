import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import { openEnvironment } from '../../../src/environments/catalogue/open.js';
import { isRemote, type RemoteEnvironment } from '../../../src/environments/remote/remote-environment.js';
import { createPolicyFamily } from '../../../src/policies/families.js';
import { type Evaluation, evaluate } from '../../../src/rollout/evaluation.js';

interface Request {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}
/** The server's reply to a step; undefined: the ordinary reply, null: none. */
type Spoil = (step: number, socket: WebSocket) => object | string | null | undefined;

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

/** A server that counts: it observes the seed and the steps, rewards with the action, and ends an episode after five. */
async function serve(spoil: Spoil = () => undefined) {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', path: '/ws' });
  const requests: Request[] = [];
  let open = 0;
  let most = 0;
  server.on('connection', (socket) => {
    most = Math.max(most, ++open);
    socket.on('close', () => open--);
    let [seed, steps] = [0, 0];
    socket.on('message', async (text) => {
      const request = JSON.parse(String(text)) as Request;
      requests.push(request);
      if (request.type === 'reset') [seed, steps] = [Number(request.data.seed), 0];
      else if (request.type === 'step') steps++;
      else return;
      // Answers of different connections come in any order.
      await new Promise((later) => setTimeout(later, (seed * 7 + steps * 3) % 5));
      const spoilt = request.type === 'step' ? spoil(steps, socket) : undefined;
      if (spoilt === null) return;
      const observation = {
        steps,
        seed,
        flag: steps > 2,
        name: 'counter',
        pair: [steps / 3, -seed],
        done: false,
      };
      const data = {
        observation,
        reward: request.type === 'reset' ? null : Number(request.data.action),
        done: steps >= 5,
      };
      const answer = spoilt ?? { type: 'observation', data };
      socket.send(typeof answer === 'string' ? answer : JSON.stringify(answer));
    });
  });
  await new Promise((listening) => server.once('listening', listening));
  closing.push(async () => {
    for (const client of server.clients) client.terminate();
    await new Promise((closed) => server.close(closed));
  });
  return {
    id: `openenv:ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    most: () => most,
  };
}

const options = { observation: { length: 5 }, action: { n: 3, start: 1 } };

async function open(id: string, own: object = {}, settings: object = {}): Promise<RemoteEnvironment> {
  const environment = await openEnvironment({ id, options: { ...options, ...own }, ...settings }, {});
  if (!isRemote(environment)) throw new Error('it is built in');
  closing.push(() => environment.close());
  return environment;
}

/** With a policy that always takes the last action. */
async function play(
  environment: RemoteEnvironment,
  seeds: readonly number[],
  maxSteps = 50,
  signal?: AbortSignal,
): Promise<Evaluation> {
  const family = createPolicyFamily(
    { kind: 'linear', bias: true, low: -6, high: 6, decimals: 1 },
    environment,
  );
  const parameters = Array.from({ length: family.parameters.count }, (_, i) => i % 3);
  return evaluate({ environment, family, maxSteps, record: 'all' }, parameters, seeds, signal);
}

describe('an OpenEnv server', () => {
  test('is an environment whose observations have the fields sorted by name', async () => {
    const { id, requests } = await serve();
    const environment = await open(id);
    expect(environment).toMatchObject({ id, actionSpace: { kind: 'discrete', n: 3, start: 1 } });
    const { returns, lengths, episodes } = await play(environment, [4]);
    expect({ returns, lengths }).toEqual({ returns: [15], lengths: [5] });
    expect(episodes[0]).toMatchObject({ terminated: true, truncated: false, actions: [3, 3, 3, 3, 3] });
    expect(episodes[0]!.observations[3]).toEqual([1, 1, -4, 4, 3]);
    expect(requests.slice(0, 2)).toEqual([
      { type: 'reset', data: { seed: 4 } },
      { type: 'step', data: { action: 3 } },
    ]);
  });

  test('gives the same results over several connections at once', async () => {
    const one = await serve();
    const many = await serve();
    const seeds = [9, 1, 8, 2, 7, 3, 6];
    const serial = await play(await open(one.id), seeds);
    expect(await play(await open(many.id, {}, { parallel: 3 }), seeds)).toEqual(serial);
    expect([one.most(), many.most()]).toEqual([1, 3]);
    expect(serial.episodes.map(({ observations }) => (observations[0] as number[])[3])).toEqual(seeds);
  });

  test('can be used with selected fields and custom messages for steps and resets', async () => {
    const { id, requests } = await serve();
    const environment = await open(id, {
      observation: { low: [0, 0], high: [9, 9] },
      action: { low: [-1, -1], high: [1, 1] },
      fields: ['seed', 'steps'],
      step: { move: { x: '$action[0]', y: '$action[1]' }, all: ['$action'], kind: 'go' },
      reset: { level: 2 },
      max_steps: 5,
    });
    expect(environment.maxSteps).toBe(5);
    const [batch] = environment.batches;
    expect(await batch!.reset([6])).toEqual([[6, 0]]);
    await batch!.step([{ slot: 0, action: [0.5, -2] }]);
    expect(requests).toEqual([
      { type: 'reset', data: { level: 2, seed: 6 } },
      { type: 'step', data: { move: { x: 0.5, y: -2 }, all: [[0.5, -2]], kind: 'go' } },
    ]);
  });

  test('can provide the text of one field as the observation', async () => {
    const text = { text: true };
    const { id } = await serve();
    const [batch] = (await open(id, { observation: text, action: text, fields: ['name'] })).batches;
    expect(await batch!.reset([6])).toEqual(['counter']);
    const [missing] = (await open(id, { observation: text, action: text })).batches;
    await expect(missing!.reset([1])).rejects.toThrow(/field `text`.*environment.options.fields/);
  });

  test('gets at most maxSteps steps in an episode', async () => {
    const { id } = await serve();
    const { lengths, episodes } = await play(await open(id), [1, 2], 3);
    expect(lengths).toEqual([3, 3]);
    expect(episodes.every(({ truncated, terminated }) => truncated && !terminated)).toBe(true);
  });

  test('gets no further request after an abort', async () => {
    const stop = new AbortController();
    const { id, requests } = await serve(() => stop.abort(new Error('stopped')) as undefined);
    await expect(play(await open(id), [1, 2, 3], 50, stop.signal)).rejects.toThrow('stopped');
    await new Promise((later) => setTimeout(later, 50));
    expect(requests).toHaveLength(2);
  });

  const error = { type: 'error', data: { message: 'no such move', code: 'EXECUTION_ERROR' } };
  test.each<readonly [string, string, Spoil, RegExp]>([
    [
      'says that it failed',
      'raised',
      (step) => (step === 2 ? error : undefined),
      /no such move \(EXECUTION_ERROR\)/,
    ],
    ['falls silent', 'timeout', (step) => (step === 2 ? null : undefined), /no reply within 0.5 s/],
    ['talks nonsense', 'protocol', (step) => (step === 2 ? '<html>' : undefined), /invalid reply: <html>/],
    [
      'closes the connection',
      'died',
      (step, socket) => {
        if (step < 2) return undefined;
        socket.close(1011, 'out of memory');
        return null;
      },
      /the connection ended \(code 1011, out of memory\)/,
    ],
    [
      'sends too few numbers',
      'invalid',
      (step) => (step === 2 ? { type: 'observation', data: { observation: { steps: 1 } } } : undefined),
      /has 1 number \(in steps\) instead of 5;.*environment\.options\.fields/,
    ],
  ])('that %s causes an error of kind %s', async (_, kind, spoil, message) => {
    const { id } = await serve(spoil);
    const environment = await open(id, {}, { timeoutSeconds: kind === 'timeout' ? 0.5 : 20 });
    await expect(play(environment, [1])).rejects.toMatchObject({
      name: 'EnvironmentError',
      kind,
      message: expect.stringMatching(message),
    });
    await expect(play(environment, [1])).rejects.toMatchObject({ name: 'EnvironmentError' });
  });

  test('that is not running causes an error with a hint', async () => {
    const { id } = await serve();
    await closing.pop()!();
    await expect(open(id)).rejects.toThrow(
      /can't reach the OpenEnv server: [\s\S]*ECONNREFUSED[\s\S]*start it/,
    );
  });

  test.each([
    ['openenv:ws://127.0.0.1:1', { action: undefined }, /options\.action: [\s\S]*set observation and action/],
    ['openenv:ws://127.0.0.1:1', { action: { low: [0], high: [1, 2] } }, /options\.action: /],
    ['openenv:ws://127.0.0.1:1', { filds: ['a'] }, /filds/],
    ['openenv:http://127.0.0.1:8000', {}, /a WebSocket address/],
  ])('%s with %o is rejected', async (id, own, message) => {
    await expect(open(id, own)).rejects.toMatchObject({
      name: 'UserError',
      message: expect.stringMatching(message),
    });
  });
});
