import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { messages, post, send, startLocalServer } from './local-server.js';
import { chatText, requestText, sendRaw } from './raw-requests.js';

let server: Awaited<ReturnType<typeof startLocalServer>>;
let port: number;
const unhandled: unknown[] = [];
const collect = (error: unknown) => unhandled.push(error);
beforeAll(async () => {
  process.on('unhandledRejection', collect);
  process.on('uncaughtException', collect);
  server = await startLocalServer();
  port = Number(new URL(server.url).port);
});
afterAll(async () => {
  await server.close();
  process.off('unhandledRejection', collect);
  process.off('uncaughtException', collect);
});
/** Whatever was sent, the next client is served and nothing escaped. */
afterEach(async () => {
  expect((await post(server.url, { messages, max_tokens: 1 })).status).toBe(200);
  expect(unhandled).toEqual([]);
});

const statusOf = async (line: string, headers?: readonly string[]) =>
  (await sendRaw(port, requestText(port, line, headers))).statuses[0];

describe('unusual request targets', () => {
  it.each([
    ['GET // HTTP/1.1', 404],
    ['GET //evil.example/v1/models HTTP/1.1', 404],
    ['GET //[ HTTP/1.1', 404],
    ['GET /\\\\ HTTP/1.1', 404],
    ['GET /v1/models/%ff%zz HTTP/1.1', 404],
    ['GET /v1/../v1/models HTTP/1.1', 404],
    ['GET ?x HTTP/1.1', 400],
    ['OPTIONS * HTTP/1.1', 400],
    ['GET http:// HTTP/1.1', 400],
    ['GET http://[:1]:x/ HTTP/1.1', 403],
    ['GET http://evil.example/v1/models HTTP/1.1', 403],
    ['GET ftp://127.0.0.1/v1/models HTTP/1.1', 400],
    ['GET /health?a=//&b=%%% HTTP/1.1', 200],
    ['HEAD /health HTTP/1.1', 200],
    ['DELETE /health HTTP/1.1', 405],
    ['GET /v1/chat/completions HTTP/1.1', 405],
    ['NONSENSE /health HTTP/1.1', 400],
    ['GET /health HTTP/9.9', 400],
    [`GET /${'a'.repeat(20_000)} HTTP/1.1`, 431],
  ])('%s is answered with %i', async (line, status) => {
    expect(await statusOf(line)).toBe(status);
  });

  it('an absolute URL is served if its host is this server', async () => {
    expect(await statusOf(`GET http://localhost:${port}/health HTTP/1.1`)).toBe(200);
  });
});

describe('requests from web pages', () => {
  it('are rejected by Sec-Fetch-Site if they have no Origin', async () => {
    for (const site of ['cross-site', 'same-site'])
      expect(await statusOf('GET // HTTP/1.1', [`Sec-Fetch-Site: ${site}`]), site).toBe(403);
    expect(await statusOf('GET /health HTTP/1.1', ['Sec-Fetch-Site: none'])).toBe(200);
  });

  it('are rejected if they have two Host headers', async () => {
    expect(await statusOf('GET /health HTTP/1.1', ['Host: evil.example'])).toBe(400);
  });
});

describe('hostile request bodies', () => {
  const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;

  it.each([
    ['lists 5,000 deep', `{"messages":${nested(5000)}}`],
    ['lists 3,000,000 deep', nested(3_000_000)],
    ['objects that never end', '{"a":'.repeat(100_000)],
    [
      'a deep schema',
      `{"messages":[],"response_format":{"type":"json_schema","json_schema":${nested(5000)}}}`,
    ],
    ['a prototype', '{"__proto__":{"messages":[]},"constructor":1}'],
    ['a number beyond doubles', '{"messages":[{"role":"user","content":"x"}],"seed":1e999}'],
    [
      'stop texts without end',
      `{"messages":[{"role":"user","content":"x"}],"stop":${JSON.stringify(Array(5000).fill('s'))}}`,
    ],
    ['NUL', '\0'],
    ['invalid UTF-8', Buffer.from([0x22, 0xff, 0xfe, 0x22])],
  ])('are rejected with 400: %s', async (_name, body) => {
    const { statuses, text } = await sendRaw(port, chatText(port, body));
    expect(statuses).toEqual([400]);
    expect(text).not.toMatch(/at .*\.ts|call stack/);
  });

  it('are rejected if compressed, and the error names the encoding', async () => {
    const headers = { 'content-encoding': 'gzip' };
    const refused = await post(server.url, { messages }, headers);
    expect(refused.status).toBe(415);
    expect(refused.body).toContain('gzip');
  });

  it('make room for others if incomplete: the oldest are rejected', async () => {
    const head = requestText(port, 'POST /v1/chat/completions HTTP/1.1', [
      'Content-Type: application/json',
      'Content-Length: 1000',
    ]);
    const clients = new AbortController();
    const held = Array.from({ length: 70 }, () =>
      sendRaw(port, head, { until: (text) => text !== '', signal: clients.signal }),
    );
    const first = await Promise.all(held.slice(0, 6));
    expect(first.map(({ statuses }) => statuses)).toEqual(Array(6).fill([408]));
    expect((await post(server.url, { messages, max_tokens: 1 })).status).toBe(200);
    clients.abort();
    await Promise.all(held);
  });
});

it('pipelined requests on one connection are answered in order', async () => {
  const one = `GET /health HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`;
  const last = requestText(port, 'GET // HTTP/1.1').toString();
  const { statuses } = await sendRaw(port, one.repeat(50) + last);
  expect(statuses).toEqual([...Array<number>(50).fill(200), 404]);
});

it('a request to upgrade the protocol is answered normally, and CONNECT gets no answer', async () => {
  const upgrade = ['Upgrade: websocket', 'Sec-WebSocket-Key: x', 'Sec-WebSocket-Version: 13'];
  const request = requestText(port, 'GET /health HTTP/1.1', upgrade).toString();
  const { statuses } = await sendRaw(port, request.replace('Connection: close', 'Connection: Upgrade'), {
    until: (text) => text.includes('"ok"'),
  });
  expect(statuses).toEqual([200]);
  expect((await sendRaw(port, requestText(port, 'CONNECT evil.example:443 HTTP/1.1'))).text).toBe('');
});

it('the server keeps working after clients disconnect in the middle of a request', async () => {
  const body = JSON.stringify({ messages, max_tokens: 200, stream: true });
  const whole = chatText(port, body);
  for (const length of [10, 60, whole.length - 5])
    await sendRaw(port, whole.subarray(0, length), { cut: true });
  await sendRaw(port, whole, { until: (text) => text.includes('data: ') });
  expect((await send(server.url.replace('/v1', '//'))).status).toBe(404);
});
