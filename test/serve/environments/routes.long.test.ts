/** OpenEnv's HTTP paths, and what a web page or a broken program may send to them. */
import { Ajv } from '@modelcontextprotocol/server/validators/ajv';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeEnvironment } from '../../../src/environments/catalogue/open.js';
import { offerEnvironments } from '../../../src/serve/environments/offered.js';
import { schemasOf } from '../../../src/serve/environments/routes.js';
import { Session } from '../../../src/serve/environments/session.js';
import { send } from '../local-server.js';
import { connect, nativeTrace, startServer } from './environment-server.js';

let one: Awaited<ReturnType<typeof startServer>>;
let many: Awaited<ReturnType<typeof startServer>>;
beforeAll(async () => {
  one = await startServer(['CartPole-v1']);
  many = await startServer([]);
});
afterAll(() => Promise.all([one.close(), many.close()]));

async function get(url: string) {
  const { status, body } = await send(url);
  return { status, body: JSON.parse(body) as Record<string, unknown> };
}

async function post(url: string, body?: unknown, headers: Record<string, string> = {}) {
  const { status, body: text } = await send(url, {
    method: 'POST',
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  return { status, body: JSON.parse(text) as Record<string, unknown> };
}

describe('the HTTP paths of OpenEnv', () => {
  it('return health, metadata, the OpenAPI schema and the state of a fresh environment', async () => {
    expect(await get(`${one.url}/health`)).toEqual({ status: 200, body: { status: 'healthy' } });
    const { body } = await get(`${one.url}/metadata`);
    expect(body).toMatchObject({
      name: 'CartPole-v1',
      description: expect.stringMatching(/pole stands on a cart/),
    });
    const { body: state } = await get(`${one.url}/state`);
    expect(state).toMatchObject({ episode_id: null, step_count: 0 });
    const { body: openapi } = await get(`${one.url}/openapi.json`);
    expect(Object.keys(openapi.paths as object)).toEqual(
      expect.arrayContaining(['/reset', '/step', '/state', '/schema', '/health', '/metadata', '/mcp']),
    );
    expect((await send(`${one.url}/health`, { method: 'HEAD' })).body).toBe('');
  });

  it('return the first observation of a seed, and accept a reset without a body', async () => {
    const { turns } = await nativeTrace('CartPole-v1', 21);
    expect(await post(`${one.url}/reset`, { seed: 21 })).toEqual({
      status: 200,
      body: {
        observation: { vector: turns[0]!.shown, terminated: false, truncated: false },
        ...{ reward: null, done: false },
      },
    });
    expect((await post(`${one.url}/reset`)).status).toBe(200);
  });

  it('validate actions, and refer to the WebSocket for steps', async () => {
    const bad = await post(`${one.url}/step`, { action: { action: 7 } });
    expect(bad.status).toBe(422);
    expect(bad.body.detail).toMatchObject([{ loc: ['body', 'action'], msg: expect.stringMatching(/0–1/) }]);
    expect((await post(`${one.url}/reset`, { seed: -4 })).status).toBe(422);
    const good = await post(`${one.url}/step`, { action: { action: 1 }, timeout_s: 3 });
    expect(good).toMatchObject({ status: 409, body: { detail: expect.stringMatching(/\/ws/) } });
    expect((await get(`${one.url}/ws`)).status).toBe(426);
  });

  it('answer JSON-RPC requests for tools with an error', async () => {
    const call = { jsonrpc: '2.0', method: 'tools/list', id: 5 };
    expect((await post(`${one.url}/mcp`, call)).body).toMatchObject({ id: 5, error: { code: -32_603 } });
    expect((await post(`${one.url}/mcp`, {})).body).toMatchObject({ id: null, error: { code: -32_600 } });
    const client = await connect(one.url);
    const answer = await client.ask({ type: 'mcp', data: call });
    expect(answer).toMatchObject({ type: 'mcp', data: { jsonrpc: '2.0', id: 5, error: { code: -32_603 } } });
    await client.close();
  });
});

describe('several environments', () => {
  it('each have their own path and are listed at the root', async () => {
    const { body } = await get(many.url);
    const { environments } = body as { environments: { name: string; url: string }[] };
    expect(environments.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['CartPole-v1', 'maze-sample-3x3-v0', 'text:cooking', 'bandit']),
    );
    for (const name of ['text:cooking', 'text%3Acooking', 'FrozenLake-v1'])
      expect((await post(`${many.url}/${name}/reset`, { seed: 1 })).status, name).toBe(200);
    expect((await get(`${many.url}/health`)).status).toBe(200);
    expect(await get(`${many.url}/CartPole/health`)).toMatchObject({
      status: 404,
      body: { detail: expect.stringMatching(/unknown environment CartPole/) },
    });
    expect((await post(`${many.url}/reset`)).status).toBe(400);
    expect((await get(`${one.url}/CartPole-v1/health`)).status).toBe(200);
  });

  it('match their schemas, accept actions that these allow and reject others', async () => {
    const ajv = new Ajv({ strict: false });
    for (const offered of await offerEnvironments([], {}, '/')) {
      const described = await offered.describe();
      const { action, observation, state } = schemasOf(described);
      const [action_, observation_, state_] = [action, observation, state].map((schema) =>
        ajv.compile(schema),
      );
      const { actions } = await nativeTrace(offered.name, 2, {}, 1);
      const session = new Session(await makeEnvironment(offered.name));
      const shown = [session.reset({ seed: 2 }), session.step({ action: actions[0] })];
      for (const { observation: seen } of shown)
        expect(observation_!(seen), `${offered.name}: ${ajv.errorsText(observation_!.errors)}`).toBe(true);
      expect(state_!(session.state), offered.name).toBe(true);
      expect(action_!({ action: actions[0] }), offered.name).toBe(true);
      const wrong = described.actionSpace.kind === 'text' ? 1 : 'left';
      expect(action_!({ action: wrong }), offered.name).toBe(false);
      expect(() => session.step({ action: wrong }), offered.name).toThrow(/action/);
      session.close();
    }
  });
});

describe('offered environments', () => {
  it.each([
    [['CartPole'], /version is missing/],
    [['CartPole-v1', 'CartPole-v1'], /two environments have the name CartPole-v1.*name=id/s],
    [['gymnasium:Ant-v5'], /runs in another program/],
    [['openenv:ws://127.0.0.1:1'], /runs in another program/],
    [['./none.mjs'], /none\.mjs/],
    [['textworld:/none/game.json'], /none\/game\.json/],
  ])('are rejected: %j', async (ids, message) => {
    await expect(offerEnvironments(ids, {}, '/')).rejects.toThrow(message);
  });

  it('are rejected with an unknown option, or with options but no names', async () => {
    await expect(offerEnvironments(['CartPole-v1'], { gravity: 1 }, '/')).rejects.toThrow(/gravity/);
    await expect(offerEnvironments([], { gravity: 1 }, '/')).rejects.toThrow(
      /--option: .*named environments/,
    );
  });

  it('can have custom names', async () => {
    const offered = await offerEnvironments(
      ['a=CartPole-v1', 'b=CartPole-v1', 'synthetic:survival?seed=2'],
      {},
      '/',
    );
    expect(offered.map(({ name }) => name)).toEqual(['a', 'b', 'synthetic:survival?seed=2']);
    const direct = await makeEnvironment('synthetic:survival?seed=2');
    const first = await (await offered[2]!.open()).reset({ seed: 1 });
    expect(first.observation.vector).toEqual(direct.reset(1));
  });
});
