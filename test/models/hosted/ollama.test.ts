import { afterEach, describe, expect, it } from 'vitest';
import { UserError } from '../../../src/base/errors.js';
import { createModel } from '../../../src/experiment/create-model.js';
import type { ChatMessage, ModelError } from '../../../src/models/language-model.js';
import type { OllamaConfig } from '../../../src/models/settings.js';
import { ask } from '../../support/ask.js';
import { startFakeOllama } from '../../support/fake-ollama.js';
import type { FakeServer } from '../../support/fake-server.js';
import { messages, ollamaConfig, options, recordWaits } from '../model-configs.js';

const servers: FakeServer[] = [];
afterEach(() => Promise.all(servers.splice(0).map((server) => server.close())));

async function start(given: Parameters<typeof startFakeOllama>[0], config: Partial<OllamaConfig> = {}) {
  const server = await startFakeOllama(given);
  servers.push(server);
  return { server, model: createModel(ollamaConfig({ host: server.url, ...config }), {}) };
}

const failureOf = (call: Promise<unknown>): Promise<ModelError> =>
  call.then(
    () => expect.unreachable(),
    (error: ModelError) => error,
  );

/** A prompt with so many lines of history. */
function history(lines: number): readonly ChatMessage[] {
  const line = 'params[0]: 1.5, params[1]: -0.3, params[2]: 4.0; f(params): 217.45\n';
  return [messages[0]!, { role: 'user', content: line.repeat(lines) }];
}

it('takes what the call asks for in place of what was configured', async () => {
  const { server, model } = await start({ reply: () => 'ok' }, { temperature: 0.7, topP: 0.9 });
  const sampling = { temperature: 0, topK: 5, minP: 0.1, repetitionPenalty: 1.2 };
  await ask(model, messages, { ...options, sampling, stop: ['END'], maxTokens: 9 });
  expect(server.requests[0]?.body.options).toMatchObject({
    temperature: 0,
    top_p: 0.9,
    top_k: 5,
    min_p: 0.1,
    repeat_penalty: 1.2,
    stop: ['END'],
    num_predict: 9,
  });
});

describe('the request', () => {
  it('holds the messages, the seed and the limits', async () => {
    const { server, model } = await start({ reply: () => 'ok' });
    await ask(model, messages, options);
    expect(server.requests[0]?.body).toEqual({
      model: 'test-model',
      messages,
      stream: false,
      options: { num_ctx: 6144, num_predict: 4096, seed: 11 },
    });
  });

  it('holds what was configured', async () => {
    const { server, model } = await start(
      { reply: () => 'ok' },
      {
        think: 'low',
        keepAlive: '10m',
        temperature: 0.5,
        topP: 0.8,
        maxTokens: 100,
        contextTokens: 1000,
        format: 'json',
      },
    );
    await ask(model, messages, options);
    expect(server.requests[0]?.body).toMatchObject({
      think: 'low',
      keep_alive: '10m',
      options: { num_ctx: 1000, num_predict: 100, temperature: 0.5, top_p: 0.8 },
      format: { type: 'object', properties: { params: { minItems: 2, maxItems: 2 } } },
    });
  });

  it.each([
    ['127.0.0.1:PORT', 'no scheme'],
    ['0.0.0.0:PORT', 'the address a server binds to'],
    [':PORT', 'the port alone'],
    ['http://localhost:PORT/', 'a path'],
  ])('goes to the address of OLLAMA_HOST=%s (%s)', async (host) => {
    const { server } = await start({ reply: () => 'ok' });
    const OLLAMA_HOST = host.replace('PORT', new URL(server.url).port);
    const model = createModel(ollamaConfig(), { OLLAMA_HOST });
    expect((await ask(model, messages, options)).text).toBe('ok');
  });

  it('refuses an address that is none', () => {
    const create = () => createModel(ollamaConfig(), { OLLAMA_HOST: 'http://' });
    expect(create).toThrow(UserError);
    expect(create).toThrow(/model\.host: OLLAMA_HOST/);
  });
});

describe('the context window', () => {
  it('fits the prompt and the longest answer, and only ever grows', async () => {
    const { server, model } = await start({ reply: () => 'ok' });
    const windows: number[] = [];
    for (const lines of [1, 200, 200, 400, 1]) {
      await ask(model, history(lines), options);
      windows.push((server.requests.at(-1)!.body.options as { num_ctx: number }).num_ctx);
    }
    expect(windows.every((tokens) => tokens % 2048 === 0)).toBe(true);
    expect(windows).toEqual(windows.toSorted((a, b) => a - b));
    expect(windows[1]).toBe(windows[2]);
    expect(windows[3]).toBeGreaterThan(windows[2]!);
    expect(windows[4]).toBe(windows[3]);
  });

  it.each([1, 40, 400])('holds a prompt with %i lines of history without a warning', async (lines) => {
    const { server, model } = await start({ reply: () => 'ok' });
    const completion = await ask(model, history(lines), options);
    expect(completion.warnings).toBeUndefined();
    const { num_ctx } = server.requests[0]!.body.options as { num_ctx: number };
    expect(completion.usage.promptTokens! + 4096).toBeLessThanOrEqual(num_ctx);
  });

  it('warns when the server read less than was sent, because the model can hold no more', async () => {
    const { model } = await start({ reply: () => 'ok', contextTokens: 2048 });
    const { warnings, usage } = await ask(model, history(400), options);
    expect(usage.promptTokens).toBe(2048);
    expect(warnings).toHaveLength(1);
    expect(warnings?.[0]).toMatch(/read 2048 tokens of a prompt that has at least \d+: it cut the prompt/);
    expect(warnings?.[0]).toMatch(/memory\.tokens/);
  });

  it('warns when the configured window is too small', async () => {
    const { model } = await start({ reply: () => 'ok' }, { contextTokens: 600 });
    const { warnings } = await ask(model, history(100), options);
    expect(warnings?.[0]).toMatch(/context window asked for: 600/);
  });
});

describe('the completion', () => {
  it('has thinking apart from the answer, and the tokens of both', async () => {
    const { server, model } = await start({
      reply: () => ({ text: 'params[0]: 1.0', thinking: 'hm, why not' }),
    });
    const completion = await ask(model, messages, options);
    expect(completion).toMatchObject({ text: 'params[0]: 1.0', reasoning: 'hm, why not' });
    const { promptTokens, completionTokens } = server.counts;
    expect(completion.usage).toEqual({ promptTokens, completionTokens });
  });

  it.each([
    ['stop', 'stop'],
    ['length', 'length'],
    ['load', 'other'],
  ])('maps the done reason %s to %s', async (doneReason, expected) => {
    const { model } = await start({ reply: () => ({ text: 'x', doneReason }) });
    expect((await ask(model, messages, options)).finishReason).toBe(expected);
  });
});

describe('what the user is told', () => {
  it('how to get a model that is not there', async () => {
    const { model } = await start({ reply: () => 'ok', models: ['llama3'] }, { name: 'qwen3:8b' });
    const error = await failureOf(ask(model, messages, options));
    expect(error).toMatchObject({ kind: 'not-found', fatal: true });
    expect(error.message).toContain('`ollama pull qwen3:8b`');
  });

  it('that another server is there', async () => {
    const { server } = await start({ reply: () => 'ok' });
    const model = createModel(ollamaConfig({ host: `${server.url}/wrong` }), {});
    const error = await failureOf(ask(model, messages, options));
    expect(error).toMatchObject({ kind: 'not-found' });
    expect(error.message).toContain('check model.host');
  });

  it('how to start a server that is not there, without the password of its address', async () => {
    const { server } = await start({ reply: () => 'ok' });
    await server.close();
    const { wait } = recordWaits();
    const OLLAMA_HOST = server.url.replace('http://', 'http://me:secret-word@');
    const model = createModel(ollamaConfig({ maxRetries: 1 }), { OLLAMA_HOST }, wait);
    const error = await failureOf(ask(model, messages, options));
    expect(error).toMatchObject({ kind: 'network', retries: 1, fatal: false });
    expect(error.message).toContain('`ollama serve`');
    expect(error.message).not.toContain('secret-word');
  });
});
