/** An OpenAI-compatible server that holds requests back until it is told to answer them. */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll } from 'vitest';
import { createGenerator } from '../../src/base/random/generator.js';
import { formatParameters } from '../../src/prompting/notation/grammar.js';

export interface HeldRequest {
  readonly seed: number;
  /** How many completions it asks for. */
  readonly n: number;
  readonly messages: readonly { readonly content: string }[];
}

/** `good`: a choice like no other. `hold`: until `release`, then such. `cut`: half of an answer, and the end of the connection. `refuse`: HTTP 400. */
type Answer = 'good' | 'hold' | 'cut' | 'refuse' | { readonly text: string };

/** Ten parameters that depend on the seed alone. */
export function goodText(seed: number, choice = 0): string {
  const random = createGenerator(seed, [choice]);
  const values = Array.from({ length: 10 }, () => Number(random.uniform(-6, 6).toFixed(1)));
  return formatParameters(values, { count: 10, kind: 'float', low: -6, high: 6, decimals: 1 });
}

export class HeldServer {
  readonly requests: HeldRequest[] = [];
  /** Decides by the request and its number, from 1. */
  decide: (request: HeldRequest, number: number) => Answer = () => 'good';
  url = '';
  readonly #held: (() => void)[] = [];
  readonly #waiting: { readonly count: number; readonly resolve: () => void }[] = [];
  readonly #server = createServer((message, response) => {
    // It lists no models.
    if (message.method === 'GET') {
      response.writeHead(404).end();
      return;
    }
    let text = '';
    message.on('data', (chunk: Buffer) => (text += chunk.toString()));
    message.on('end', () => this.#receive(JSON.parse(text) as Partial<HeldRequest>, response));
  });

  static async start(): Promise<HeldServer> {
    const held = new HeldServer();
    await new Promise<void>((resolve) => held.#server.listen(0, '127.0.0.1', resolve));
    held.url = `http://127.0.0.1:${(held.#server.address() as AddressInfo).port}/v1`;
    afterAll(() => held.close());
    return held;
  }

  /** Resolves once `count` requests have arrived. */
  received(count: number): Promise<void> {
    if (this.requests.length >= count) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push({ count, resolve }));
  }

  /** Answers what was held. */
  release(): void {
    for (const answer of this.#held.splice(0)) answer();
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #receive({ messages = [], n = 1, seed = 0 }: Partial<HeldRequest>, response: ServerResponse): void {
    const request = { messages, n, seed };
    this.requests.push(request);
    const answer = this.decide(request, this.requests.length);
    const send = (text: (choice: number) => string) => {
      const choices = Array.from({ length: n }, (_, index) => ({
        index,
        message: { role: 'assistant', content: text(index) },
        finish_reason: 'stop',
      }));
      const usage = { prompt_tokens: 1000, completion_tokens: 100 * n, total_tokens: 1000 + 100 * n };
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ choices, usage }));
    };
    const sendGood = () => send((choice) => goodText(seed, choice));
    if (answer === 'good') sendGood();
    else if (answer === 'hold') this.#held.push(sendGood);
    else if (answer === 'refuse') response.writeHead(400).end('{"error": {"message": "n is not known"}}');
    else if (answer === 'cut') {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': 1000 });
      response.write('{"choices"', () => response.socket?.destroy());
    } else send(() => answer.text);
    for (const { count, resolve } of this.#waiting) if (this.requests.length >= count) resolve();
  }
}
