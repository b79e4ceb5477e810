import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { UserError } from '../../../src/base/errors.js';
import type { OpenAIConfig } from '../../../src/models/settings.js';
import { parseParameters } from '../../../src/prompting/answer/parse.js';
import { createModel } from '../../../src/proposers/create-model.js';
import { ask } from '../../support/ask.js';
import { startFakeOpenAI } from '../../support/fake-openai.js';
import { type FakeServer, startFakeServer } from '../../support/fake-server.js';
import { failureOf, grammar, messages, openaiConfig, options, recordWaits } from '../model-configs.js';

const key = 'sk-test-0123456789abcdef';

async function start(
  given: Parameters<typeof startFakeOpenAI>[0],
  config: Partial<OpenAIConfig> = {},
  environment: Record<string, string> = {},
) {
  const server = await startFakeOpenAI(given);
  return { server, model: createModel(openaiConfig({ baseUrl: server.url, ...config }), environment) };
}

describe('the request', () => {
  it('contains the messages, the seed and only configured settings', async () => {
    const { server, model } = await start({ reply: () => 'ok' });
    await ask(model, messages, options);
    expect(server.requests[0]?.path).toBe('/v1/chat/completions');
    expect(server.requests[0]?.body).toEqual({ model: 'test-model', messages, seed: 11 });
  });

  it('prefers the options of the call to the configured options', async () => {
    const { server, model } = await start({ reply: () => 'ok' }, { temperature: 0.7, topP: 0.9 });
    const sampling = { temperature: 0, topK: 5, minP: 0.1, repetitionPenalty: 1.2 };
    await ask(model, messages, { ...options, sampling, maxTokens: 9 });
    expect(server.requests[0]?.body).toMatchObject({
      temperature: 0,
      top_p: 0.9,
      top_k: 5,
      min_p: 0.1,
      repetition_penalty: 1.2,
      max_tokens: 9,
    });
  });

  it('contains the extra fields of the config unless the call overrides them', async () => {
    const extra = { top_k: 20, chat_template_kwargs: { enable_thinking: false } };
    const { server, model } = await start({ reply: () => 'ok' }, { extra });
    await ask(model, messages, options);
    expect(server.requests[0]?.body).toEqual({ model: 'test-model', messages, seed: 11, ...extra });
    await ask(model, messages, { ...options, sampling: { topK: 5 } });
    expect(server.requests[1]?.body).toMatchObject({ ...extra, top_k: 5 });
  });

  it('leads to an error that names model.extra if the server refuses an extra field', async () => {
    const { model } = await start({ refuses: ['top_k'], reply: () => 'ok' }, { extra: { top_k: 20 } });
    await expect(ask(model, messages, options)).rejects.toThrow(/top_k.*set by model\.extra\.top_k/);
  });

  it('for the context length leaves no listener on the signal', async () => {
    const { model } = await start({ reply: () => 'ok' });
    const { signal } = new AbortController();
    await model.context!(signal);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('has no response_format if the caller gives no grammar', async () => {
    const { server, model } = await start({ reply: () => 'ok' }, { format: 'json' });
    await ask(model, messages, { seeds: [1] });
    expect(server.requests[0]?.body.response_format).toBeUndefined();
  });

  it('asks for a strict schema with the count and range if the format is json', async () => {
    const { server, model } = await start(
      { reply: () => '{"reason":"closer","params":[1.5,-2]}' },
      { format: 'json' },
    );
    const { text } = await ask(model, messages, options);
    expect(parseParameters(text, { count: 2, kind: 'float', low: -6, high: 6, decimals: 1 })).toEqual({
      ok: true,
      value: [1.5, -2],
    });
    expect(server.requests[0]?.body.response_format).toMatchObject({
      type: 'json_schema',
      json_schema: {
        strict: true,
        schema: {
          properties: {
            params: { minItems: 2, maxItems: 2, items: { type: 'number', minimum: -6, maximum: 6 } },
          },
        },
      },
    });
  });

  it('contains the API key, which is optional for a local server', async () => {
    const { server, model } = await start({ reply: () => 'ok' }, { apiKeyEnv: 'MY_KEY' }, { MY_KEY: key });
    await ask(model, messages, options);
    expect(server.requests[0]?.headers.authorization).toBe(`Bearer ${key}`);
    const keyless = createModel(openaiConfig({ baseUrl: server.url }), {});
    await ask(keyless, messages, options);
    expect(server.requests[1]?.headers.authorization).not.toContain('sk-');
  });

  it('goes to OPENAI_BASE_URL if the config gives no address', async () => {
    const { server } = await start({ reply: () => 'ok' });
    const model = createModel(openaiConfig(), { OPENAI_BASE_URL: server.url });
    await ask(model, messages, options);
    expect(server.counts.succeeded).toBe(1);
  });
});

describe('the completion', () => {
  it('has the token counts that the server reports', async () => {
    const { server, model } = await start({ reply: () => ({ text: 'one two', reasoningTokens: 7 }) });
    const { usage } = await ask(model, messages, options);
    const { promptTokens, cachedTokens, completionTokens, reasoningTokens } = server.counts;
    expect(usage).toEqual({ promptTokens, cachedTokens, completionTokens, reasoningTokens });
    expect(usage).toMatchObject({ completionTokens: 9, reasoningTokens: 7 });
  });

  const parts = [
    { type: 'thinking', thinking: [{ type: 'text', text: 'the thought' }] },
    { type: 'text', text: 'the ' },
    { type: 'text', text: 'answer' },
  ];
  it.each<[string, string | null, object]>([
    ['reasoning_content (DeepSeek, vLLM and llama.cpp)', 'the answer', { reasoning_content: 'the thought' }],
    ['reasoning (OpenRouter)', 'the answer', { reasoning: 'the thought' }],
    ['content parts (Mistral)', null, { content: parts }],
  ])('separates the answer from the reasoning in %s', async (_, text, message) => {
    const { model } = await start({ reply: () => ({ text, message: { ...message } }) });
    const completion = await ask(model, messages, options);
    expect(completion).toMatchObject({ text: 'the answer', reasoning: 'the thought' });
  });

  it('contains the text of a refusal', async () => {
    const { model } = await start({ reply: () => ({ text: null, message: { refusal: "I can't." } }) });
    expect((await ask(model, messages, options)).text).toBe("I can't.");
  });
});

describe('a group of completions', () => {
  it('takes one request and counts the tokens once', async () => {
    const { server, model } = await start({ reply: ({ choice }) => `reply ${choice}` });
    const group = await model.generate(messages, { grammar, seeds: [5, 6, 7] });
    expect(group.map(({ text }) => text)).toEqual(['reply 0', 'reply 1', 'reply 2']);
    expect(server.requests).toHaveLength(1);
    expect(server.requests[0]?.body).toMatchObject({ n: 3, seed: 5 });
    expect(group.map(({ usage }) => usage.promptTokens ?? 0)).toEqual([server.counts.promptTokens, 0, 0]);
    const completionTokens = group.map(({ usage }) => usage.completionTokens ?? 0);
    expect(completionTokens).toEqual([server.counts.completionTokens, 0, 0]);
  });

  it('is smaller if the server sends fewer choices', async () => {
    const { model } = await start({ reply: ({ choice }) => `reply ${choice}`, maxChoices: 1 });
    expect(await model.generate(messages, { grammar, seeds: [5, 6, 7] })).toHaveLength(1);
  });

  it('has one member if the server refuses n, which is then not sent again', async () => {
    const { server, model } = await start({ reply: () => 'alone', refuses: ['n'] });
    const [only] = await model.generate(messages, { grammar, seeds: [5, 6] });
    expect(only).toMatchObject({ text: 'alone', retries: 1 });
    await model.generate(messages, { grammar, seeds: [8, 9] });
    expect(server.requests.map(({ body }) => body.n)).toEqual([2, undefined, undefined]);
  });
});

describe('a server that refuses a seed', () => {
  it('gets no seed from then on, and the first completion has a warning', async () => {
    const { server, model } = await start({ reply: () => 'ok', refuses: ['seed'] });
    const first = await ask(model, messages, options);
    expect(first).toMatchObject({ text: 'ok', retries: 1 });
    expect(first.warnings?.[0]).toMatch(/accept a seed/);
    expect((await ask(model, messages, options)).retries).toBe(0);
    expect(server.requests.map(({ body }) => body.seed)).toEqual([11, undefined, undefined]);
  });
});

describe('a server that accepts only max_completion_tokens', () => {
  it('gets that field after it refuses max_tokens once', async () => {
    const { server, model } = await start(
      { reply: () => 'ok', refuses: ['max_tokens'], hint: "use 'max_completion_tokens' instead" },
      { maxTokens: 50 },
    );
    expect(await ask(model, messages, options)).toMatchObject({ text: 'ok', retries: 1 });
    expect(await ask(model, messages, options)).toMatchObject({ text: 'ok', retries: 0 });
    expect(server.requests.map(({ body }) => body.max_tokens)).toEqual([50, undefined, undefined]);
    expect(server.requests[2]?.body.max_completion_tokens).toBe(50);
  });
});

describe('format: auto', () => {
  const reply = () => '{"params": [1, 2], "reason": "so"}';
  const types = (server: FakeServer) =>
    server.requests.map(({ body }) => (body.response_format as { type: string } | undefined)?.type);

  it('requests a schema with the parameters first, as long as replies follow it', async () => {
    const replies = ['{"params": [1, 2], "reason": "so"}', 'Here you are: [1, 2]', 'params[0]: 1'];
    const { server, model } = await start({ reply: () => replies.shift()! }, { format: 'auto' });
    const formats: unknown[] = [];
    for (let i = 0; i < 3; i++) formats.push((await ask(model, messages, options)).format);
    expect(formats).toEqual(['json_schema', 'text', 'text']);
    expect(types(server)).toEqual(['json_schema', 'json_schema', undefined]);
    expect(JSON.stringify(server.requests[0]!.body.response_format)).toMatch(
      /"properties":{"params":.*"enum":\[-6,-5\.9,.*"reason":{"type":"string","maxLength":300}/,
    );
  });

  it.each([
    ['{"params": [1, 2], "reas', 'json_schema'],
    ['<think>So {"params"', 'json_schema'],
    ['', 'json_schema'],
    ['To improve the return, ', undefined],
  ])('judges a truncated reply by its beginning: %j', async (text, expected) => {
    const { server, model } = await start(
      { reply: () => ({ text, finishReason: 'length' }) },
      { format: 'auto' },
    );
    for (let i = 0; i < 2; i++) await ask(model, messages, options);
    expect(types(server)).toEqual(['json_schema', expected]);
  });

  it('falls back by one step even if several concurrent calls are refused', async () => {
    const refuses = (type: string) => ({
      status: 400,
      body: { error: { message: `response_format ${type} is unavailable` } },
    });
    const server = await startFakeServer({
      faults: undefined,
      empty: {},
      answer: ({ body }) =>
        JSON.stringify(body.response_format).includes('json_schema')
          ? refuses('json_schema')
          : { status: 200, body: { choices: [{ message: { content: reply() }, finish_reason: 'stop' }] } },
    });
    const model = createModel(openaiConfig({ baseUrl: `${server.url}/v1`, format: 'auto' }), {});
    const all = await Promise.all(
      [1, 2, 3, 4].map((seed) => ask(model, messages, { grammar, seeds: [seed] })),
    );
    expect(all.map(({ format }) => format)).toEqual(Array(4).fill('json_object'));
  });

  it.each([{ n: 2 }, { response_format: { type: 'json_object' } }])(
    'never drops fields of model.extra: %j',
    async (extra) => {
      const refusal = { status: 400, body: { error: { message: 'bad request' } } };
      const server = await startFakeServer({ faults: undefined, empty: {}, answer: () => refusal });
      const settings = { baseUrl: `${server.url}/v1`, format: 'auto', extra } as const;
      const model = createModel(openaiConfig(settings), {});
      await expect(ask(model, messages, { ...options, seeds: [1] })).rejects.toThrow('bad request');
      expect(server.requests.length).toBeLessThan(4);
      expect(server.requests.every(({ body }) => Object.keys(extra)[0]! in body)).toBe(true);
    },
  );

  it('is suggested if the server refuses format: json', async () => {
    const { model } = await start({ reply, refuses: ['response_format'] }, { format: 'json' });
    await expect(ask(model, messages, options)).rejects.toThrow('set model.format=auto');
  });
});

describe('a base URL without a version', () => {
  it('gets /v1 appended if it is not found', async () => {
    const server = await startFakeOpenAI({ reply: () => 'ok' });
    const model = createModel(openaiConfig({ baseUrl: server.url.replace('/v1', '/') }), {});
    for (let i = 0; i < 2; i++) expect((await ask(model, messages, options)).text).toBe('ok');
    const paths = server.requests.map(({ path }) => path);
    expect(paths).toEqual(['/chat/completions', '/v1/chat/completions', '/v1/chat/completions']);
  });

  it('is reported with the attempted /v1 address if that is not found either', async () => {
    const server = await startFakeServer({
      faults: undefined,
      empty: {},
      answer: () => ({ status: 404, body: { detail: 'Not Found' } }),
    });
    const call = ask(createModel(openaiConfig({ baseUrl: `${server.url}/api` }), {}), messages, options);
    await expect(call).rejects.toThrow(
      `Not Found; check model.name and model.baseUrl (tried: ${server.url}/api and ${server.url}/api/v1)`,
    );
  });
});

describe('the openai provider', () => {
  it('reports a missing API key with its variable, field and hint', () => {
    const create = () => createModel(openaiConfig({ apiKeyEnv: 'MY_KEY' }), { OPENAI_API_KEY: key });
    expect(create).toThrow(/model\.apiKeyEnv: .*MY_KEY is not set[\s\S]*hint: export MY_KEY=/);
  });

  it.each(['http://localhost:8000/v1', 'http://127.0.0.1:1/v1', 'http://[::1]:8000/v1'])(
    'requires no API key for %s',
    (baseUrl) => {
      expect(createModel(openaiConfig({ baseUrl }), {}).id).toBe('openai/test-model');
    },
  );

  it.each(['https://api.example.com/v1', 'http://localhost.example.com/v1', 'http://192.168.0.2:8000/v1'])(
    'requires an API key for %s',
    (baseUrl) => {
      expect(() => createModel(openaiConfig({ baseUrl }), {})).toThrow(UserError);
    },
  );

  it('rejects an invalid API key without showing it', () => {
    const secret = 'two words';
    try {
      createModel(openaiConfig(), { OPENAI_API_KEY: secret });
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(UserError);
      expect(String(error)).toContain('OPENAI_API_KEY');
      expect(String(error)).not.toContain(secret);
    }
  });

  it.each([
    'https://a.example/v1?api_key=abc',
    'https://a.example/v1#sk-abc',
    'https://a.example/sk-proj-a1b2c3d4e5f6/v1',
    'https://a.example/key/abc/v1',
    'https://a.example/v1/Zm9vYmFyMTIzNDU2Nzg5MGFi',
    'https://a.example/bot123:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw/v1',
    'https://a.example/v1;token=abc',
  ])('rejects a key in the base URL %s, and accepts ids', (OPENAI_BASE_URL) => {
    const create = () => createModel(openaiConfig(), { OPENAI_API_KEY: key, OPENAI_BASE_URL });
    expect(create).toThrow(/appears to contain a key in its path/);
    for (const path of [
      'client/v4/accounts/0123456789abcdef0123456789abcdef/ai/v1',
      'openai/deployments/Meta-Llama-3-1-8B-Instruct-2024-11-20?api-version=2024-10-21',
      'v1/123e4567-e89b-12d3-a456-426614174000/hf-inference/gpt-4o',
    ])
      createModel(openaiConfig(), { OPENAI_API_KEY: key, OPENAI_BASE_URL: `https://a.example/${path}` });
  });

  it('rejects an invalid base URL', () => {
    const create = () => createModel(openaiConfig(), { OPENAI_API_KEY: key, OPENAI_BASE_URL: 'my-server' });
    expect(create).toThrow(/model\.baseUrl: OPENAI_BASE_URL/);
  });

  it('redacts an API key that the server repeats in an error', async () => {
    const wrong = 'private-key-of-unusual-form';
    const { model } = await start({ reply: () => 'ok', apiKey: 'another' }, {}, { OPENAI_API_KEY: wrong });
    const error = await failureOf(ask(model, messages, options));
    expect(error).toMatchObject({ kind: 'authentication', fatal: true });
    expect(error.message).toContain(
      'Incorrect API key provided: [redacted]; check the key in OPENAI_API_KEY',
    );
    expect(error.message).not.toContain(wrong);
  });

  it('names the model and the address if the model does not exist', async () => {
    const { server, model } = await start({ reply: () => 'ok', models: ['other'] });
    const error = await failureOf(ask(model, messages, options));
    expect(error).toMatchObject({ kind: 'not-found', fatal: true });
    expect(error.message).toContain('The model `test-model` does not exist');
    expect(error.message).toContain(server.url);
  });

  it('names the address if nothing listens there', async () => {
    const { server } = await start({ reply: () => 'ok' });
    await server.close();
    const { wait, waits } = recordWaits();
    const model = createModel(openaiConfig({ baseUrl: server.url, maxRetries: 1 }), {}, wait);
    const error = await failureOf(ask(model, messages, options));
    expect(error).toMatchObject({ kind: 'network', retries: 1 });
    expect(error.message).toContain(
      `no answer from ${server.url}/chat/completions: nothing is listening there`,
    );
    expect(waits).toHaveLength(1);
  });
});
