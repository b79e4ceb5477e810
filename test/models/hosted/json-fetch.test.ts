import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { retryDelay, serverError } from '../../../src/models/hosted/json-fetch.js';
import { listening } from '../../support/fake-server.js';

describe('retryDelay', () => {
  it.each([
    [{}, undefined],
    [{ 'retry-after': '12' }, 12_000],
    [{ 'retry-after': '0' }, 0],
    [{ 'retry-after': ' 1.5 ' }, 1500],
    [{ 'retry-after-ms': '250', 'retry-after': '9' }, 250],
    [{ 'retry-after': 'soon' }, undefined],
    [{ 'retry-after': '-5' }, undefined],
    [{ 'retry-after': 'Wed, 21 Oct 2026 07:28:30 GMT', date: 'Wed, 21 Oct 2026 07:28:00 GMT' }, 30_000],
    [{ 'retry-after': 'Wed, 21 Oct 2026 07:27:00 GMT', date: 'Wed, 21 Oct 2026 07:28:00 GMT' }, 0],
    [{ 'retry-after': 'Wed, 21 Oct 2026 07:28:30 GMT' }, undefined],
  ])('reads the delay of %o in milliseconds: %s', (headers, expected) => {
    expect(retryDelay(new Headers(Object.entries(headers)))).toBe(expected);
  });
});

describe('serverError', () => {
  it.each([
    ['{"error":{"message":"no such model","code":"model_not_found"}}', 'no such model', 'model_not_found'],
    ['{"error":{"message":"broke","type":"insufficient_quota","code":null}}', 'broke', 'insufficient_quota'],
    ['{"error":"model not found"}', 'model not found', undefined],
    ['{"message":"bad gateway"}', 'bad gateway', undefined],
  ])('extracts the message, and the code or type, if any, from %s', (body, message, code) => {
    expect(serverError(JSON.parse(body))).toEqual({ message, ...(code !== undefined && { code }) });
  });
});

/** Which of two addresses a program reaches through the proxy, by Node's own fetch and by ours. */
const program = `
  const { jsonFetch } = await import(process.argv[1]);
  const reached = async (send) => {
    const texts = [];
    for (const url of process.argv.slice(2)) texts.push(await send(url).then((reply) => reply.text(), () => 'nothing'));
    return texts;
  };
  console.log(JSON.stringify([await reached(fetch), await reached(jsonFetch)]));
`;

it.each(['1', ''])("jsonFetch takes the route of Node's fetch with NODE_USE_ENV_PROXY=%s", async (use) => {
  const serve = async (name: string) => {
    const { server, url } = await listening((_request, response) => response.end(JSON.stringify(name)));
    // Node's fetch asks for a tunnel, its http module doesn't.
    server.on('connect', (_request, socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      server.emit('connection', socket);
    });
    return url;
  };
  const [proxy, direct] = [await serve('proxy'), await serve('direct')];
  const module = path.resolve(import.meta.dirname, '../../../src/models/hosted/json-fetch.ts');
  const words = ['--import', 'tsx', '--input-type=module', '-e', program, module];
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [...words, 'http://llm.corp.invalid/v1', direct],
    { env: { ...process.env, NODE_USE_ENV_PROXY: use, HTTP_PROXY: proxy, NO_PROXY: '127.0.0.1' } },
  );
  const [theirs, ours] = JSON.parse(stdout) as string[][];
  expect(theirs![1]).toBe('"direct"');
  // Nodes before 22.21 know no proxies; then neither way finds the host.
  if (Number(process.versions.node.split('.')[0]) >= 24)
    expect(theirs![0]).toBe(use === '1' ? '"proxy"' : 'nothing');
  expect(ours).toEqual(theirs);
});
