/** How a server ends: what was asked for whole is answered, and nobody else holds it open. */
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { endingOf } from '../../src/serve/connections.js';
import { chatText, requestText, sendRaw } from './raw-requests.js';

const opened: Socket[] = [];

/** A connection that sends this and waits. */
async function waiting(port: number, bytes: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {}).resume();
  await new Promise<void>((done) => socket.once('connect', done));
  if (bytes !== '') await new Promise((done) => socket.write(bytes, done));
  opened.push(socket);
  return socket;
}

const portOf = (server: Server) => (server.address() as AddressInfo).port;

it('a closing server answers complete requests and closes idle or incomplete connections', async () => {
  let seen = 0;
  let answer: (() => void) | undefined;
  const server = createServer((request, response) => {
    seen++;
    request.resume();
    request.once('end', () => {
      answer = () => response.end('done');
    });
  });
  const end = endingOf(server);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const port = portOf(server);
  await waiting(port, '');
  await waiting(port, 'GET / HT');
  await waiting(port, String(chatText(port, 'x'.repeat(20))).slice(0, -5));
  const whole = sendRaw(
    port,
    requestText(port, 'GET /slow HTTP/1.1').toString().replace('close', 'keep-alive'),
  );
  while (seen < 2 || answer === undefined) await new Promise((later) => setTimeout(later, 5));
  let isEnded = false;
  const ended = end().then(() => {
    isEnded = true;
  });
  const closed = opened.map((socket) => new Promise((done) => socket.once('close', done)));
  // The half of a request can't become a whole one any more.
  await closed[2];
  expect(isEnded).toBe(false);
  answer();
  expect((await whole).text).toMatch(/done$/);
  await Promise.all([ended, ...closed]);
});
