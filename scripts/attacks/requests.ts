/** Attacks with requests to `policyloop serve`: targets, headers and bodies. The server must reply and keep running. */
import type { Completion, LanguageModel } from '../../src/models/language-model.js';
import type { RandomGenerator } from '../../src/random/generator.js';
import { startServer } from '../../src/serve/server.js';
import { testFacts } from '../../test/serve/local-server.js';
import { chatText, requestText, sendRaw } from '../../test/serve/raw-requests.js';
import { type AttackKind, control, type OpenedKind, shorten } from './attack.js';
import { drawn, junkText, mutated, mutatedBytes } from './junk.js';

const model: LanguageModel = {
  id: 'echo',
  async generate(_messages, { seeds }) {
    return seeds.map(
      (): Completion => ({ text: 'ok', finishReason: 'stop', usage: {}, latencyMs: 0, retries: 0 }),
    );
  },
};

/** @param bytes draws the data to send */
function requestKind(name: string, bytes: (port: number, random: RandomGenerator) => Buffer): AttackKind {
  return { name, percent: 100, open: () => openServer(bytes) };
}

async function openServer(bytes: (port: number, random: RandomGenerator) => Buffer): Promise<OpenedKind> {
  const notes: string[] = [];
  const server = await startServer({
    host: '127.0.0.1',
    port: 0,
    model: { served: [{ name: 'echo', model }], created: 1, ...testFacts },
    now: () => new Date(0),
    note: (line) => notes.push(line),
  });
  const port = Number(new URL(server.url).port);
  return {
    async attack(random) {
      notes.length = 0;
      const sent = bytes(port, random);
      const cut = random.random() < 0.1;
      const signal = AbortSignal.timeout(300);
      const { statuses } = await sendRaw(port, sent, { cut, signal });
      const wrong = statuses.find((status) => status >= 500);
      if (wrong !== undefined) return `HTTP ${wrong} to ${shorten(sent.toString('latin1'))}`;
      const forged = notes.find((note) => control.test(note));
      if (forged !== undefined) return `a control character in the log: ${shorten(forged)}`;
      const health = await sendRaw(port, requestText(port, 'GET /health HTTP/1.1'));
      return health.statuses[0] === 200 ? undefined : `not healthy after ${shorten(sent.toString('latin1'))}`;
    },
    async close() {
      const finished = server.finish();
      server.abort();
      await finished;
    },
  };
}

const parts = [
  '/',
  '//',
  'v1',
  'models',
  'health',
  'chat/completions',
  '..',
  '%',
  '%2e',
  '%ff',
  '?',
  '#',
  '\\',
  ':',
  '@',
  '[',
  ']',
  'http:',
  '*',
  '\u0000',
  ' ',
  'é',
];
const methods = ['GET', 'POST', 'HEAD', 'PUT', 'OPTIONS', 'DELETE', 'TRACE', 'CONNECT', 'PATCH', 'get', 'X'];
const headerNames = [
  'Host',
  'Origin',
  'Content-Length',
  'Transfer-Encoding',
  'Content-Type',
  'Expect',
  'Upgrade',
  'Connection',
  'Sec-Fetch-Site',
  'Authorization',
  'Content-Encoding',
  'Range',
  'Cookie',
];
const headerValues = [
  '',
  '0',
  '-1',
  '1e9',
  '99999999999',
  'chunked',
  'chunked, chunked',
  'application/json',
  '100-continue',
  'websocket',
  'close',
  'upgrade',
  'null',
  'evil.example',
  'bytes=0-',
  'gzip',
];

const joined = (random: RandomGenerator, from: readonly string[], most: number) =>
  Array.from({ length: 1 + drawn(random, most) }, () => random.choice(from)).join('');

const target = (random: RandomGenerator) =>
  random.random() < 0.7 ? `/${joined(random, parts, 6)}` : joined(random, parts, 6);

const body = {
  model: 'echo',
  messages: [{ role: 'user', content: 'a' }],
  n: 1,
  seed: 1,
  temperature: 1,
  max_tokens: 5,
  stop: ['x'],
  stream: false,
  response_format: {
    type: 'json_schema',
    json_schema: {
      schema: {
        type: 'object',
        properties: {
          params: {
            type: 'array',
            items: { type: 'number', minimum: -1, maximum: 1 },
            minItems: 2,
            maxItems: 2,
          },
        },
      },
    },
  },
};

export const requestKinds: readonly AttackKind[] = [
  requestKind('targets', (port, random) =>
    requestText(port, `${random.choice(methods)} ${target(random)} HTTP/1.1`),
  ),
  requestKind('headers', (port, random) => {
    const headers = Array.from({ length: 1 + drawn(random, 5) }, () => {
      const value = random.random() < 0.8 ? random.choice(headerValues) : junkText(random);
      return `${random.choice(headerNames)}: ${value}`;
    });
    const line = `${random.choice(methods)} ${random.choice(['/health', '/v1/chat/completions', '/v1/models'])} HTTP/1.1`;
    return requestText(port, line, headers, random.random() < 0.5 ? '' : JSON.stringify(body));
  }),
  requestKind('bodies', (port, random) => {
    // Drop an intact schema, because the model always answers "ok".
    const { response_format: format, ...plain } = body;
    const changed = mutated(random.random() < 0.5 ? plain : { ...plain, response_format: format }, random);
    const { response_format: kept, ...rest } = changed as typeof body;
    const isSame = JSON.stringify(kept) === JSON.stringify(format);
    const text = Buffer.from(JSON.stringify(isSame ? rest : changed));
    return chatText(port, random.random() < 0.7 ? text : mutatedBytes(text, random));
  }),
];
