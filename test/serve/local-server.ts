/** A served reference model, and requests to it that no client library would send. */
import { type ClientRequest, request } from 'node:http';
import type { LanguageModel } from '../../src/models/language-model.js';
import { openLocalModels } from '../../src/models/local/process/local-model.js';
import { localSchema } from '../../src/models/local/settings.js';
import { startServer } from '../../src/serve/server.js';
import { readReference, referenceDirectory } from '../models/local/fixture.js';

export const path = referenceDirectory('qwen2-tied-bf16-sharded');
/** The messages whose reference output the tests compare with. */
export const { messages } = readReference('qwen2-tied-bf16-sharded');
export const localConfig = (config: object = {}) =>
  localSchema.parse({ provider: 'local', path, threads: 1, device: 'cpu', ...config });

/** What a server says of its model, in tests. */
export const testFacts = {
  ...{ path: 'tiny', contextTokens: 512, trainedTokens: 1024, slots: 1, fingerprint: 'fp_test' },
};

/**
 * @param adapters served beside the base, which is `tiny`
 * @param more settings of the model
 */
export async function startLocalServer(
  adapters: readonly { readonly name: string; readonly adapter: string }[] = [],
  more: object = {},
) {
  const model = openLocalModels(
    localConfig({ maxTokens: 10_000, format: 'constrained', ...more }),
    adapters.map(({ adapter }) => adapter),
  );
  const log: string[] = [];
  const watch: { onText?: (seed: number) => void } = {};
  const watched = (inner: LanguageModel): LanguageModel => ({
    ...inner,
    generate: (messages, options) =>
      inner.generate(messages, {
        ...options,
        onText: (index, text) => {
          watch.onText?.(options.seeds[0]!);
          options.onText?.(index, text);
        },
      }),
  });
  const server = await startServer({
    host: '127.0.0.1',
    port: 0,
    model: {
      served: [
        { name: 'tiny', model: watched(model.model()) },
        ...adapters.map(({ name, adapter }) => ({ name, model: watched(model.model(adapter)) })),
      ],
      created: 1,
      ...testFacts,
    },
    now: () => new Date(5000),
    note: (line) => log.push(line),
  });
  return {
    ...server,
    log,
    /** Told of all text as it is made. */
    watch,
    model,
    close: async () => {
      const finished = server.finish();
      server.abort();
      await finished;
      await model.close();
    },
  };
}

export interface Answered {
  readonly status: number;
  readonly body: string;
}

/** One request, word for word. */
export function send(
  url: string,
  options: {
    readonly method?: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: string | Buffer;
  } = {},
): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const { method = 'GET', headers = {}, body } = options;
    const sent = request(url, { method, headers, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: text }));
      response.on('error', reject);
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

export const post = (url: string, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  send(`${url}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

/** A request for a stream; `onData` is told of all that has come so far. */
export function stream(
  url: string,
  body: object,
  onData: (received: string, sent: ClientRequest) => void,
): Promise<string> {
  return new Promise((resolve) => {
    let received = '';
    const headers = { 'content-type': 'application/json' };
    const sent = request(`${url}/chat/completions`, { method: 'POST', headers, agent: false }, (response) => {
      response.on('data', (chunk: Buffer) => {
        received += chunk.toString();
        onData(received, sent);
      });
      response.on('error', () => {});
      response.on('close', () => resolve(received));
    });
    sent.on('error', () => resolve(received));
    sent.end(JSON.stringify({ ...body, stream: true }));
  });
}

/** Events of a stream, without `[DONE]`, which must be the last. */
export function eventsOf({ body }: Answered): unknown[] {
  const events = body.trimEnd().split('\n\n');
  if (events.at(-1) !== 'data: [DONE]') throw new Error(`the stream ends with ${events.at(-1)}`);
  return events.slice(0, -1).map((event) => JSON.parse(event.slice('data: '.length)) as unknown);
}
