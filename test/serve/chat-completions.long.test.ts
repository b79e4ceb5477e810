import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { UserError } from '../../src/base/errors.js';
import { createModel } from '../../src/experiment/proposer.js';
import { answerSchema, autoSchema } from '../../src/models/answer-schema.js';
import { shortenPrompt } from '../../src/models/language-model.js';
import { createLocalModel } from '../../src/models/local/process/local-model.js';
import { parseParameters } from '../../src/prompting/answer/parse.js';
import { answerGrammar } from '../../src/prompting/notation/grammar.js';
import { httpErrorOf } from '../../src/serve/http.js';
import { openaiConfig } from '../models/model-configs.js';
import { ask } from '../support/ask.js';
import { eventsOf, localConfig, messages, post, send, startLocalServer, stream } from './local-server.js';

let server: Awaited<ReturnType<typeof startLocalServer>>;
beforeAll(async () => {
  server = await startLocalServer();
});
afterAll(() => server.close());

const parameters = { count: 3, kind: 'float', low: -6, high: 6, decimals: 1 } as const;
const grammar = answerGrammar(parameters);
const body = { model: 'tiny', messages, seed: 7, max_tokens: 16 };

const tool = {
  type: 'function',
  function: {
    name: 'get_weather',
    parameters: {
      type: 'object',
      properties: { city: { enum: ['Paris', 'Rome'] }, days: { type: 'integer', minimum: 1, maximum: 9 } },
      required: ['city', 'days'],
    },
  },
};
const named = (name: string) => ({ type: 'function', function: { name } });

interface Body {
  readonly choices: readonly {
    readonly index: number;
    readonly message: { readonly role: string; readonly content: string };
    readonly finish_reason: string;
    readonly logprobs: {
      readonly content: readonly { readonly token: string; readonly logprob: number }[];
    } | null;
  }[];
  readonly usage: Record<string, unknown>;
}
const complete = async (more: object): Promise<Body> =>
  JSON.parse((await post(server.url, { ...body, ...more })).body) as Body;

test('our openai provider gets the same text as in-process, for one answer and for several', async () => {
  const sampling = { temperature: 0.9, topP: 0.95, maxTokens: 24 };
  const served = createModel(openaiConfig({ baseUrl: server.url, name: 'tiny', ...sampling }), {});
  const local = createLocalModel(localConfig({ ...sampling, format: 'text' }));
  try {
    for (const seed of [3, 4]) {
      const [a, b] = await Promise.all(
        [served, local].map((m) => ask(m, messages, { grammar, seeds: [seed] })),
      );
      expect(a!.text).toBe(b!.text);
      expect(a!.text).not.toBe('');
      expect(a).toMatchObject({ finishReason: b!.finishReason, retries: 0 });
      expect(a!.usage.completionTokens).toBe(b!.usage.completionTokens);
    }
    const seeds = [11, 12, 13];
    const [a, b] = await Promise.all([served, local].map((m) => m.generate(messages, { grammar, seeds })));
    expect(a!.map(({ text }) => text)).toEqual(b!.map(({ text }) => text));
    expect(a).toHaveLength(3);
  } finally {
    await local.close?.();
  }
});

test('our openai provider gets valid JSON from a model with random weights', async () => {
  const served = createModel(
    openaiConfig({ baseUrl: server.url, name: 'tiny', maxTokens: 120, format: 'json' }),
    {},
  );
  const texts = new Set<string>();
  for (const spec of [
    parameters,
    { count: 5, kind: 'integer', low: 0, high: 3, decimals: 0, choices: [0, 1, 3] } as const,
  ]) {
    for (let seed = 0; seed < 5; seed++) {
      const { text, finishReason } = await ask(served, messages, {
        grammar: answerGrammar(spec),
        seeds: [seed],
      });
      // Random weights may write until the limit.
      if (finishReason === 'length') continue;
      expect(Object.keys(JSON.parse(text) as object)).toEqual(['reason', 'params']);
      // A schema doesn't limit the decimals.
      const { params } = JSON.parse(text) as { params: number[] };
      expect(params).toHaveLength(spec.count);
      for (const value of params) expect(value >= spec.low && value <= spec.high).toBe(true);
      if (spec.kind === 'integer')
        expect(parseParameters(text, spec, { finishReason })).toMatchObject({ ok: true });
      texts.add(text);
    }
  }
  expect(texts.size).toBeGreaterThan(2);
});

test('a completion reports its usage; its choices differ, and each is determined by its seed', async () => {
  const { choices, usage, ...head } = await complete({ n: 3, seed: 20 });
  expect(head).toMatchObject({ object: 'chat.completion', model: 'tiny', created: 5 });
  expect(choices.map(({ index }) => index)).toEqual([0, 1, 2]);
  expect(new Set(choices.map(({ message }) => message.content)).size).toBe(3);
  expect((await complete({ seed: 22 })).choices[0]!.message).toEqual(choices[2]!.message);
  expect(choices[0]).toMatchObject({ message: { role: 'assistant' }, finish_reason: 'length' });
  expect(usage).toMatchObject({ prompt_tokens: 66, completion_tokens: 48, total_tokens: 114 });
  expect((await complete({ seed: 23 })).usage).toMatchObject({
    prompt_tokens_details: { cached_tokens: 65 },
  });
});

test('completions support stop texts, greedy decoding, content parts and max_completion_tokens', async () => {
  const { choices } = await complete({ temperature: 0, max_completion_tokens: 24, max_tokens: 3 });
  const text = choices[0]!.message.content;
  const stop = text.slice(6, 9);
  const cut = await complete({ temperature: 0, max_tokens: 24, stop });
  expect(cut.choices[0]).toMatchObject({
    message: { content: text.slice(0, text.indexOf(stop)) },
    finish_reason: 'stop',
  });
  const inParts = messages.map(({ role, content }) => ({ role, content: [{ type: 'text', text: content }] }));
  expect((await complete({ messages: inParts })).choices).toEqual((await complete({})).choices);
});

test('answers without a seed differ', async () => {
  const texts = await Promise.all([1, 2].map(() => complete({ seed: null, max_tokens: 24 })));
  expect(texts[0]!.choices).not.toEqual(texts[1]!.choices);
});

test('a completion can return the log-probabilities of its tokens', async () => {
  const { choices } = await complete({ logprobs: true, temperature: 0, max_tokens: 5 });
  const { content } = choices[0]!.logprobs!;
  expect(content).toHaveLength(5);
  expect(content.map(({ token }) => token).join('')).toBe(choices[0]!.message.content);
  for (const { logprob } of content) expect(logprob).toBeLessThan(0);
});

test('a stream gives the same text for each choice, then the usage if requested', async () => {
  const whole = await complete({ n: 2 });
  const reply = await post(server.url, {
    ...body,
    n: 2,
    stream: true,
    stream_options: { include_usage: true },
  });
  const chunks = eventsOf(reply) as {
    choices: { index: number; delta: { role?: string; content?: string }; finish_reason: string | null }[];
    usage?: object;
  }[];
  const parts = chunks.flatMap(({ choices }) => choices);
  for (const { index, message, finish_reason } of whole.choices) {
    const own = parts.filter((part) => part.index === index);
    expect(own[0]!.delta.role).toBe('assistant');
    expect(own.map(({ delta }) => delta.content ?? '').join('')).toBe(message.content);
    expect(own.map((part) => part.finish_reason).filter(Boolean)).toEqual([finish_reason]);
  }
  expect(parts.length).toBeGreaterThan(10);
  expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: 32 } });
  expect(eventsOf(await post(server.url, { ...body, stream: true }))).not.toContainEqual(
    expect.objectContaining({ usage: expect.anything() }),
  );
});

test('a streamed answer follows its JSON schema', async () => {
  const schema = {
    type: 'object',
    properties: {
      values: { type: 'array', items: { type: 'number', minimum: 0, maximum: 1 }, minItems: 2, maxItems: 2 },
    },
  };
  const response_format = { type: 'json_schema', json_schema: { name: 'x', schema } };
  const reply = await post(server.url, { ...body, max_tokens: 60, stream: true, response_format });
  const deltas = eventsOf(reply) as { choices: { delta: { content?: string } }[] }[];
  const text = deltas.map(({ choices }) => choices[0]!.delta.content ?? '').join('');
  const { values } = JSON.parse(text) as { values: number[] };
  expect(values).toHaveLength(2);
  for (const value of values) expect(value >= 0 && value <= 1).toBe(true);
});

test('the schema of `format: auto` is enforced, including the maximum length of the reason', async () => {
  const spec = { count: 2, kind: 'float', low: -6, high: 6, decimals: 1 } as const;
  const schema = answerSchema(answerGrammar(spec), { ...autoSchema, longestReason: 5 });
  const response_format = { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema } };
  const { choices } = await complete({ max_tokens: 60, response_format });
  const { content } = choices[0]!.message;
  const answer = JSON.parse(content) as { params: number[]; reason: string };
  expect(answer.params).toHaveLength(2);
  for (const value of answer.params) expect(Math.abs(value)).toBeLessThanOrEqual(6);
  expect(answer.reason.length).toBeLessThanOrEqual(5);
});

test('json_object, patterns, choices and grammars constrain the answer', async () => {
  const content = async (more: object) =>
    (await complete({ max_tokens: 300, temperature: 1, ...more })).choices[0]!.message.content;
  expect(await content({ guided_regex: '[ab]{3}-\\d{2}' })).toMatch(/^[ab]{3}-\d{2}$/);
  expect(await content({ structured_outputs: { choice: ['left', 'right'] } })).toMatch(/^(left|right)$/);
  expect(await content({ grammar: 'root ::= x{2} "."\nx ::= [a-c] | "(" x ")"' })).toMatch(/^\(*[a-c].*\.$/);
  const schema = { type: 'object', properties: { a: { type: 'boolean' } }, required: ['a'] };
  expect(JSON.parse(await content({ response_format: { type: 'json_object', schema } }))).toEqual({
    a: expect.any(Boolean),
  });
  expect(await content({ response_format: { type: 'json_object' }, max_tokens: 4 })).toMatch(/^\{/);
});

test('an answer with a very long schema is cut off at max_tokens', async () => {
  const schema = { type: 'array', items: { type: 'integer' }, minItems: 1000 };
  const response_format = { type: 'json_schema', json_schema: { name: 'x', schema } };
  const { choices } = await complete({ max_tokens: 20, response_format, logprobs: true, top_logprobs: 3 });
  expect(choices[0]).toMatchObject({
    finish_reason: 'length',
    message: { content: expect.stringMatching(/^\[/) },
  });
  expect(choices[0]!.logprobs!.content[0]).toMatchObject({ top_logprobs: [{}, {}, {}] });
});

test('tool results are part of the prompt, and penalties and logit_bias change the output', async () => {
  const call = {
    id: 'call_1',
    type: 'function',
    function: { name: 'get_weather', arguments: '{"city":"Paris"}' },
  };
  const talk = [
    ...messages,
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'call_1', content: '21 degrees' },
  ];
  const plain = await complete({ messages: talk, tools: [tool], temperature: 0, tool_choice: 'none' });
  expect(plain.usage.prompt_tokens).toBeGreaterThan((await complete({})).usage.prompt_tokens as number);
  const penalised = await complete({
    temperature: 0,
    max_tokens: 40,
    presence_penalty: 2,
    frequency_penalty: 2,
  });
  expect(penalised.choices).not.toEqual((await complete({ temperature: 0, max_tokens: 40 })).choices);
  const biased = await complete({ temperature: 0, max_tokens: 3, logit_bias: { 70: 100 }, logprobs: true });
  const tokens = biased.choices[0]!.logprobs!.content.map(({ token }) => token);
  expect(new Set(tokens).size).toBe(1);
});

test('concurrent requests get the same answers as sequential ones', async () => {
  const alone: Body[] = [];
  for (const seed of [31, 32, 33, 34]) alone.push(await complete({ seed }));
  const together = await Promise.all([31, 32, 33, 34].map((seed) => complete({ seed })));
  expect(together.map(({ choices }) => choices)).toEqual(alone.map(({ choices }) => choices));
});

const listOf = (items: object, length = 2) => {
  const values = { type: 'array', items, minItems: length, maxItems: length };
  const schema = { type: 'object', properties: { values }, required: ['values'] };
  return { response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } };
};

const promised: readonly (readonly [string, object, (value: number) => boolean])[] = [
  ['choices of many sizes', { type: 'number', enum: [0.000001, 123456789.5] }, among(0.000001, 123456789.5)],
  [
    'choices of many digits',
    { type: 'number', enum: [0.1, 0.30000000000000004] },
    among(0.1, 0.30000000000000004),
  ],
  ['a choice of 21 digits', { type: 'number', enum: [1e20, 0.1] }, among(1e20, 0.1)],
  ['integers among choices', { type: 'integer', enum: [0.5, 3] }, among(3)],
  ['one number', { type: 'number', minimum: 1.1, maximum: 1.1 }, among(1.1)],
  [
    'large integers',
    { type: 'integer', minimum: 1e9, maximum: 2e9 },
    (value) => value >= 1e9 && value <= 2e9,
  ],
  [
    'a bound just above a tenth',
    { type: 'number', minimum: 0.30000001, maximum: 4 },
    (value) => value >= 0.30000001 && value <= 4,
  ],
];
function among(...choices: number[]) {
  return (value: number) => choices.includes(value);
}
test.each(promised)('a schema with %s is followed exactly', async (_name, items, allowed) => {
  for (const seed of [1, 2, 3]) {
    const { choices } = await complete({ ...listOf(items), seed, max_tokens: 120 });
    const { values } = JSON.parse(choices[0]!.message.content) as { values: number[] };
    expect(values).toHaveLength(2);
    for (const value of values) expect(value).toSatisfy(allowed);
  }
});

test.each([
  [-1, 2 ** 31 - 1],
  [-(2 ** 31), 0],
  [2 ** 53 - 1, 2 ** 31 - 1],
  [2 ** 63, 0],
])('any integer works as a seed: %d is equivalent to %d', async (given, same) => {
  const [a, b] = await Promise.all([given, same].map((seed) => complete({ seed, n: 2 })));
  expect(a!.choices).toEqual(b!.choices);
});

test('error messages name options of the request and the server instead of config keys', () => {
  const { message } = httpErrorOf(
    new UserError({ message: `${shortenPrompt} or raise model.contextTokens or model.maxTokens` }),
  );
  expect(message).toBe('shorten the prompt or raise --context-tokens of the server or max_tokens');
});

const refusals: readonly (readonly [string, object, number, RegExp])[] = [
  ['no messages', { messages: [] }, 400, /"param":"messages"/],
  ['an unknown role', { messages: [{ role: 'robot', content: '' }] }, 400, /messages\.0\.role/],
  [
    'a picture',
    { messages: [{ role: 'user', content: [{ type: 'image_url' }] }] },
    400,
    /messages\.0\.content/,
  ],
  ['another model', { model: 'gpt-5' }, 404, /unknown model \\"gpt-5\\"; available: \\"tiny\\"/],
  ['a penalty that is too high', { frequency_penalty: 5 }, 400, /"param":"frequency_penalty"/],
  ['a tool without a name', { tools: [{ type: 'function' }] }, 400, /"param":"tools\.0\.function"/],
  ['a choice of another tool', { tools: [tool], tool_choice: named('other') }, 400, /no tool \\"other\\"/],
  ['too many choices', { n: 1000 }, 400, /"param":"n"/],
  ['a seed that is no integer', { seed: 0.5 }, 400, /"param":"seed"/],
  [
    'two forms',
    { response_format: { type: 'json_object' }, guided_regex: 'a' },
    400,
    /several answer formats/,
  ],
  ['an unknown format', { response_format: { type: 'xml' } }, 400, /use text, json_object or json_schema/],
  [
    'a schema that can’t be enforced',
    listOf({ not: {}, if: {} }),
    400,
    /no text has this form|can’t be enforced/,
  ],
  ['a broken pattern', { guided_regex: '(' }, 400, /not an ECMAScript pattern/],
  ['a broken grammar', { grammar: 'root ::= x' }, 400, /the grammar has no rule x/],
  [
    'a prompt beyond the context',
    { messages: [{ role: 'user', content: 'params '.repeat(600) }] },
    400,
    /maximum context length is 512 tokens, answer included: shorten the prompt"/,
  ],
  [
    'more choices than can be offered',
    listOf({ type: 'integer', enum: Array.from({ length: 20_000 }, (_, i) => i) }),
    400,
    /items\.enum: Too big/,
  ],
  [
    'an empty range',
    listOf({ type: 'integer', minimum: 0.2, maximum: 0.8 }),
    400,
    /items: there is no allowed number/,
  ],
];
test.each(refusals)(
  'a request with %s is rejected with the reason',
  async (_name, change, status, pattern) => {
    const reply = await post(server.url, { ...body, ...change });
    expect(reply.status).toBe(status);
    expect(reply.body).toMatch(pattern);
    expect(JSON.parse(reply.body)).toMatchObject({
      error: { message: expect.any(String), type: expect.any(String) },
    });
    const streamed = await post(server.url, { ...body, ...change, stream: true });
    expect(streamed.status).toBe(status);
  },
);

test('options with neutral values are accepted and have no effect', async () => {
  const neutral = {
    frequency_penalty: 0,
    logit_bias: {},
    tools: [],
    user: 'me',
    metadata: { a: 1 },
    top_logprobs: 0,
    presence_penalty: 0,
    tool_choice: 'auto',
    parallel_tool_calls: true,
    response_format: { type: 'text' },
    stop: [],
    n: 1,
  };
  expect((await complete(neutral)).choices).toEqual((await complete({})).choices);
});

test('an answer ends if its client disconnects, and the same process serves the next one', async () => {
  const { pid } = server.model;
  let texts = 0;
  server.watch.onText = () => texts++;
  await stream(server.url, { ...body, seed: 8, max_tokens: 440 }, (_received, sent) => sent.destroy());
  await vi.waitFor(() => expect(server.log.at(-1)).toMatch(/aborted by the client/));
  delete server.watch.onText;
  // It would have been 440.
  expect(texts).toBeLessThan(220);
  expect((await complete({})).choices).toHaveLength(1);
  expect(server.model.pid).toBe(pid);
});

test('if the model process is killed, the request fails with 500 and the next one is served', async () => {
  const before = await complete({});
  server.watch.onText = () => process.kill(server.model.pid!, 'SIGKILL');
  const failed = await post(server.url, { ...body, max_tokens: 400 });
  delete server.watch.onText;
  expect(failed.status).toBe(500);
  expect(failed.body).toMatch(/"type":"server_error"/);
  expect((await complete({})).choices).toEqual(before.choices);
});

test('health and models are served; unknown paths get 404 and wrong methods 405', async () => {
  const root = server.url.replace('/v1', '');
  expect(await send(`${root}/health`)).toEqual({ status: 200, body: '{"status":"ok"}' });
  expect(JSON.parse((await send(`${server.url}/models`)).body)).toMatchObject({
    object: 'list',
    data: [{ id: 'tiny', object: 'model', created: 1, parent: null }],
  });
  expect((await send(`${server.url}/models/tiny`)).status).toBe(200);
  expect((await send(`${server.url}/models/gpt-5`)).status).toBe(404);
  expect((await send(`${server.url}/moderations`, { method: 'POST' })).status).toBe(404);
  expect((await send(`${server.url}/chat/completions`)).status).toBe(405);
});
