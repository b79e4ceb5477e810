/** Every kind of failure of a provider, and how the real clients classify and handle it. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { type Wait, waitOnClock } from '../../src/models/hosted/retry.js';
import {
  type Completion,
  isFatal,
  type LanguageModel,
  ModelError,
  type ModelErrorKind,
} from '../../src/models/language-model.js';
import { endsInLoop } from '../../src/models/reply-faults.js';
import { createModel } from '../../src/proposers/create-model.js';
import { ask } from '../support/ask.js';
import { startFakeOllama } from '../support/fake-ollama.js';
import { startFakeOpenAI } from '../support/fake-openai.js';
import { listening } from '../support/fake-server.js';
import { messages, ollamaConfig, openaiConfig, options, recordWaits } from './model-configs.js';

const answer = 'params[0]: 1.0, params[1]: 2.0';
type Json = Record<string, unknown>;

/** A valid answer of either API with some parts changed. */
const chat = (choice: Json = {}, usage: unknown = { prompt_tokens: 30, completion_tokens: 12 }): Json => ({
  choices: [{ index: 0, message: { role: 'assistant', content: answer }, finish_reason: 'stop', ...choice }],
  usage,
});
const ollama = (changes: Json = {}): Json => ({
  message: { role: 'assistant', content: answer },
  done: true,
  done_reason: 'stop',
  prompt_eval_count: 30,
  eval_count: 12,
  ...changes,
});

interface Sent {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  readonly body?: Json | string;
  readonly answer?: (request: IncomingMessage, response: ServerResponse) => void;
}

/** A server that sends these responses in order, and repeats the last one. */
async function serve(script: readonly Sent[]) {
  let requests = 0;
  const { url } = await listening((request, response) => {
    request.resume();
    request.on('end', () => {
      const { status = 200, headers, body = '', answer: own } = script[requests++] ?? script.at(-1)!;
      if (own !== undefined) return own(request, response);
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(typeof body === 'string' ? body : JSON.stringify(body));
    });
  });
  return { url, requests: () => requests };
}

const providers = [
  {
    name: 'openai',
    fake: startFakeOpenAI,
    good: chat(),
    model: (url: string, policy: object, wait?: Wait) =>
      createModel(openaiConfig({ baseUrl: `${url}/v1`, ...policy }), {}, wait),
  },
  {
    name: 'ollama',
    fake: startFakeOllama,
    good: ollama(),
    model: (url: string, policy: object, wait?: Wait) =>
      createModel(ollamaConfig({ host: url, ...policy }), {}, wait),
  },
] as const;

const attempt = (model: LanguageModel) =>
  ask(model, messages, options).then(
    (completion) => completion,
    (error: unknown) => error,
  );

const inTheMiddle =
  (end: (response: ServerResponse) => void) => (_: IncomingMessage, response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': 5000 });
    response.write('{"choices": [{"mess', () => end(response));
  };

const filtered = 'content-filter';
const refused = (message: string, code: unknown, status = 400): Sent => ({
  status,
  body: { error: { message, code } },
});
const failures: readonly (readonly [name: string, sent: Sent, kind: string, retried: boolean])[] = [
  ['429 without Retry-After', { status: 429, body: { error: { message: 'slow down' } } }, 'rate-limit', true],
  ['500', { status: 500, body: {} }, 'server', true],
  ['503', { status: 503, body: '' }, 'server', true],
  ['529 overloaded', { status: 529, body: { error: 'overloaded' } }, 'server', true],
  ['504 with a page', { status: 504, body: '<html><title>Gateway Time-out</title>' }, 'server', true],
  ['a reset in the body', { answer: inTheMiddle((r) => r.socket?.resetAndDestroy()) }, 'cut', true],
  ['a body that ends too early', { answer: inTheMiddle((r) => r.destroy()) }, 'cut', true],
  ['a reset before the answer', { answer: (_, r) => r.socket?.resetAndDestroy() }, 'cut', true],
  ['JSON that breaks off', { body: '{"choices": [{"message": {"content": "par' }, 'malformed', true],
  ['no body', { body: '' }, 'malformed', true],
  ['a page', { headers: { 'content-type': 'text/html' }, body: '<HTML><title>Sign in' }, 'html', true],
  ['a page after a comment', { body: '<!-- proxy --><html>' }, 'html', true],
  ['JSON of another shape', { body: { choices: 'none', message: [] } }, 'malformed', true],
  ['a JSON number', { body: '7' }, 'malformed', true],
  ['null', { body: 'null' }, 'malformed', true],
  ['Azure', refused('filtered', 'content_filter'), filtered, false],
  ['OpenAI', refused('Your prompt was flagged as potentially violating', 'invalid_prompt'), filtered, false],
  ['DeepSeek', refused('Content Exists Risk', 'invalid_request_error'), filtered, false],
  ['Alibaba', refused('Input may contain inappropriate content', 'data_inspection_failed'), filtered, false],
  [
    'xAI',
    { status: 403, body: { code: 'no permission', error: 'Content violates usage guidelines' } },
    filtered,
    false,
  ],
  ['OpenRouter', refused('requires moderation and your input was flagged', 403, 403), filtered, false],
  ['legal reasons', { status: 451, body: '' }, filtered, false],
  ['no quota', { status: 429, body: { error: { code: 'insufficient_quota' } } }, 'authentication', false],
  ...Object.entries({
    'bad-request': [400, 422],
    authentication: [401, 402, 403],
    'not-found': [404],
    'too-long': [413],
  }).flatMap(([kind, all]) =>
    all.map((status) => [`${status}`, refused('why', undefined, status), kind, false] as const),
  ),
];

describe.each(providers)('$name', ({ fake, good, model }) => {
  it.each(failures)(
    'classifies failures and prompts that a content filter blocked, and retries only transient failures: %s',
    async (_, sent, kind, retried) => {
      const { wait } = recordWaits();
      const recovering = await serve([sent, { body: good }]);
      const first = await attempt(model(recovering.url, {}, wait));
      if (retried) {
        expect(first).toMatchObject({ text: answer, retries: 1, failedTries: [kind] });
        const broken = await serve([sent]);
        const error = await attempt(model(broken.url, { maxRetries: 1 }, wait));
        expect(error).toMatchObject({ kind, retries: 1, failedTries: [kind], fatal: false });
        expect((error as Error).message).toMatch(/ \(after 1 retry\)$/);
        expect(broken.requests()).toBe(2);
      } else {
        const fatal = isFatal(kind as ModelErrorKind);
        expect(first).toMatchObject({ kind, retries: 0, failedTries: [], fatal });
        expect(recovering.requests()).toBe(1);
      }
    },
  );

  it('counts the same tokens and retries as a server with a fault rate of 30 %', async () => {
    const server = await fake({ reply: () => answer, faults: { rate: 0.3, seed: 5 } });
    const opened = model(server.url.replace(/\/v1$/, ''), { maxRetries: 10 }, async () => {});
    const totals = { promptTokens: 0, completionTokens: 0, retries: 0 };
    for (let seed = 0; seed < 60; seed++) {
      const { usage, retries } = await ask(opened, messages, { ...options, seeds: [seed] });
      totals.promptTokens += usage.promptTokens!;
      totals.completionTokens += usage.completionTokens!;
      totals.retries += retries;
    }
    const { faults, ...counts } = server.counts;
    const retried = Object.values(faults).reduce((sum, count) => sum + count, 0) - faults.slow;
    expect(retried).toBeGreaterThan(8);
    expect(counts.succeeded).toBe(60);
    expect(counts.requests).toBe(60 + retried);
    const { promptTokens, completionTokens } = counts;
    expect(totals).toEqual({ promptTokens, completionTokens, retries: retried });
  });

  it('ends a call at once when it is aborted while waiting for a reply', async () => {
    const abort = new AbortController();
    const server = await serve([{ answer: () => abort.abort() }]);
    const call = ask(model(server.url, {}), messages, { ...options, signal: abort.signal });
    await expect(call).rejects.toMatchObject({ kind: 'aborted', retries: 0, fatal: false });
  });
});

describe('retries', () => {
  const [{ good, model }] = providers;
  const limited = (retryAfter: string): Sent => ({
    status: 429,
    headers: { 'retry-after': retryAfter, date: 'Fri, 21 Nov 2025 10:00:00 GMT' },
    body: {},
  });

  it("wait as long as the server asks, and don't report short waits", async () => {
    const { wait, waits } = recordWaits();
    const told: number[] = [];
    const server = await serve([...['3', '0.5', '20'].map(limited), { body: good }]);
    const attempts = { onWait: (milliseconds: number) => void told.push(milliseconds) };
    const completion = await ask(model(server.url, {}, wait), messages, { ...options, attempts });
    expect(completion).toMatchObject({ retries: 3 });
    expect(waits).toEqual([3000, 500, 20_000]);
    expect(told).toEqual([3000, 20_000]);
  });

  it.each([
    ['99999999999999999999999', /Continue later with/],
    ['86400', /for 24 h, longer than model\.maxRetryAfterSeconds \(60\) allows\. Continue later with/],
    ['Sat, 22 Nov 2025 10:00:00 GMT', /for 24 h/],
  ])('are replaced by an error after a long Retry-After: %s', async (given, said) => {
    const { wait, waits } = recordWaits();
    const server = await serve([limited(given), { body: good }]);
    const error = await attempt(model(server.url, {}, wait));
    const expected = { kind: 'quota', fatal: true, message: expect.stringMatching(said) as string };
    expect(error).toMatchObject(expected);
    expect([waits, server.requests()]).toEqual([[], 1]);
  });

  it('do not follow a stalled response, which ends at the deadline', async () => {
    const server = await serve([{ answer: inTheMiddle(() => undefined) }]);
    const error = await attempt(model(server.url, { timeoutSeconds: 0.4 }));
    expect(error).toMatchObject({ kind: 'timeout', retries: 0, fatal: false });
    expect(server.requests()).toBe(1);
  });

  it('happen only if mayTryAgain allows them', async () => {
    const server = await serve([{ body: '{' }, { body: good }]);
    const asked: string[] = [];
    const mayTryAgain = (kind: string) => asked.push(kind) < 0;
    const error = await model(server.url, {}, recordWaits().wait)
      .generate(messages, { ...options, attempts: { mayTryAgain } })
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ kind: 'malformed', retries: 0 });
    expect(asked).toEqual(['malformed']);
    expect(server.requests()).toBe(1);
  });

  it.each([
    [500, [500, 1000, 2000, 4000, 8000, 8000]],
    [429, [4000, 8000, 16_000, 32_000, 32_000, 32_000]],
  ])('follow HTTP %i after waits that grow up to a limit and depend on the seed', async (status, longest) => {
    const runs = await Promise.all(
      [1, 1, 2].map(async (seed) => {
        const { wait, waits } = recordWaits();
        const server = await serve([{ status }]);
        const call = ask(model(server.url, { maxRetries: 6 }, wait), messages, { ...options, seeds: [seed] });
        await expect(call).rejects.toThrow(ModelError);
        return waits;
      }),
    );
    for (const [i, milliseconds] of runs[0]!.entries()) {
      expect(milliseconds).toBeLessThanOrEqual(longest[i]!);
      expect(milliseconds).toBeGreaterThanOrEqual(longest[i]! * 0.75);
    }
    expect(runs[1]).toEqual(runs[0]);
    expect(runs[2]).not.toEqual(runs[0]);
  });

  it('end at once when the next retry would come after the deadline', async () => {
    const server = await serve([limited('50')]);
    const error = await attempt(model(server.url, { timeoutSeconds: 40 }));
    expect(error).toMatchObject({ kind: 'rate-limit', retries: 0 });
    expect((error as Error).message).toContain('after the deadline of 40 s');
  });

  it('end at the deadline', async () => {
    const server = await serve([{ status: 500 }, { answer: () => undefined }]);
    const error = await attempt(model(server.url, { timeoutSeconds: 1.5 }, recordWaits().wait));
    expect(error).toMatchObject({ kind: 'timeout', retries: 1, fatal: false });
    const said = /no reply within 1\.5 s \(model\.timeoutSeconds\); before that: HTTP 500/;
    expect((error as Error).message).toMatch(said);
  });

  it('end at once when aborted during a wait', async () => {
    const abort = new AbortController();
    const server = await serve([limited('50')]);
    const wait: Wait = (milliseconds, signal) => {
      abort.abort();
      return waitOnClock(milliseconds, signal);
    };
    const call = ask(model(server.url, {}, wait), messages, { ...options, signal: abort.signal });
    await expect(call).rejects.toMatchObject({ kind: 'aborted', retries: 0 });
    expect(server.requests()).toBe(1);
  });
});

const phrase = 'I will now think about it again. ';
const most = { promptTokens: expect.any(Number), completionTokens: expect.any(Number) };
const said = (message: Json) => ({ openai: chat({ message }), ollama: ollama({ message }) });
const calling = (given: unknown) => ({ content: null, tool_calls: [{ function: { arguments: given } }] });
const counting = (prompt_tokens: unknown, completion_tokens: unknown) => ({
  openai: chat({}, { prompt_tokens, completion_tokens }),
  ollama: ollama({ prompt_eval_count: prompt_tokens, eval_count: completion_tokens }),
});
const nine = { prompt_tokens: 30, completion_tokens: 9 };
const thinking = (more: Json) =>
  chat({}, { ...nine, completion_tokens_details: { reasoning_tokens: 320 }, ...more });
const replies: readonly (readonly [string, { openai?: Json; ollama?: Json }, Partial<Completion>])[] = [
  ['null content', said({ content: null }), { text: '', faults: ['no-text'] }],
  [
    'only reasoning',
    said({ content: '', thinking: 'Hm.' }),
    { warnings: [expect.stringMatching(/after its reasoning, without an answer(?!.*maxTokens)/) as string] },
  ],
  ['a tool call', said(calling({ params: [1, 2] })), { text: '{"params":[1,2]}' }],
  ['a call in JSON', said(calling('{"params": [1, 2]}')), { text: '{"params": [1, 2]}' }],
  ['two texts', said(calling('{"why": "fast", "code": "a;\\nb;"}')), { text: 'why: fast\ncode:\na;\nb;' }],
  ['a call after a text', said({ ...calling('{}'), content: answer }), { text: answer }],
  ['a function_call', said({ function_call: { arguments: '{"params": [1]}' } }), { text: '{"params": [1]}' }],
  [
    'parts',
    said({ content: [{ type: 'thinking', thinking: 'Hm.' }, 'So:', { type: 'tool_use', input: { a: 1 } }] }),
    { reasoning: 'Hm.', text: 'So:\n{"a":1}' },
  ],
  [
    'odd fields',
    said({ content: answer, reasoning: [{ text: 'Hm.' }], refusal: false }),
    { reasoning: 'Hm.', text: answer },
  ],
  ['a broken call', said({ content: '', tool_calls: [{ id: 7 }] }), { text: '', faults: ['no-text'] }],
  [
    'filtered',
    { openai: chat({ message: { content: null }, finish_reason: 'content_filter' }) },
    { text: '', finishReason: 'content-filter', faults: ['content-filter'] },
  ],
  [
    "Gemini's filter",
    { openai: chat({ message: { content: '' }, finish_reason: 'content_filter: PROHIBITED_CONTENT' }) },
    { finishReason: 'content-filter' },
  ],
  [
    'a loop up to the limit',
    {
      openai: chat({ message: { content: phrase.repeat(40).slice(0, -9) }, finish_reason: 'length' }),
      ollama: ollama({ message: { content: phrase.repeat(40).slice(0, -9) }, done_reason: 'length' }),
    },
    { finishReason: 'length', faults: ['loop'] },
  ],
  [
    'no counts',
    { openai: chat({}, null), ollama: ollama({ prompt_eval_count: undefined, eval_count: undefined }) },
    { faults: ['usage-missing'], usage: { unreported: most } },
  ],
  ['NaN', counting('NaN', -4), { faults: ['usage-wrong'], usage: { unreported: most } }],
  ['counts of 0', counting(0, 0), { faults: ['usage-wrong'], usage: { unreported: most } }],
  [
    'an absurd number of tokens',
    counting(1e15, 5),
    { faults: ['usage-wrong'], usage: { completionTokens: 5, unreported: { ...most, completionTokens: 0 } } },
  ],
  [
    'reasoning beside the completion, in the total',
    { openai: thinking({ total_tokens: 359 }) },
    { usage: { promptTokens: 30, completionTokens: 329, reasoningTokens: 320 } },
  ],
  [
    'more reasoning than completion',
    { openai: thinking({}) },
    { faults: ['usage-wrong'], usage: { promptTokens: 30, completionTokens: 329, reasoningTokens: 320 } },
  ],
  [
    'more cached tokens than prompt tokens',
    { openai: chat({}, { ...nine, prompt_tokens_details: { cached_tokens: 99 } }) },
    { faults: ['usage-wrong'], usage: { promptTokens: 30, completionTokens: 9 } },
  ],
  [
    'a prompt that was cut',
    counting(2, 12),
    { faults: ['prompt-cut'], warnings: [expect.stringContaining('cut the prompt') as string] },
  ],
  ['longer than asked for', counting(30, 5001), { faults: ['overlong'] }],
];

describe('an unusual reply', () => {
  const cases = replies.flatMap(([name, bodies, expected]) =>
    providers.flatMap((provider) => {
      const body = bodies[provider.name];
      return body === undefined ? [] : [[provider.name, name, provider, body, expected] as const];
    }),
  );
  it.each(cases)('is returned by %s without a retry: %s', async (_, _name, provider, body, expected) => {
    const server = await serve([{ body }]);
    const completion = await attempt(provider.model(server.url, { maxTokens: 5000 }));
    expect(completion).toMatchObject({ ...expected, retries: 0 });
    // Nothing is paid twice for it.
    expect(server.requests()).toBe(1);
  });

  it.each([
    ['an empty list of choices', { body: { choices: [] } }, 'empty'],
    ['a rate limit with HTTP 200', { body: { error: { code: 429, message: 'busy' } } }, 'rate-limit'],
    [
      'an error of the model with HTTP 200',
      { body: chat({ message: { content: '' }, error: { code: 502, message: 'upstream' } }) },
      'server',
    ],
  ] as const)('causes a retry if openai sends %s', async (_, sent, kind) => {
    const server = await serve([sent, { body: chat() }]);
    const model = providers[0].model(server.url, {}, recordWaits().wait);
    expect(await attempt(model)).toMatchObject({ text: answer, failedTries: [kind] });
  });
});

it('endsInLoop recognises a phrase repeated many times, but not a list of parameters', () => {
  expect(endsInLoop(`Let me see. ${phrase.repeat(30)}I will`)).toBe(true);
  expect(endsInLoop('na'.repeat(500))).toBe(true);
  expect(endsInLoop(phrase.repeat(5))).toBe(false);
  const parameters = Array.from({ length: 300 }, (_, i) => `params[${i}]: ${(i % 7).toFixed(1)}`).join(', ');
  expect(endsInLoop(parameters)).toBe(false);
  expect(endsInLoop('')).toBe(false);
});
