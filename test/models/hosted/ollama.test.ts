import { describe, expect, it } from 'vitest';
import { parseHost } from '../../../src/models/hosted/ollama.js';
import type { ChatMessage } from '../../../src/models/language-model.js';
import type { OllamaConfig } from '../../../src/models/settings.js';
import { createModel } from '../../../src/proposers/create-model.js';
import { ask } from '../../support/ask.js';
import { startFakeOllama } from '../../support/fake-ollama.js';
import { failureOf, grammar, messages, ollamaConfig, options, recordWaits } from '../model-configs.js';

async function start(given: Parameters<typeof startFakeOllama>[0], config: Partial<OllamaConfig> = {}) {
  const server = await startFakeOllama(given);
  return { server, model: createModel(ollamaConfig({ host: server.url, ...config }), {}) };
}

/** A prompt with this many lines of history. */
function history(lines: number): readonly ChatMessage[] {
  const line = 'params[0]: 1.5, params[1]: -0.3, params[2]: 4.0; f(params): 217.45\n';
  return [messages[0]!, { role: 'user', content: line.repeat(lines) }];
}

describe('format: auto', () => {
  const reply = () => '{"params": [1, 2], "reason": "so"}';

  it('sends a schema that lists the allowed numbers, and asks for a short reason after them', async () => {
    const { server, model } = await start({ reply }, { format: 'auto' });
    expect((await ask(model, messages, options)).format).toBe('json_schema');
    const { properties } = server.requests[0]!.body.format as { properties: Record<string, object> };
    expect(Object.keys(properties)).toEqual(['params', 'reason']);
    expect(properties).toMatchObject({
      params: { items: { enum: expect.arrayContaining([-6, -0.1, 6]) as unknown } },
      reason: { maxLength: 300 },
    });
  });

  it("doesn't constrain replies if the config, the capabilities or the first reply show that the model thinks", async () => {
    const thinking = { text: 'params[0]: 1, params[1]: 2', thinking: 'hm' };
    for (const format of ['auto', 'json'] as const) {
      const { model, server } = await start({ reply }, { format, think: true });
      await ask(model, messages, options);
      expect(server.requests[0]!.body.format).toBeUndefined();
    }
    const shown = await start({ reply, thinks: true }, { format: 'auto' });
    await shown.model.context!();
    expect((await ask(shown.model, messages, options)).format).toBe('text');
    const silent = await start({ reply: () => thinking }, { format: 'auto' });
    expect((await ask(silent.model, messages, options)).format).toBe('json_schema');
    expect((await ask(silent.model, messages, options)).format).toBe('text');
  });

  it('falls back to text if the server fails on the schema', async () => {
    const { server, model } = await start({ reply, refusesSchema: true }, { format: 'auto' });
    expect((await ask(model, messages, options)).format).toBe('text');
    await ask(model, messages, options);
    expect(server.requests.map(({ body }) => body.format === undefined)).toEqual([false, true, true]);
  });
});

it.each([
  ['{{ .Prompt }}', true],
  ['{{ if .System }}{{ .System }}{{ end }}{{ .Prompt }}', false],
  ['{{ range .Messages }}{{ .Content }}{{ end }}', false],
])('a warning is given only if the template drops the system message: %s', async (template, isBad) => {
  const { model } = await start({ reply: () => 'ok', template });
  const context = await model.context!();
  expect(context).toEqual({ tokens: 131_072, ...(isBad && { warning: expect.any(String) as string }) });
  const { warnings = [] } = await ask(model, messages, options);
  expect(warnings).toEqual(
    isBad ? [expect.stringMatching(/\.System.*Modelfile.*ollama show/) as string] : [],
  );
});

describe('the request', () => {
  it('contains the messages, the seed and the limits', async () => {
    const { server, model } = await start({ reply: () => 'ok' });
    await ask(model, messages, options);
    expect(server.requests[0]?.body).toEqual({
      model: 'test-model',
      messages,
      stream: false,
      truncate: false,
      shift: false,
      options: { num_ctx: 6144, num_predict: 4096, seed: 11, repeat_penalty: 1 },
    });
  });

  it('contains the configured settings', async () => {
    const { server, model } = await start(
      { reply: () => 'ok' },
      {
        think: 'low',
        keepAlive: '-1',
        temperature: 0.5,
        topP: 0.8,
        topK: 40,
        minP: 0.05,
        repetitionPenalty: 1.1,
        maxTokens: 100,
        contextTokens: 1000,
      },
    );
    await ask(model, messages, options);
    expect(server.requests[0]?.body).toMatchObject({
      think: 'low',
      keep_alive: -1,
      options: {
        num_ctx: 1000,
        num_predict: 100,
        temperature: 0.5,
        top_p: 0.8,
        top_k: 40,
        min_p: 0.05,
        repeat_penalty: 1.1,
      },
    });
  });

  it('lists the numbers of a small grid, but gives bounds for a large grid', async () => {
    const { server, model } = await start({ reply: () => 'ok' }, { format: 'json' });
    const wide = { ...grammar, number: { low: -60, high: 60, decimals: 3 } };
    await ask(model, messages, options);
    await ask(model, messages, { ...options, grammar: wide });
    const [listed, bounded] = server.requests.map(({ body }) => {
      const { properties } = body.format as { properties: { params: { items: { enum?: number[] } } } };
      return properties.params.items;
    });
    expect(listed!.enum).toHaveLength(121);
    expect(bounded).toEqual({ type: 'number', minimum: -60, maximum: 60 });
  });

  it.each([
    ['127.0.0.1:PORT', 'no scheme'],
    ['0.0.0.0:PORT', 'the address a server binds to'],
    [':PORT', 'the port alone'],
    ['http://localhost:PORT/', 'a path'],
  ])('goes to OLLAMA_HOST=%s (%s)', async (host) => {
    const { server } = await start({ reply: () => 'ok' });
    const OLLAMA_HOST = host.replace('PORT', new URL(server.url).port);
    const model = createModel(ollamaConfig(), { OLLAMA_HOST });
    expect((await ask(model, messages, options)).text).toBe('ok');
  });

  // Expected results: Ollama's envconfig.Host.
  it.each([
    ['"127.0.0.1:8080"', 'http://127.0.0.1:8080'],
    ["' http://gpu:8080 '", 'http://gpu:8080'],
    ['::1', 'http://[::1]:11434'],
    ['[::1]', 'http://[::1]:11434'],
    ['[::1]:8080', 'http://[::1]:8080'],
    ['http://[::1]', 'http://[::1]'],
    ['gpu', 'http://gpu:11434'],
    ['gpu:80', 'http://gpu'],
    ['gpu/behind', 'http://gpu:11434'],
    ['http://gpu', 'http://gpu'],
    ['https://gpu', 'https://gpu'],
    [':8080', 'http://127.0.0.1:8080'],
    ['', 'http://127.0.0.1:11434'],
    ['""', 'http://127.0.0.1:11434'],
    ['me:word@::1', 'http://[::1]:11434'],
    ['me:word@gpu', 'http://gpu:11434'],
  ])('goes to the address that Ollama derives from OLLAMA_HOST=%s', (OLLAMA_HOST, origin) => {
    expect(parseHost({ host: undefined }, { OLLAMA_HOST }).origin).toBe(origin);
  });

  it.each(['gpu:port', 'gpu:99999', 'ftp://gpu', 'http://', 'a b'])(
    'is impossible with OLLAMA_HOST=%s',
    (OLLAMA_HOST) => {
      expect(() => parseHost({ host: undefined }, { OLLAMA_HOST })).toThrow(
        /OLLAMA_HOST is not a valid address/,
      );
    },
  );
});

describe('the context window', () => {
  it('grows with the prompt in steps of 2048 tokens and never shrinks', async () => {
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

  it.each([1, 40, 400])('fits a prompt with %i lines of history without a warning', async (lines) => {
    const { server, model } = await start({ reply: () => 'ok' });
    const completion = await ask(model, history(lines), options);
    expect(completion.warnings).toBeUndefined();
    const { num_ctx } = server.requests[0]!.body.options as { num_ctx: number };
    expect(completion.usage.promptTokens! + 4096).toBeLessThanOrEqual(num_ctx);
  });

  it('leads to a warning if the server reads fewer tokens than were sent', async () => {
    const { model } = await start({ reply: () => 'ok', contextTokens: 2048 });
    const { warnings, usage } = await ask(model, history(400), options);
    expect(usage.promptTokens).toBe(2048);
    expect(warnings).toHaveLength(1);
    expect(warnings?.[0]).toMatch(/read 2048 tokens of a prompt that has at least \d+: it cut the prompt/);
    expect(warnings?.[0]).toMatch(/memory\.tokens/);
  });
});

describe('a limited context window', () => {
  it("equals the model's own for all calls once the server has reported it", async () => {
    const { server, model } = await start({ reply: () => 'ok', contextTokens: 8000, strict: true });
    expect(await model.context!()).toEqual({ tokens: 8000 });
    model.expect!(5000);
    for (const lines of [1, 20, 40, 1]) await ask(model, history(lines), options);
    const asked = server.requests.filter(({ path }) => path === '/api/chat');
    const windows = asked.map(({ body }) => (body.options as { num_ctx: number }).num_ctx);
    expect(new Set(windows)).toEqual(new Set([8000]));
    await model.context!();
    expect(server.requests.filter(({ path }) => path === '/api/show')).toHaveLength(1);
  });

  it('causes a non-fatal error with a hint if the prompt is too long', async () => {
    const { model } = await start({ reply: () => 'ok', strict: true }, { contextTokens: 600 });
    const error = await failureOf(ask(model, history(100), options));
    expect(error).toMatchObject({ kind: 'too-long', fatal: false, retries: 0 });
    expect(error.message).toMatch(/exceeds the context length.*600.*memory\.tokens/);
  });

  it.each([
    // Bounds by the text alone can't tell: they lie at two thirds of what a tokenizer makes of digits.
    [{ promptTokens: 600 }, /which is its whole context window/],
    [{ promptTokens: 560, completionTokens: 60 }, /dropped part of the prompt during the reply/],
  ])('leads to a prompt-cut fault for the token counts %j', async (counts, warning) => {
    const { model } = await start({ reply: () => ({ text: 'x', ...counts }) }, { contextTokens: 600 });
    const { faults, warnings } = await ask(model, history(20), options);
    expect(faults).toContain('prompt-cut');
    expect(warnings?.[0]).toMatch(warning);
  });

  it.each([
    { promptTokens: 599 },
    { promptTokens: 560, completionTokens: 40 },
    // The last token of a reply takes no room.
    { promptTokens: 560, completionTokens: 41 },
  ])('leads to no fault if the token counts fit (%j)', async (counts) => {
    const { model } = await start({ reply: () => ({ text: 'x', ...counts }) }, { contextTokens: 600 });
    expect((await ask(model, history(20), options)).faults).toBeUndefined();
  });

  it('leads to a warning if it ends a reply early', async () => {
    const counts = { promptTokens: 560, completionTokens: 41, doneReason: 'length' };
    const { model } = await start({ reply: () => ({ text: 'x', ...counts }) }, { contextTokens: 600 });
    const { faults, warnings } = await ask(model, history(20), options);
    expect(faults).toBeUndefined();
    expect(warnings?.[0]).toMatch(/full before the reply was complete/);
  });
});

describe('the completion', () => {
  it('separates thinking from the answer and counts the tokens of both', async () => {
    const { server, model } = await start({
      reply: () => ({ text: 'params[0]: 1.0', thinking: 'hm, why not' }),
    });
    const completion = await ask(model, messages, options);
    expect(completion).toMatchObject({ text: 'params[0]: 1.0', reasoning: 'hm, why not' });
    const { promptTokens, completionTokens } = server.counts;
    expect(completion.usage).toMatchObject({ promptTokens, completionTokens });
    expect(completion.usage.unreported).toBeUndefined();
    // By its share of the text: the server counts both together.
    expect(completion.usage.reasoningTokens).toBeGreaterThan(0);
    expect(completion.usage.reasoningTokens).toBeLessThan(completionTokens);
  });

  it('has a loop fault if the server aborted it for repetition', async () => {
    const { model } = await start({ reply: () => ({ text: ' the'.repeat(31), aborted: true }) });
    const { faults, finishReason, usage } = await ask(model, messages, options);
    expect(faults).toEqual(['loop']);
    expect(finishReason).toBe('other');
    expect(usage.unreported!.completionTokens).toBeGreaterThanOrEqual(31);
  });
});

describe('an error message', () => {
  it('says how to pull a missing model', async () => {
    const { model } = await start({ reply: () => 'ok', models: ['llama3'] }, { name: 'qwen3:8b' });
    const error = await failureOf(ask(model, messages, options));
    expect(error).toMatchObject({ kind: 'not-found', fatal: true });
    expect(error.message).toContain('`ollama pull qwen3:8b`');
  });

  it("suggests checking model.host if the server doesn't know the path", async () => {
    const { server } = await start({ reply: () => 'ok' });
    const model = createModel(ollamaConfig({ host: `${server.url}/wrong` }), {});
    const error = await failureOf(ask(model, messages, options));
    expect(error).toMatchObject({ kind: 'not-found' });
    expect(error.message).toContain('check model.host');
  });

  it('says how to start a server that is down, without the password in its address', async () => {
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
