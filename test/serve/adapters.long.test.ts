import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createModel } from '../../src/experiment/proposer.js';
import { createLocalModel } from '../../src/models/local/process/local-model.js';
import { answerGrammar } from '../../src/prompting/notation/grammar.js';
import { randomAdapter } from '../models/local/random-adapter.js';
import { openaiConfig } from '../models/model-configs.js';
import { ask } from '../support/ask.js';
import { eventsOf, localConfig, messages, path, post, send, startLocalServer } from './local-server.js';

const trained = join(path, 'adapter-after-12-steps');
const random = randomAdapter({ model: path, rank: 4, modules: ['q_proj', 'up_proj'], seed: 5 });
/** By served name. */
const adapters: Readonly<Record<string, string | undefined>> = {
  tiny: undefined,
  'owner/trained': trained,
  random,
};

let server: Awaited<ReturnType<typeof startLocalServer>>;
beforeAll(async () => {
  server = await startLocalServer([
    { name: 'owner/trained', adapter: trained },
    { name: 'random', adapter: random },
  ]);
});
afterAll(() => server.close());

const grammar = answerGrammar({ count: 3, kind: 'float', low: -6, high: 6, decimals: 1 });
const body = { messages, seed: 7, max_tokens: 16 };

interface Body {
  readonly model: string;
  readonly choices: readonly { readonly message: { readonly content: string } }[];
  readonly usage: { readonly prompt_tokens_details: { readonly cached_tokens: number } };
}
const complete = async (more: object): Promise<Body> =>
  JSON.parse((await post(server.url, { ...body, ...more })).body) as Body;

test('the model name selects the adapter: our openai provider gets the same text as in-process', async () => {
  const texts = new Set<string>();
  for (const [name, adapter] of Object.entries(adapters)) {
    const local = createLocalModel(
      localConfig({ format: 'text', temperature: 0.9, maxTokens: 24, ...(adapter && { adapter }) }),
    );
    const served = createModel(
      openaiConfig({ baseUrl: server.url, name, temperature: 0.9, maxTokens: 24 }),
      {},
    );
    const [a, b] = await Promise.all([served, local].map((m) => ask(m, messages, { grammar, seeds: [3] })));
    await local.close?.();
    expect(a!.text).toBe(b!.text);
    texts.add(a!.text);
  }
  expect(texts.size).toBe(3);
});

test('concurrent requests for different adapters each get the right one, from a single process', async () => {
  const names = Object.keys(adapters);
  const alone = new Map<string, Body>();
  for (const model of names) alone.set(model, await complete({ model }));
  const { pid } = server.model;
  const asked = Array.from({ length: 12 }, (_, i) => names[(i * 5 + Math.floor(i / 4)) % 3]!);
  const together = await Promise.all(asked.map((model) => complete({ model })));
  together.forEach((body, i) => {
    expect(body.model).toBe(asked[i]);
    expect(body.choices).toEqual(alone.get(asked[i]!)!.choices);
  });
  expect(server.model.pid).toBe(pid);
  // Their prompts stay beside each other.
  for (const model of names)
    expect((await complete({ model })).usage.prompt_tokens_details.cached_tokens).toBe(65);
});

test('a request for one adapter does not wait for all earlier requests for another', async () => {
  const order: string[] = [];
  const note = (name: string, body: Promise<Body>) => body.then(() => order.push(name));
  const many = Array.from({ length: 5 }, () =>
    note('random', complete({ model: 'random', max_tokens: 200 })),
  );
  await Promise.all([...many, note('trained', complete({ model: 'owner/trained', max_tokens: 1 }))]);
  expect(order.indexOf('trained')).toBeLessThan(3);
});

test('a stream names its model, and a request without a name gets the base model', async () => {
  const events = eventsOf(await post(server.url, { ...body, model: 'random', stream: true }));
  for (const event of events) expect(event).toMatchObject({ model: 'random' });
  const [unnamed, base] = [await complete({}), await complete({ model: 'tiny' })];
  expect(unnamed.model).toBe('tiny');
  expect(unnamed.choices).toEqual(base.choices);
});

test('the list of models has all names, and adapters with their parent', async () => {
  const { data } = JSON.parse((await send(`${server.url}/models`)).body) as { data: unknown[] };
  expect(data).toMatchObject([
    { id: 'tiny', parent: null },
    { id: 'owner/trained', object: 'model', created: 1, parent: 'tiny' },
    { id: 'random', parent: 'tiny' },
  ]);
  for (const written of ['owner/trained', 'owner%2Ftrained'])
    expect(JSON.parse((await send(`${server.url}/models/${written}`)).body)).toEqual(data[1]);
});

test('an unknown model name is rejected with a list of the available ones', async () => {
  const refused = await post(server.url, { ...body, model: 'tuned' });
  expect(refused.status).toBe(404);
  expect(JSON.parse(refused.body)).toMatchObject({
    error: {
      type: 'not_found_error',
      param: 'model',
      message: 'unknown model "tuned"; available: "tiny", "owner/trained", "random"',
    },
  });
  const looked = await send(`${server.url}/models/tuned`);
  expect(looked.status).toBe(404);
  expect(looked.body).toContain('owner/trained');
});
