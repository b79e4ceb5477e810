/** Calls of tools in `/v1/responses`, with a model that always calls. */
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ChatMessage, GenerateOptions, LanguageModel } from '../../src/models/language-model.js';
import { startServer } from '../../src/serve/server.js';
import { testFacts } from './local-server.js';

const asked: { messages: readonly ChatMessage[]; options: GenerateOptions }[] = [];
const model: LanguageModel = {
  id: 'caller',
  toolFormat: () => ({
    ...{ before: '<tool_call>\n', after: '\n</tool_call>', argumentsKey: 'arguments', isList: false },
  }),
  generate: async (messages, options) => {
    asked.push({ messages, options });
    const text = 'I look.<tool_call>\n{"name": "weather", "arguments": {"city": "Paris"}}\n</tool_call>';
    for (const part of text.match(/.{1,5}/gs)!) options.onText?.(0, part);
    return [{ text, finishReason: 'stop', usage: {}, latencyMs: 0, retries: 0 }];
  },
};
let server: Awaited<ReturnType<typeof startServer>>;
let client: OpenAI;
beforeAll(async () => {
  server = await startServer({
    ...{ host: '127.0.0.1', port: 0, note: () => undefined, now: () => new Date(0) },
    model: { served: [{ name: 'm', model }], created: 1, ...testFacts },
  });
  client = new OpenAI({ baseURL: server.url, apiKey: 'none', maxRetries: 0 });
});
afterAll(async () => {
  server.abort();
  await server.finish();
});

const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const request = {
  model: 'm',
  tools: [{ type: 'function' as const, name: 'weather', parameters, strict: false }],
  tool_choice: { type: 'function' as const, name: 'weather' },
};

it('a tool call follows the text, both in a response and in its stream', async () => {
  const whole = await client.responses.create({ ...request, input: 'Paris?' });
  expect(whole.output_text).toBe('I look.');
  const call = { type: 'function_call', name: 'weather', status: 'completed' };
  expect(whole.output[1]).toMatchObject(call);
  expect(whole.output[1]).toSatisfy(
    (item: { arguments: string }) => (JSON.parse(item.arguments) as { city: string }).city === 'Paris',
  );
  expect(asked.at(-1)!.options.tools).toMatchObject([{ name: 'weather', parameters }]);
  const streamed = await client.responses.stream({ ...request, input: 'Paris?' }).finalResponse();
  expect(streamed.output_text).toBe('I look.');
  expect(streamed.output[1]).toMatchObject(call);
});

it('tool calls and their results in the input become chat messages', async () => {
  await client.responses.create({
    ...request,
    input: [
      { role: 'user', content: 'Paris and Rome?' },
      { role: 'assistant', content: 'I look.' },
      { type: 'function_call', call_id: 'a', name: 'weather', arguments: '{"city": "Paris"}' },
      { type: 'function_call', call_id: 'b', name: 'weather', arguments: '{"city": "Rome"}' },
      { type: 'function_call_output', call_id: 'a', output: 'sunny' },
      { type: 'function_call_output', call_id: 'b', output: 'rain' },
    ],
  });
  expect(asked.at(-1)!.messages).toMatchObject([
    { role: 'user', content: 'Paris and Rome?' },
    { role: 'assistant', content: 'I look.', toolCalls: [{ id: 'a' }, { id: 'b' }] },
    { role: 'tool', content: 'sunny', toolCallId: 'a' },
    { role: 'tool', content: 'rain', toolCallId: 'b' },
  ]);
});
