/** The AI SDK, with its provider for servers like OpenAI's. */
import assert from 'node:assert/strict';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import {
  embedMany,
  generateObject,
  generateText,
  Output,
  stepCountIs,
  streamObject,
  streamText,
  tool,
} from 'ai';
import { z } from 'zod';
import { check, client, model, url } from './checks.mjs';

client('ai');
const server = createOpenAICompatible({
  ...{ name: 'policyloop', baseURL: url, apiKey: 'none', supportsStructuredOutputs: true },
});
const short = { model: server(model), temperature: 0, maxOutputTokens: 100, maxRetries: 0 };
const schema = z.object({ x: z.int(), y: z.int() });
const weather = tool({
  description: 'The weather in a city',
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => `It is sunny in ${city}.`,
});
const prompt = 'Name a city in France.';

await check('generateText', async () => {
  const { text, usage } = await generateText({ ...short, prompt, frequencyPenalty: 0, presencePenalty: 0 });
  assert(text && usage.outputTokens > 0);
});

await check('streamText', async () => {
  let text = '';
  for await (const part of streamText({ ...short, prompt }).textStream) text += part;
  assert.equal(text, (await generateText({ ...short, prompt })).text);
});

await check('generateObject', async () => {
  const { object } = await generateObject({ ...short, schema, prompt: 'Give me a point.' });
  assert(Number.isInteger(object.x));
});

await check('streamObject', async () => {
  let object;
  for await (object of streamObject({ ...short, schema, prompt: 'Give me a point.' }).partialObjectStream);
  assert(Number.isInteger(object.y));
});

await check('generateObject without schema', async () => {
  const { object } = await generateObject({
    ...short,
    output: 'no-schema',
    prompt: 'A point x, y, as JSON.',
  });
  assert.equal(typeof object, 'object');
});

await check('Output.object', async () => {
  const output = Output.object({ schema });
  assert(Number.isInteger((await generateText({ ...short, output, prompt: 'Give me a point.' })).output.x));
});

await check('tools', async () => {
  const asked = { ...short, tools: { weather }, prompt: 'What is the weather in Paris?' };
  const { toolResults } = await generateText({ ...asked, toolChoice: 'required' });
  assert.match(toolResults[0].output, /sunny/);
  const { steps } = await generateText({ ...asked, stopWhen: stepCountIs(3) });
  assert(steps.length > 0);
});

await check('streamed tools', async () => {
  const asked = {
    ...short,
    tools: { weather },
    toolChoice: 'required',
    prompt: 'What is the weather in Paris?',
  };
  const result = streamText(asked);
  await result.consumeStream();
  assert.equal((await result.toolCalls)[0].toolName, 'weather');
});

await check('completions', async () => {
  assert((await generateText({ ...short, model: server.completionModel(model), prompt: 'Once upon' })).text);
});

await check('embedMany', async () => {
  const { embeddings } = await embedMany({ model: server.textEmbeddingModel(model), values: ['a', 'b'] });
  assert.equal(embeddings.length, 2);
});

await check('responses', async () => {
  const own = createOpenAI({ baseURL: url, apiKey: 'none' });
  const { text } = await generateText({ ...short, model: own.responses(model), prompt });
  let streamed = '';
  for await (const part of streamText({ ...short, model: own.responses(model), prompt }).textStream)
    streamed += part;
  assert(text);
  assert.equal(streamed, text);
});
