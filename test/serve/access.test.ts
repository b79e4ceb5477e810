import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { longestBody, requireLocal } from '../../src/serve/http.js';
import { messages, post, send, startLocalServer } from './local-server.js';

let server: Awaited<ReturnType<typeof startLocalServer>>;
let port: number;
beforeAll(async () => {
  server = await startLocalServer();
  port = Number(new URL(server.url).port);
});
afterAll(() => server.close());

const health = (headers: Record<string, string>) => send(server.url.replace('/v1', '/health'), { headers });

describe('the checks of Host and Origin', () => {
  it.each(['127.0.0.1', 'localhost', 'LOCALHOST', '[::1]'])('accept the host %s', async (name) => {
    expect((await health({ host: `${name}:${port}` })).status).toBe(200);
  });

  it.each([
    'evil.example',
    'localhost',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    '127.0.0.2',
    '127.0.0.1:1',
  ])('reject a rebound host: %s', async (name) => {
    const host = name.includes(':') || name === 'localhost' ? name : `${name}:${port}`;
    const { status, body } = await health({ host });
    expect(status).toBe(403);
    expect(body).toContain('permission_error');
  });

  it('reject pages from other origins and accept their own', async () => {
    const own = [`http://127.0.0.1:${port}`, `http://localhost:${port}`];
    for (const origin of own) expect((await health({ origin })).status).toBe(200);
    const foreign = [
      'null',
      'http://evil.example',
      `https://127.0.0.1:${port}`,
      'http://127.0.0.1',
      `http://127.0.0.1:${port}.evil.example`,
    ];
    for (const origin of foreign) expect((await health({ origin })).status, origin).toBe(403);
    const ask = { messages, max_tokens: 1 };
    expect((await post(server.url, ask, { origin: 'http://evil.example' })).status).toBe(403);
  });

  it('require a Host, which may omit the default port', () => {
    expect(() => requireLocal({ headers: { host: 'localhost' }, url: '/' }, 80)).not.toThrow();
    expect(() => requireLocal({ headers: {}, url: '/' }, 8000)).toThrow(/Host ""/);
  });
});

describe('request bodies', () => {
  it('must be JSON in UTF-8 with a JSON content type', async () => {
    expect((await post(server.url, '{}', { 'content-type': 'text/plain' })).status).toBe(415);
    expect((await post(server.url, '{"messages":')).status).toBe(400);
    expect((await post(server.url, '[]')).status).toBe(400);
    const headers = { 'content-type': 'application/json' };
    const latin1 = Buffer.from('{"messages":[{"role":"user","content":"\xe9"}]}', 'latin1');
    const refused = await send(`${server.url}/chat/completions`, { method: 'POST', headers, body: latin1 });
    expect(refused.body).toMatch(/must be JSON in UTF-8/);
  });

  it('have a maximum length, whether stated or not', async () => {
    const long = `{"messages":"${'x'.repeat(longestBody)}"}`;
    expect((await post(server.url, long)).status).toBe(413);
    expect((await post(server.url, long, { 'transfer-encoding': 'chunked' })).status).toBe(413);
    expect((await post(server.url, { messages, max_tokens: 1 })).status).toBe(200);
  });
});

it('a key sent by a client is neither logged nor echoed, except as a model name', async () => {
  const key = 'canary.0123456789-key';
  const headers = { authorization: `Bearer ${key}`, 'x-api-key': key };
  const answers = [
    await send(`${server.url}/models?key=${key}`, { headers }),
    await send(`${server.url}/nowhere?api-key=${key}`, { headers }),
    await post(server.url, { model: key, messages }, headers),
    await post(server.url, `{"messages": ${key}`, headers),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 404, 404, 400]);
  expect(server.log.slice(-4).join('\n')).not.toContain('canary');
  expect(server.log.at(-2)).toContain('[redacted]');
  // What a client names as its model is told to that client alone.
  for (const { body } of [answers[0]!, answers[1]!, answers[3]!]) expect(body).not.toContain('canary');
});

it('a client cannot forge log lines', async () => {
  const before = server.log.length;
  const model = 'x\u001b[2J\u009b1A\u202e\nPOST /v1/chat/completions 200 forged';
  await post(server.url, { model, messages, max_tokens: 1 });
  await send(`${server.url}/models/${encodeURIComponent(model)}`);
  const lines = server.log.slice(before);
  expect(lines).toHaveLength(2);
  for (const line of lines) expect(line).not.toMatch(/[\p{Cc}\u202e]/u);
});
