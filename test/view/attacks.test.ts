import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { requireLocal } from '../../src/view/http.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { type OpenedView, authorization as ofTheView, openView } from './open-view.js';
import { requestText, sendRaw } from './raw-requests.js';

const authorization = `Authorization: ${ofTheView}`;
let view: OpenedView;
let port: number;
const unhandled: unknown[] = [];
const collect = (error: unknown) => unhandled.push(error);
beforeAll(async () => {
  process.on('unhandledRejection', collect);
  process.on('uncaughtException', collect);
  view = await openView(temporaryDirectory());
  ({ port } = view);
});
afterAll(async () => {
  await view.close();
  process.off('unhandledRejection', collect);
  process.off('uncaughtException', collect);
});
/** Checks that the next client is served and that nothing escaped, whatever was sent. */
afterEach(async () => {
  expect(await statusOf('GET /api/place HTTP/1.1')).toBe(200);
  expect(unhandled).toEqual([]);
});

const statusOf = async (line: string, headers: readonly string[] = []) =>
  (await sendRaw(port, requestText(port, line, [authorization, ...headers]))).statuses[0];

const post = (body: string | Buffer, type = 'application/json') =>
  requestText(
    port,
    'POST /api/tag HTTP/1.1',
    [
      authorization,
      `Origin: http://127.0.0.1:${port}`,
      `Content-Type: ${type}`,
      `Content-Length: ${Buffer.byteLength(body)}`,
    ],
    body,
  );

describe('unusual request lines', () => {
  it.each([
    ['GET // HTTP/1.1', 404],
    ['GET //evil.example/api/place HTTP/1.1', 404],
    ['GET //[ HTTP/1.1', 404],
    ['GET /\\\\ HTTP/1.1', 404],
    ['GET /api/page?of=%ff%zz HTTP/1.1', 404],
    ['GET /saved/%ff%zz HTTP/1.1', 404],
    ['GET /api/../api/place HTTP/1.1', 404],
    ['GET ?x HTTP/1.1', 400],
    ['OPTIONS * HTTP/1.1', 400],
    ['GET http:// HTTP/1.1', 400],
    ['GET http://[:1]:x/ HTTP/1.1', 400],
    ['GET http://evil.example/api/place HTTP/1.1', 400],
    ['GET ftp://127.0.0.1/api/place HTTP/1.1', 400],
    ['GET /api/place?a=//&b=%%% HTTP/1.1', 200],
    ['HEAD /api/place HTTP/1.1', 200],
    ['DELETE /api/place HTTP/1.1', 405],
    ['GET /api/tag HTTP/1.1', 405],
    ['NONSENSE /api/place HTTP/1.1', 400],
    ['GET /api/place HTTP/9.9', 400],
    [`GET /${'a'.repeat(20_000)} HTTP/1.1`, 431],
  ])('%s is answered with %i', async (line, status) => {
    expect(await statusOf(line)).toBe(status);
  });
});

describe('the checks of Host and Origin', () => {
  const statusFrom = async (host: string, origin?: string) => {
    const headers = origin === undefined ? [authorization] : [authorization, `Origin: ${origin}`];
    const text = requestText(port, 'GET /api/place HTTP/1.1', headers).toString();
    return (await sendRaw(port, text.replace(/^Host: .*$/m, `Host: ${host}`))).statuses[0];
  };

  it.each(['127.0.0.1', 'localhost', 'LOCALHOST'])('accept the host %s', async (name) => {
    expect(await statusFrom(`${name}:${port}`)).toBe(200);
  });

  it.each([
    'evil.example',
    'localhost',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    '127.0.0.2',
    '127.0.0.1:1',
  ])('reject a foreign host, or a wrong or missing port: %s', async (name) => {
    expect(await statusFrom(name.includes(':') || name === 'localhost' ? name : `${name}:${port}`)).toBe(403);
  });

  it("reject pages from other origins, and accept the server's own", async () => {
    const host = `127.0.0.1:${port}`;
    for (const name of ['127.0.0.1', 'localhost'])
      expect(await statusFrom(host, `http://${name}:${port}`)).toBe(200);
    const foreign = [
      'null',
      'http://evil.example',
      `https://127.0.0.1:${port}`,
      'http://127.0.0.1',
      `http://127.0.0.1:${port}.evil.example`,
    ];
    for (const origin of foreign) expect(await statusFrom(host, origin), origin).toBe(403);
  });

  it('reject pages of other sites by Sec-Fetch-Site if they have no Origin', async () => {
    for (const site of ['cross-site', 'same-site'])
      expect(await statusOf('GET /api/place HTTP/1.1', [`Sec-Fetch-Site: ${site}`]), site).toBe(403);
    expect(await statusOf('GET /api/place HTTP/1.1', ['Sec-Fetch-Site: none'])).toBe(200);
  });

  it('reject two Host headers', async () => {
    expect(await statusOf('GET /api/place HTTP/1.1', ['Host: evil.example'])).toBe(400);
  });

  it('require a Host, which may omit the default port', () => {
    const anySite = () => false;
    expect(() => requireLocal({ headers: { host: 'localhost' }, url: '/' }, 80, anySite)).not.toThrow();
    expect(() => requireLocal({ headers: {}, url: '/' }, 8000, anySite)).toThrow(/Host ""/);
  });
});

describe('hostile request bodies', () => {
  const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;

  it.each([
    ['lists 5,000 deep', `{"of":${nested(5000)}}`],
    ['lists 300,000 deep', nested(300_000)],
    ['objects that never end', '{"a":'.repeat(100_000)],
    ['a prototype', '{"__proto__":{"of":["a"]},"constructor":1}'],
    ['a list', '[]'],
    ['half of an object', '{"of":'],
    ['NUL', '\0'],
    ['invalid UTF-8', Buffer.from([0x22, 0xff, 0xfe, 0x22])],
  ])('are rejected with 400: %s', async (_name, body) => {
    const { statuses, text } = await sendRaw(port, post(body));
    expect(statuses).toEqual([400]);
    expect(text).not.toMatch(/at .*\.ts|call stack/);
  });

  it('are rejected with 415 if they are not declared as JSON', async () => {
    expect((await sendRaw(port, post('{"of":["a"]}', 'text/plain'))).statuses).toEqual([415]);
  });

  it('are rejected with 413 if they are too long', async () => {
    expect((await sendRaw(port, post(`{"of":["${'x'.repeat(2 ** 21)}"]}`))).statuses).toEqual([413]);
  });
});

it('pipelined requests on one connection are answered in order', async () => {
  const one = `GET /api/place HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${authorization}\r\n\r\n`;
  const last = requestText(port, 'GET // HTTP/1.1', [authorization]).toString();
  const { statuses } = await sendRaw(port, one.repeat(50) + last);
  expect(statuses).toEqual([...Array<number>(50).fill(200), 404]);
});

it('a request to upgrade the protocol is answered normally, and CONNECT gets no response', async () => {
  const upgrade = [authorization, 'Upgrade: websocket', 'Sec-WebSocket-Key: x', 'Sec-WebSocket-Version: 13'];
  const request = requestText(port, 'GET /api/place HTTP/1.1', upgrade).toString();
  const { statuses } = await sendRaw(port, request.replace('Connection: close', 'Connection: Upgrade'), {
    until: (text) => text.includes('"place"'),
  });
  expect(statuses).toEqual([200]);
  expect((await sendRaw(port, requestText(port, 'CONNECT evil.example:443 HTTP/1.1'))).text).toBe('');
});

it('the server keeps working after clients disconnect in the middle of a request', async () => {
  const whole = post('{"of":["a"],"add":["b"]}');
  for (const length of [10, 60, whole.length - 5])
    await sendRaw(port, whole.subarray(0, length), { cut: true });
  expect((await sendRaw(port, whole)).statuses).toEqual([404]);
});
