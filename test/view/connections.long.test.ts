/** The view answers even if many connections send nothing or half a request, or leave its answers unread. */
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { guardConnections } from '../../src/view/http.js';
import { listening } from '../support/fake-server.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { authorization, openView, token } from './open-view.js';

const open: Socket[] = [];
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const socket of open.splice(0)) socket.destroy();
  for (const end of ends.splice(0)) await end();
});

/** Connections that each write a text, and wait. */
async function flood(port: number, count: number, text: string): Promise<readonly Socket[]> {
  const sockets = Array.from({ length: count }, () => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    socket.on('error', () => undefined).pause();
    return socket;
  });
  open.push(...sockets);
  await Promise.all(
    sockets.map((socket) => new Promise((done) => socket.once('connect', done).once('close', done))),
  );
  return sockets;
}

const half = 'GET /api/place HTTP/1.1\r\nHost: 127.0.0.1\r\nX-';
const halfBody = (port: number) =>
  `POST /api/stop HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{`;
const unread = (port: number) => `GET /assets/app.js HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`.repeat(8);

describe('the view', () => {
  const started = async () => {
    const view = await openView(temporaryDirectory());
    ends.push(() => view.close());
    return view;
  };
  const headers = { authorization, connection: 'close' };

  it.each([
    ['nothing', () => ''],
    ['half a request', () => half],
    ['half a body', halfBody],
    ['requests without reading the responses', unread],
  ] as const)('answers while 600 connections send %s', async (_, text) => {
    const { port } = await started();
    await flood(port, 300, text(port));
    const ask = () => fetch(`http://127.0.0.1:${port}/api/place`, { headers });
    expect((await ask()).status).toBe(200);
    await flood(port, 300, text(port));
    expect((await ask()).status).toBe(200);
  });

  it('answers while 250 pages stream its events, and keeps the first of those connections open', async () => {
    const { port } = await started();
    const events = `GET /api/events?all&token=${token} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`;
    const [first] = await flood(port, 250, events);
    const ask = () => fetch(`http://127.0.0.1:${port}/api/place`, { headers });
    expect((await ask()).status).toBe(200);
    await flood(port, 300, half);
    expect((await ask()).status).toBe(200);
    expect(first!.destroyed).toBe(false);
  });
});

it('a connection waiting for its response is not closed to make room for others', async () => {
  const answers: (() => void)[] = [];
  const { port, server } = await listening((_, response) => void answers.push(() => response.end('late')));
  guardConnections(server, 4);
  const asked = Array.from({ length: 4 }, () =>
    fetch(`http://127.0.0.1:${port}/`, { headers: { connection: 'close' } }),
  );
  while (answers.length < 4) await new Promise((done) => setTimeout(done, 10));
  await flood(port, 20, half);
  for (const end of answers) end();
  expect(await Promise.all(asked.map(async (one) => (await one).text()))).toEqual(Array(4).fill('late'));
});
