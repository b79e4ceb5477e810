/** Episodes over the WebSocket of `policyloop serve --environments`. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { temporaryDirectory } from '../../support/temporary-directory.js';
import { connect, nativeTrace, startServer, turnOf } from './environment-server.js';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

async function start(...given: Parameters<typeof startServer>) {
  const server = await startServer(...given);
  closing.push(() => server.close());
  return server;
}

async function open(url: string) {
  const client = await connect(url);
  closing.push(() => client.close());
  return client;
}

type Client = Awaited<ReturnType<typeof open>>;

/** Yields to the other clients after every step. */
async function played(
  client: Client,
  seed: number,
  actions: Awaited<ReturnType<typeof nativeTrace>>['actions'],
) {
  const turns = [turnOf(await client.reset({ seed }))];
  for (const action of actions) turns.push(turnOf(await client.step(action)));
  return turns;
}

const ids = [
  ...['CartPole-v1', 'Pendulum-v1', 'FrozenLake-v1', 'Taxi-v4', 'Blackjack-v1', 'CliffWalking-v1'],
  ...['Reacher-v5', 'Nim-v0', 'synthetic:survival?seed=7', 'text:cooking', 'bandit'],
];

describe('episodes', () => {
  it.each(ids)('of %s are the same as without a server, bit for bit', async (id) => {
    const { url } = await start([id]);
    const client = await open(url);
    for (const seed of [3, 4]) {
      const { actions, turns } = await nativeTrace(id, seed);
      expect(actions.length).toBeGreaterThan(0);
      expect(await played(client, seed, actions)).toEqual(turns);
    }
  });

  it('of several clients run in parallel without affecting each other', async () => {
    const server = await start(['CartPole-v1', 'text:cooking', 'FrozenLake-v1']);
    const games = server.environments.flatMap(({ name, url }) => [5, 6].map((seed) => ({ name, url, seed })));
    const traces = await Promise.all(games.map(({ name, seed }) => nativeTrace(name, seed)));
    const clients = await Promise.all(games.map(({ url }) => open(url)));
    const all = await Promise.all(games.map(({ seed }, i) => played(clients[i]!, seed, traces[i]!.actions)));
    expect(all).toEqual(traces.map(({ turns }) => turns));
    expect(all[0]).not.toEqual(all[1]);
  });

  it('restart with the same seed, continue the random stream without one, and differ by seed', async () => {
    const { url } = await start(['CartPole-v1']);
    const client = await open(url);
    const first = await client.reset({ seed: 11 });
    const second = await client.reset();
    expect(await client.reset({ seed: 11 })).toEqual(first);
    expect(await client.reset({ seed: null })).toEqual(second);
    expect(second).not.toEqual(first);
    expect(await client.reset({ seed: 12 })).not.toEqual(first);
    const large = await client.reset({ seed: Number.MAX_SAFE_INTEGER });
    expect(large).not.toEqual(first);
  });

  it('use the options given to the server', async () => {
    const options = { is_slippery: false, max_episode_steps: 7 };
    const { url } = await start(['lake=FrozenLake-v1'], {}, options);
    const { actions, turns } = await nativeTrace('FrozenLake-v1', 1, options);
    expect(await played(await open(url), 1, actions)).toEqual(turns);
    // Left and left again stays at the edge until the limit of steps.
    const client = await open(url);
    await client.reset({ seed: 0 });
    for (let step = 1; step < 7; step++) expect((await client.step(0)).done).toBe(false);
    expect(turnOf(await client.step(0))).toMatchObject({ terminated: false, truncated: true });
    expect(await client.state()).toMatchObject({ step_count: 7, truncated: true, terminated: false });
  });
});

describe('the state', () => {
  it('has the steps and the return of the current episode', async () => {
    const { url } = await start(['CartPole-v1']);
    const client = await open(url);
    expect(await client.state()).toMatchObject({ episode_id: null, step_count: 0, seed: null });
    await client.reset({ seed: 5, episode_id: 'mine' });
    await client.step(0);
    await client.step(1);
    expect(await client.state()).toEqual({
      ...{ episode_id: 'mine', step_count: 2, environment: 'CartPole-v1', seed: 5, episode_return: 2 },
      ...{ terminated: false, truncated: false },
    });
    await client.reset();
    const { episode_id: one } = await client.state();
    await client.reset();
    const { episode_id: other, seed, step_count } = await client.state();
    expect({ seed, step_count }).toEqual({ seed: null, step_count: 0 });
    expect(one).not.toBe(other);
    expect(String(other)).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('of a text world is part of its observation: score, commands and objective', async () => {
    const { url } = await start(['text:cooking']);
    const { observation } = await (await open(url)).reset({ seed: 1 });
    expect(observation).toMatchObject({ score: 0, won: false, lost: false, moves: 0 });
    expect(observation.admissible).toContain('look');
    expect(String(observation.text)).toContain(String(observation.objective));
  });
});

describe('a rejected message leaves the episode unchanged', () => {
  it.each<readonly [string, unknown, string, RegExp]>([
    [
      'an action out of range',
      { type: 'step', data: { action: 2 } },
      'VALIDATION_ERROR',
      /out of range.*0–1/,
    ],
    ['a fraction', { type: 'step', data: { action: 0.5 } }, 'VALIDATION_ERROR', /must be integers/],
    ['a text', { type: 'step', data: { action: '0' } }, 'VALIDATION_ERROR', /must be integers/],
    ['a list', { type: 'step', data: { action: [0] } }, 'VALIDATION_ERROR', /pass the number/],
    [
      'an object',
      { type: 'step', data: { action: { a: 1 } } },
      'VALIDATION_ERROR',
      /action: must be a number/,
    ],
    ['null', { type: 'step', data: { action: null } }, 'VALIDATION_ERROR', /action: must be a number/],
    ['no action', { type: 'step', data: {} }, 'VALIDATION_ERROR', /action/],
    ['no data', { type: 'step' }, 'VALIDATION_ERROR', /object/],
    ['another field', { type: 'step', data: { action: 0, force: 9 } }, 'VALIDATION_ERROR', /force/],
    ['a seed below 0', { type: 'reset', data: { seed: -1 } }, 'VALIDATION_ERROR', /seed/],
    ['a seed that is rounded', { type: 'reset', data: { seed: 2 ** 53 } }, 'VALIDATION_ERROR', /seed.*2\^53/],
    ['a seed in words', { type: 'reset', data: { seed: '7' } }, 'VALIDATION_ERROR', /seed/],
    ['an unknown way to reset', { type: 'reset', data: { level: 3 } }, 'VALIDATION_ERROR', /level/],
    ['a long id', { type: 'reset', data: { episode_id: 'x'.repeat(256) } }, 'VALIDATION_ERROR', /episode_id/],
    ['a field beside the data', { type: 'state', more: 1 }, 'VALIDATION_ERROR', /more/],
    ['another type', { type: 'dance' }, 'UNKNOWN_TYPE', /"dance".*reset, step, state, close/],
    ['no type', {}, 'UNKNOWN_TYPE', /none/],
    ['a list as message', [], 'VALIDATION_ERROR', /JSON object/],
    ['null as message', 'null', 'VALIDATION_ERROR', /JSON object/],
    ['no JSON', '{"type":', 'INVALID_JSON', /Invalid JSON/],
    ['deep JSON', '['.repeat(5000), 'INVALID_JSON', /200 levels/],
  ])('%s', async (_, message, code, text) => {
    const { url } = await start(['CartPole-v1']);
    const client = await open(url);
    const { actions, turns } = await nativeTrace('CartPole-v1', 8);
    const got = [turnOf(await client.reset({ seed: 8 }))];
    for (const action of actions) {
      const refused = await client.ask(message);
      expect(refused).toMatchObject({ type: 'error', data: { code, message: expect.stringMatching(text) } });
      got.push(turnOf(await client.step(action)));
    }
    expect(got).toEqual(turns);
  });

  it('a step before the first reset and after the last step', async () => {
    const { url } = await start(['CliffWalking-v1'], {}, { max_episode_steps: 1 });
    const client = await open(url);
    const step = { type: 'step', data: { action: 0 } };
    const error = (message: RegExp) => ({
      type: 'error',
      data: { code: 'EXECUTION_ERROR', message: expect.stringMatching(message) },
    });
    expect(await client.ask(step)).toMatchObject(error(/not been reset/));
    await client.reset({ seed: 1 });
    expect((await client.step(0)).done).toBe(true);
    expect(await client.ask(step)).toMatchObject(error(/has ended/));
    expect(await client.state()).toMatchObject({ step_count: 1 });
    expect((await client.reset({ seed: 1 })).done).toBe(false);
  });

  it('a wrong vector, or a command that is too long', async () => {
    const { environments } = await start(['Pendulum-v1', 'text:cooking']);
    const [pendulum, cooking] = [await open(environments[0]!.url), await open(environments[1]!.url)];
    await pendulum.reset({ seed: 1 });
    await cooking.reset({ seed: 1 });
    const ask = (client: Client, action: unknown) => client.ask({ type: 'step', data: { action } });
    expect((await ask(pendulum, 0.5)).data.message).toMatch(/pass \[0.5\]/);
    expect((await ask(pendulum, [0.5, 1])).data.message).toMatch(/length 2/);
    expect((await pendulum.ask('{"type":"step","data":{"action":[1e999]}}')).data.code).toBe(
      'VALIDATION_ERROR',
    );
    expect((await ask(cooking, 'x'.repeat(10_001))).data.code).toBe('VALIDATION_ERROR');
    expect((await cooking.step('xyzzy')).reward).toBe(0);
    expect((await pendulum.step([0.5])).done).toBe(false);
  });
});

describe('sessions', () => {
  it('are limited in number, and a place is freed when one ends', async () => {
    const { url, log } = await start(['CartPole-v1'], { sessions: 2 });
    const one = await open(url);
    const two = await open(url);
    const third = await open(url);
    expect(await third.next()).toMatchObject({
      type: 'error',
      data: { code: 'CAPACITY_REACHED', active_sessions: 2, max_sessions: 2 },
    });
    expect((await third.closed).code).toBe(1013);
    await two.reset({ seed: 1 });
    one.socket.send(JSON.stringify({ type: 'close' }));
    expect((await one.closed).code).toBe(1000);
    await vi.waitFor(() => expect(log).toContain('session 1 ended: 0 episodes, 0 steps'));
    await (await open(url)).reset({ seed: 1 });
    await two.step(0);
  });

  it('end if a client is idle for too long, and when the server shuts down', async () => {
    const { url, close } = await start(['CartPole-v1'], { idleSeconds: 1 });
    const silent = await open(url);
    const talking = await open(url);
    const until = performance.now() + 1500;
    while (performance.now() < until) {
      await talking.reset({ seed: 1 });
      await new Promise((later) => setTimeout(later, 200));
    }
    expect(await silent.next()).toMatchObject({ type: 'error', data: { code: 'SESSION_ERROR' } });
    expect(await silent.closed).toEqual({ code: 1001, reason: 'idle' });
    await close();
    expect(await talking.closed).toEqual({ code: 1001, reason: 'the server is shutting down' });
    await expect(connect(url)).rejects.toThrow(/ECONNREFUSED/);
  });

  it('end when their client disconnects, and survive errors thrown by a module', async () => {
    const directory = temporaryDirectory();
    const module = `
import { appendFileSync, readFileSync } from 'node:fs';
// Each session has a thread, and so a module, of its own.
const file = new URL('./made', import.meta.url);
export default { create: () => {
  appendFileSync(file, 'x');
  const made = readFileSync(file).length;
  if (made === 2) throw new Error('no room');
  let closed = false;
  return {
    observationSpace: { kind: 'discrete', n: 9 }, actionSpace: { kind: 'discrete', n: 3 },
    reset: () => made, close: () => { closed = true; },
    step: (action) => { if (action === 2) throw new Error('stuck'); return { observation: 1, reward: action, terminated: action === 1 }; },
  };
} };`;
    writeFileSync(join(directory, 'mine.mjs'), module);
    const { url, log, environments } = await start(['./mine.mjs'], {}, {}, directory);
    expect(environments).toEqual([{ name: 'mine', url }]);
    const second = await open(url);
    expect(await second.next()).toMatchObject({
      type: 'error',
      data: { code: 'FACTORY_ERROR', message: expect.stringMatching(/no room/) },
    });
    await second.closed;
    const third = await open(url);
    expect((await third.reset()).observation.state).toBe(3);
    expect(await third.ask({ type: 'step', data: { action: 2 } })).toMatchObject({
      type: 'error',
      data: { code: 'EXECUTION_ERROR', message: expect.stringMatching(/mine\.mjs.*stuck/) },
    });
    expect(await third.step(1)).toMatchObject({ reward: 1, done: true });
    third.socket.terminate();
    await vi.waitFor(() => expect(log).toContain('session 2 ended: 1 episode, 1 step'));
  });
});
