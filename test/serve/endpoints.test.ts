/** Endpoints besides chat completions, as their clients use them. */
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTokenizer } from '../../src/models/local/tokens/tokenizer.js';
import { readReference } from '../models/local/fixture.js';
import { messages, path, post, send, startLocalServer } from './local-server.js';

let server: Awaited<ReturnType<typeof startLocalServer>>;
let client: OpenAI;
beforeAll(async () => {
  server = await startLocalServer();
  client = new OpenAI({ baseURL: server.url, apiKey: 'none', maxRetries: 0 });
});
afterAll(() => server.close());

const { prompt_ids: ids, prompt_text: text } = readReference('qwen2-tied-bf16-sharded');
const chatMessages = messages as OpenAI.ChatCompletionMessageParam[];
const model = 'tiny';
const greedy = { model, temperature: 0, max_tokens: 6 };

describe('completions', () => {
  it('continue a prompt, in any of its four forms, like the chat that renders to it', async () => {
    const chat = await client.chat.completions.create({ ...greedy, messages: chatMessages });
    const of = async (prompt: string | string[] | number[] | number[][]) =>
      (await client.completions.create({ ...greedy, prompt })).choices;
    const [one] = await of(text);
    expect(one).toMatchObject({ index: 0, text: chat.choices[0]!.message.content, logprobs: null });
    expect(await of([...ids])).toEqual([one]);
    const two = [
      { ...one, index: 0 },
      { ...one, index: 1 },
    ];
    expect(await of([text, text])).toEqual(two);
    expect(await of([[...ids], [...ids]])).toEqual(two);
  });

  it('number the choices of several prompts consecutively', async () => {
    const asked = { model, max_tokens: 3, n: 2, seed: 5, prompt: ['go', 'stop'] };
    const { choices, usage } = await client.completions.create(asked);
    expect(choices.map(({ index }) => index)).toEqual([0, 1, 2, 3]);
    const { choices: apart } = await client.completions.create({ ...asked, n: 1, seed: 6, prompt: 'stop' });
    expect(choices[3]!.text).toBe(apart[0]!.text);
    expect(usage!.completion_tokens).toBe(12);
  });

  it('score a prompt in the form lm-evaluation-harness needs; continuing it keeps the scores', async () => {
    const score = async (max_tokens: number) => {
      const { choices } = await client.completions.create({
        ...{ ...greedy, max_tokens, prompt: [[...ids]], echo: true, logprobs: 2 },
      });
      return choices[0]!;
    };
    const { finish_reason, logprobs, text: echoed } = await score(0);
    expect(finish_reason).toBe('length');
    expect(logprobs!.tokens).toHaveLength(ids.length);
    expect(logprobs!.tokens!.join('')).toBe(echoed);
    expect(logprobs!.token_logprobs![0]).toBeNull();
    for (const [i, value] of logprobs!.token_logprobs!.slice(1).entries()) {
      const top = Object.values(logprobs!.top_logprobs![i + 1]!);
      expect(value).toBeLessThanOrEqual(Math.max(...top));
      expect(top.length).toBeLessThanOrEqual(2);
    }
    for (const [i, offset] of logprobs!.text_offset!.entries())
      expect(echoed.slice(offset).startsWith(logprobs!.tokens![i]!)).toBe(true);
    const continued = await score(1);
    expect(continued.logprobs!.token_logprobs!.slice(0, -1)).toEqual(logprobs!.token_logprobs);
    expect(continued.text.startsWith(echoed)).toBe(true);
  });

  it('stream the same text', async () => {
    const asked = { model, max_tokens: 8, seed: 3, n: 2, prompt: ['a', 'b'] };
    const whole = await client.completions.create(asked);
    const texts = ['', '', '', ''];
    const ends: (string | null)[] = [];
    const stream = await client.completions.create({
      ...{ ...asked, stream: true, stream_options: { include_usage: true } },
    });
    for await (const { choices, usage } of stream) {
      for (const { index, text: more } of choices) texts[index] += more;
      for (const { finish_reason } of choices) ends.push(finish_reason);
      if (choices.length === 0) expect(usage).toEqual(whole.usage);
    }
    expect(texts).toEqual(whole.choices.map(({ text: own }) => own));
    expect(ends.filter(Boolean)).toEqual(Array(4).fill('length'));
  });

  it('name the invalid field in the error', async () => {
    for (const [more, param] of [
      [{ prompt: undefined }, 'prompt'],
      [{ prompt: [] }, 'prompt'],
      [{ prompt: [1, 'a'] }, 'prompt'],
      [{ best_of: 3 }, 'best_of'],
      [{ suffix: 'end' }, 'suffix'],
      [{ logprobs: 21 }, 'logprobs'],
    ] as const) {
      const body = JSON.stringify({ model, prompt: 'a', ...more });
      const headers = { 'content-type': 'application/json' };
      const reply = await send(`${server.url}/completions`, { method: 'POST', headers, body });
      expect(reply.status, param).toBe(400);
      expect(JSON.parse(reply.body)).toMatchObject({ error: { param } });
    }
    expect((await client.completions.create({ ...greedy, prompt: 'a', suffix: '', best_of: 1 })).object).toBe(
      'text_completion',
    );
  });
});

it('embeddings are equal as floats and as base64, and differ between texts', async () => {
  const asked = { model, input: ['the cat', 'a dog'] };
  const plain = await client.embeddings.create({ ...asked, encoding_format: 'float' });
  const [cat, dog] = plain.data.map(({ embedding }) => embedding);
  expect(cat).not.toEqual(dog);
  expect(plain.usage.prompt_tokens).toBe(
    asked.input.reduce((sum, one) => sum + openTokenizer(path).encodeText(one).length, 0),
  );
  // The library asks for base64 and decodes it.
  const packed = await client.embeddings.create(asked);
  for (const [i, value] of packed.data[1]!.embedding.entries()) expect(value).toBeCloseTo(dog![i]!, 5);
  await expect(client.embeddings.create({ ...asked, dimensions: 3 })).rejects.toThrow('dimensions');
});

describe('responses', () => {
  it('give the same answer as a chat with the instructions as its system message', async () => {
    const [system, user] = ['Be brief.', 'Which parameters?'];
    const chat = await client.chat.completions.create({
      ...greedy,
      messages: [
        { role: 'system', content: system },
        { role: 'user', content: user },
      ],
    });
    const asked = { model, temperature: 0, max_output_tokens: 6, instructions: system };
    const whole = await client.responses.create({ ...asked, input: user });
    expect(whole.output_text).toBe(chat.choices[0]!.message.content);
    expect(whole).toMatchObject({
      ...{ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } },
      usage: { input_tokens: chat.usage!.prompt_tokens, output_tokens: 6 },
    });
    const content = [{ type: 'input_text' as const, text: user }];
    const inParts = await client.responses.create({ ...asked, input: [{ role: 'user', content }] });
    expect(inParts.output_text).toBe(whole.output_text);
    // The library checks the order of events.
    const stream = client.responses.stream({ ...asked, input: user });
    const types: string[] = [];
    stream.on('event', ({ type }) => types.push(type));
    expect((await stream.finalResponse()).output_text).toBe(whole.output_text);
    expect([types[0], types.at(-1)]).toEqual(['response.created', 'response.incomplete']);
    expect(types.filter((type) => type === 'response.output_text.delta').length).toBeGreaterThan(1);
  });

  it('reject previous_response_id', async () => {
    const asked = { model, input: 'a', previous_response_id: 'resp_1' };
    await expect(client.responses.create(asked)).rejects.toMatchObject({
      ...{ status: 400, param: 'previous_response_id' },
    });
  });
});

it('/props and the list of models give the context length', async () => {
  const root = new URL(server.url).origin;
  const { body } = await send(`${root}/props`);
  expect(JSON.parse(body)).toMatchObject({
    ...{ default_generation_settings: { n_ctx: 512 }, total_slots: 1, model_alias: 'tiny' },
  });
  const list = JSON.parse((await send(`${server.url}/models`)).body) as { data: object[] };
  expect(list.data[0]).toMatchObject({ id: 'tiny', max_model_len: 512, meta: { n_ctx_train: 1024 } });
});

it('a prompt that is too long gets context_length_exceeded, and an unknown model model_not_found', async () => {
  const long = { ...greedy, messages: [{ role: 'user' as const, content: 'word '.repeat(1_400_000) }] };
  await expect(client.chat.completions.create(long)).rejects.toMatchObject({
    ...{ status: 400, code: 'context_length_exceeded' },
  });
  const { status, body } = await post(server.url, { ...long, model: 'other' });
  expect(status).toBe(404);
  expect(JSON.parse(body)).toMatchObject({ error: { code: 'model_not_found' } });
});

it('responses and errors have a request id, and completions a system fingerprint', async () => {
  const ask = () => client.chat.completions.create({ ...greedy, messages: chatMessages }).withResponse();
  const [one, two] = [await ask(), await ask()];
  expect(one.request_id).toMatch(/^req_/);
  expect(one.request_id).not.toBe(two.request_id);
  expect(one.data.system_fingerprint).toBe('fp_test');
  const refused = client.completions.create({ model: 'other', prompt: 'a' });
  await expect(refused).rejects.toMatchObject({ requestID: expect.stringMatching(/^req_/) });
});
