/** What a web page or a broken program may send to served environments: whatever it was, the next client plays. */
import { createHash } from 'node:crypto';
import { connect as dial } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { createGenerator } from '../../../src/random/generator.js';
import { longestMessage } from '../../../src/serve/environments/messages.js';
import { send } from '../local-server.js';
import { requestText, sendRaw } from '../raw-requests.js';
import { connect, startServer } from './environment-server.js';

let server: Awaited<ReturnType<typeof startServer>>;
const unhandled: unknown[] = [];
const collect = (error: unknown) => unhandled.push(error);
beforeAll(async () => {
  process.on('unhandledRejection', collect);
  process.on('uncaughtException', collect);
  server = await startServer(['CartPole-v1', 'text:cooking', 'Blackjack-v1']);
});
afterAll(async () => {
  await server.close();
  process.off('unhandledRejection', collect);
  process.off('uncaughtException', collect);
});
afterEach(async () => {
  const client = await connect(`${server.url}/CartPole-v1`);
  await client.reset({ seed: 1 });
  expect((await client.step(1)).reward).toBe(1);
  await client.close();
  expect(unhandled).toEqual([]);
});

const statusOf = async (line: string, headers?: readonly string[]) =>
  (await sendRaw(server.port, requestText(server.port, line, headers))).statuses[0];

describe('targets and methods', () => {
  it.each([
    ['GET / HTTP/1.1', 200],
    ['GET // HTTP/1.1', 404],
    ['GET //evil.example/CartPole-v1/health HTTP/1.1', 404],
    ['GET /CartPole-v1//health HTTP/1.1', 404],
    ['GET /CartPole-v1/../health HTTP/1.1', 404],
    ['GET /%2e%2e/health HTTP/1.1', 404],
    ['GET /CartPole-v1/health/ HTTP/1.1', 404],
    ['GET /%ff%zz/health HTTP/1.1', 404],
    ['GET /__proto__/health HTTP/1.1', 404],
    ['GET /CartPole-v1/constructor HTTP/1.1', 404],
    ['DELETE /CartPole-v1/health HTTP/1.1', 405],
    ['GET /CartPole-v1/reset HTTP/1.1', 405],
    ['OPTIONS * HTTP/1.1', 400],
    ['GET http://evil.example/CartPole-v1/health HTTP/1.1', 403],
    [`GET /${'a'.repeat(20_000)} HTTP/1.1`, 431],
    ['NONSENSE / HTTP/1.1', 400],
  ])('%s is answered with %i', async (line, status) => {
    expect(await statusOf(line)).toBe(status);
  });
});

describe('web pages', () => {
  const upgrade = (more: Record<string, string>) => connect(`${server.url}/CartPole-v1`, more);

  it('from other origins cannot open a WebSocket', async () => {
    for (const origin of ['http://evil.example', 'null', `https://127.0.0.1:${server.port}`])
      await expect(upgrade({ origin }), origin).rejects.toThrow(/403/);
    await expect(upgrade({ host: `evil.example:${server.port}` })).rejects.toThrow(/403/);
    await expect(upgrade({ 'sec-fetch-site': 'cross-site' })).rejects.toThrow(/403/);
    const own = await upgrade({ origin: `http://localhost:${server.port}` });
    await own.close();
  });

  it('from other origins cannot send requests', async () => {
    const url = `${server.url}/CartPole-v1/reset`;
    const headers = { 'content-type': 'application/json' };
    const post = (more: Record<string, string>, body = '{}') =>
      send(url, { method: 'POST', headers: { ...headers, ...more }, body });
    expect((await post({ origin: 'http://evil.example' })).status).toBe(403);
    expect((await post({ host: 'evil.example' })).status).toBe(403);
    expect((await post({ 'content-type': 'text/plain' })).status).toBe(415);
    expect((await post({})).status).toBe(200);
  });
});

describe('hostile request bodies', () => {
  const post = (body: string | Buffer) =>
    send(`${server.url}/Blackjack-v1/reset`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });

  it.each<readonly [string, string | Buffer, number]>([
    ['no JSON', '{"seed":', 400],
    ['invalid UTF-8', Buffer.from([0x22, 0xff, 0x22]), 400],
    ['lists 5,000 deep', `${'['.repeat(5000)}${']'.repeat(5000)}`, 400],
    ['a list', '[]', 422],
    ['null', 'null', 422],
    ['a prototype', '{"__proto__":{"seed":1}}', 422],
    ['a number beyond doubles', '{"seed":1e999}', 422],
    ['a long one', `{"episode_id":"${'x'.repeat(longestMessage)}"}`, 413],
  ])('are rejected: %s', async (_, body, status) => {
    const answer = await post(body);
    expect(answer.status).toBe(status);
    expect(answer.body).not.toMatch(/at .*\.ts|call stack/);
  });
});

describe('WebSockets', () => {
  const open = () => connect(`${server.url}/text:cooking`);

  it.each([
    'GET /CartPole-v1/health HTTP/1.1',
    'GET /ws HTTP/1.1',
    'GET /none/ws HTTP/1.1',
    'GET // HTTP/1.1',
    'POST /CartPole-v1/ws HTTP/1.1',
    'GET /CartPole-v1/ws HTTP/1.1',
  ])('cannot be opened with %s', async (line) => {
    const headers = ['Upgrade: websocket', 'Sec-WebSocket-Key: x', 'Sec-WebSocket-Version: 13'];
    const request = requestText(server.port, line, headers).toString();
    const { statuses } = await sendRaw(
      server.port,
      request.replace('Connection: close', 'Connection: Upgrade'),
    );
    expect(statuses[0]).toBeGreaterThanOrEqual(400);
  });

  it('close when refused, even if the client keeps its side open', async () => {
    const headers = ['Upgrade: websocket', 'Sec-WebSocket-Key: x', 'Sec-WebSocket-Version: 13'];
    const request = requestText(server.port, 'GET /CartPole-v1/nothing HTTP/1.1', headers).toString();
    const socket = dial({ port: server.port, host: '127.0.0.1', allowHalfOpen: true });
    const closed = new Promise<string>((done) => {
      let text = '';
      socket.on('data', (data) => {
        text += String(data);
      });
      // Writing to a connection that is gone fails; one that is half open would take it.
      socket.once('end', () => {
        const writing = setInterval(() => socket.write('more'), 50);
        socket.once('error', () => {
          clearInterval(writing);
          done(text);
        });
      });
    });
    socket.write(request.replace('Connection: close', 'Connection: Upgrade'));
    expect(await closed).toMatch(/^HTTP\/1\.1 404/);
  });

  it('close on a message that is too long, and answer a binary one with an error', async () => {
    const long = await open();
    long.socket.send('x'.repeat(longestMessage + 1));
    expect((await long.closed).code).toBe(1009);
    const binary = await open();
    binary.socket.send(Buffer.from('{"type":"state"}'));
    expect(await binary.next()).toMatchObject({ type: 'error', data: { code: 'INVALID_JSON' } });
    await binary.reset({ seed: 1 });
    await binary.close();
  });

  it('survive random bytes instead of frames', async () => {
    const random = createGenerator(5);
    const key = createHash('md5').update('any').digest('base64');
    const head = requestText(server.port, 'GET /CartPole-v1/ws HTTP/1.1', [
      ...['Upgrade: websocket', `Sec-WebSocket-Key: ${key}`, 'Sec-WebSocket-Version: 13'],
    ]).toString();
    const replies = Array.from({ length: 40 }, () => {
      const bytes = Buffer.from(Array.from({ length: 200 }, () => random.integers(0, 256)));
      const request = Buffer.concat([
        Buffer.from(head.replace('Connection: close', 'Connection: Upgrade')),
        bytes,
      ]);
      return sendRaw(server.port, request, { signal: AbortSignal.timeout(3000) });
    });
    for (const { statuses } of await Promise.all(replies)) expect(statuses).toEqual([101]);
  });

  it('answer every random message with a message of a known type', async () => {
    const client = await open();
    const random = createGenerator(6);
    const pick = <T>(from: readonly T[]) => from[random.integers(0, from.length)]!;
    const value = (depth = 0): unknown => {
      const more = depth < 3 ? [() => [value(depth + 1)], () => ({ [pick(words)]: value(depth + 1) })] : [];
      return pick([() => pick(words), () => pick([0, -1, 1e308, 2 ** 53, 0.1, null, true]), ...more])();
    };
    const words = [
      'reset',
      'step',
      'state',
      'mcp',
      'action',
      'seed',
      'type',
      '__proto__',
      '\u0000',
      'look',
      '😀',
    ];
    const codes = new Set<unknown>();
    for (let round = 0; round < 300; round++) {
      const message: Record<string, unknown> = { type: pick([...words.slice(0, 4), value()]), data: value() };
      if (random.random() < 0.5) message.data = { [pick(['action', 'seed', 'episode_id'])]: value() };
      const text = JSON.stringify(message);
      const broken = random.random() < 0.2 ? text.slice(0, random.integers(0, text.length)) : text;
      const answer = await client.ask(broken);
      expect(['observation', 'state', 'error', 'mcp']).toContain(answer.type);
      codes.add(answer.data.code ?? answer.type);
    }
    expect([...codes]).toEqual(
      expect.arrayContaining(['INVALID_JSON', 'VALIDATION_ERROR', 'UNKNOWN_TYPE', 'observation', 'state']),
    );
    await client.reset({ seed: 1 });
    await client.close();
  });

  it('drop a client that sends but never reads', async () => {
    const client = await open();
    client.socket.pause();
    const left = () => server.log.some((line) => line.endsWith("doesn't read its answers"));
    const wrong = JSON.stringify({ type: 'state', ['x'.repeat(400)]: 1 });
    for (let sent = 0; sent < 300_000 && !left(); sent++) {
      client.socket.send(wrong);
      if (sent % 1000 === 0) await new Promise((later) => setTimeout(later, 1));
    }
    await vi.waitFor(() => expect(left()).toBe(true), { timeout: 10_000 });
    client.socket.terminate();
  }, 30_000);

  it('do not echo a long field name in an error', async () => {
    const client = await open();
    const message = JSON.stringify({ type: 'state', ['x'.repeat(100_000)]: 1 });
    expect(JSON.stringify(await client.ask(message)).length).toBeLessThan(2000);
    await client.close();
  });

  it('free their places if many are opened and dropped', async () => {
    for (let round = 0; round < 10; round++) {
      const clients = await Promise.all(
        Array.from({ length: 8 }, () => connect(`${server.url}/CartPole-v1`)),
      );
      for (const client of clients) client.socket.terminate();
      await Promise.all(clients.map(({ closed }) => closed));
    }
    await new Promise((later) => setTimeout(later, 50));
  });
});

it('a client cannot forge log lines, and its query string is not logged', async () => {
  const before = server.log.length;
  const name = '\u001b[2J\u202e\nGET / 200 forged';
  await send(`${server.url}/${encodeURIComponent(name)}/health?key=canary`);
  await statusOf(`GET /\u009b1A/health?key=canary HTTP/1.1`);
  for (const line of server.log.slice(before)) {
    expect(line).not.toMatch(/[\p{Cc}\u202e]/u);
    expect(line).not.toContain('canary');
  }
});
