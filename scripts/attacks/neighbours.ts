/**
 * How long other clients of `policyloop serve` wait while one floods it. `npx tsx scripts/attacks/neighbours.ts MODEL`
 * prints the longest waits for `/health` and for an answer of one token, per attack.
 */
import { spawn } from 'node:child_process';
import { connect, type Socket } from 'node:net';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { openLocalModels } from '../../src/models/local/process/local-model.js';
import { localSchema } from '../../src/models/local/settings.js';
import { startServer } from '../../src/serve/server.js';

export interface Flood {
  /** Status codes of the flood's requests that have been answered. */
  readonly statuses: readonly number[];
  /** Resolves when the flood is over by itself. */
  readonly over: Promise<unknown>;
  stop(): void;
}

/** @param url of the API, ending with /v1 */
type Start = (url: string) => Flood;

/** Connections that each write a text, and wait. */
function connections(url: string, texts: readonly string[]): Flood {
  const statuses: number[] = [];
  const sockets: Socket[] = texts.map((text) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.write(text));
    socket.on('error', () => undefined);
    return socket.on('data', (data) => {
      for (const [, status] of data.toString('latin1').matchAll(/^HTTP\/1\.1 (\d{3})/gm))
        statuses.push(Number(status));
    });
  });
  const ended = sockets.map((socket) => new Promise((done) => socket.once('close', done)));
  return {
    ...{ statuses, over: Promise.all(ended) },
    stop: () => {
      for (const socket of sockets) socket.destroy();
    },
  };
}

function requests(url: string, bodies: readonly object[]): Flood {
  const statuses: number[] = [];
  const stop = new AbortController();
  const asked = bodies.map(async (body) => {
    const headers = { 'content-type': 'application/json', connection: 'close' };
    const init = { method: 'POST', headers, body: JSON.stringify(body), signal: stop.signal };
    const reply = await fetch(`${url}/chat/completions`, init).catch(() => undefined);
    if (reply !== undefined) statuses.push(reply.status);
    await reply?.text().catch(() => undefined);
  });
  return { statuses, over: Promise.all(asked), stop: () => stop.abort() };
}

const halfHead = 'POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nX-';
const halfBody = (url: string) =>
  `POST /v1/chat/completions HTTP/1.1\r\nHost: ${new URL(url).host}\r\nContent-Type: application/json\r\n` +
  'Content-Length: 1000\r\n\r\n{"messages":';
const chat = (content: string) => ({ messages: [{ role: 'user', content }], max_tokens: 4 });
/** Characters of a prompt that fills 7 MB. */
const long = 7_000_000;

export const floods: Readonly<Record<string, Start>> = {
  '1,000 half heads': (url) => connections(url, Array<string>(1000).fill(halfHead)),
  '1,000 half bodies': (url) => connections(url, Array<string>(1000).fill(halfBody(url))),
  'prompts of 7 MB': (url) =>
    requests(
      url,
      ['word ', 'a', ' ', 'ab1é漢 '].map((unit) =>
        chat(unit.repeat(Math.floor(long / Buffer.byteLength(unit)))),
      ),
    ),
  // Long answers, so that no place becomes free before the last request arrives.
  '80 requests': (url) =>
    requests(
      url,
      Array.from({ length: 80 }, (_, i) => ({ ...chat(`Count to ${i}.`), max_tokens: 128 })),
    ),
};

export interface Waits {
  /** Longest waits in milliseconds. */
  readonly health: number;
  readonly answer: number;
  /** Requests for an answer that were refused with 429. */
  readonly refused: number;
  readonly statuses: readonly number[];
}

/** The same flood from a process of its own, so that its work doesn't count as waiting. */
function floodApart(name: string, url: string): Flood {
  const command = ['--import', 'tsx', import.meta.filename, '--flood', name, url];
  const child = spawn(process.execPath, command, { stdio: ['ignore', 'pipe', 'inherit'] });
  const statuses: number[] = [];
  const over = (async () => {
    for await (const line of createInterface(child.stdout)) statuses.push(...(JSON.parse(line) as number[]));
  })();
  return { statuses, over, stop: () => child.kill('SIGTERM') };
}

async function floodHere(name: string, url: string): Promise<void> {
  const { over, statuses, stop } = floods[name]!(url);
  process.once('SIGTERM', stop);
  await over;
  process.stdout.write(`${JSON.stringify(statuses)}\n`);
}

/** Asks again and again while the flood lasts, for at most `milliseconds`. */
export async function waitsDuring(flood: Flood, url: string, milliseconds: number): Promise<Waits> {
  const began = performance.now();
  let isOver = false;
  void flood.over.then(() => {
    isOver = true;
  });
  const [health, answer] = [[0], [0]];
  let refused = 0;
  const timed = async (into: number[], path: string, init: RequestInit) => {
    const asked = performance.now();
    const reply = await fetch(new URL(path, url), init);
    await reply.text();
    if (reply.status === 429) refused++;
    else if (reply.status !== 200) throw new Error(`${path}: ${reply.status}`);
    into.push(performance.now() - asked);
  };
  const headers = { 'content-type': 'application/json', connection: 'close' };
  const body = JSON.stringify({ ...chat('Hi'), max_tokens: 1 });
  do {
    await timed(health, '/health', { headers });
    await timed(answer, '/v1/chat/completions', { method: 'POST', headers, body });
  } while (!isOver && performance.now() - began < milliseconds);
  flood.stop();
  await flood.over;
  return {
    ...{ health: Math.max(...health), answer: Math.max(...answer), refused, statuses: flood.statuses },
  };
}

async function main(path: string): Promise<void> {
  const models = openLocalModels(localSchema.parse({ provider: 'local', path, format: 'constrained' }), []);
  const { contextTokens } = await models.load();
  const server = await startServer({
    ...{ host: '127.0.0.1', port: 0, now: () => new Date(0), note: () => undefined },
    model: {
      ...{ served: [{ name: 'm', model: models.model() }], created: 0, path, slots: 1, fingerprint: '' },
      ...{ contextTokens, trainedTokens: contextTokens },
    },
  });
  for (const name of Object.keys(floods)) {
    const flood = floodApart(name, server.url);
    const { answer, health, refused, statuses } = await waitsDuring(flood, server.url, 20_000);
    const replies = [...new Set(statuses)].map(
      (status) => `${statuses.filter((one) => one === status).length} × ${status}`,
    );
    process.stdout.write(
      `${name}: health ${health.toFixed(0)} ms, answer ${answer.toFixed(0)} ms (${refused} × 429); ` +
        `the flood got ${replies.join(', ') || 'nothing'}\n`,
    );
  }
  const finished = server.finish();
  server.abort();
  await finished;
  await models.close();
}

if (process.argv[1] === import.meta.filename) {
  const [path = 'models/tiny-improver', name, url] = process.argv.slice(2);
  await (path === '--flood' ? floodHere(name!, url!) : main(path));
}
