/** OpenAI's Node client. */
import assert from 'node:assert/strict';
import OpenAI from 'openai';
import { zodResponseFormat, zodTextFormat } from 'openai/helpers/zod';
import { z } from 'zod';
import { check, client, model, url } from './checks.mjs';

client('openai');
const api = new OpenAI({ baseURL: url, apiKey: 'none', maxRetries: 0 });
const messages = [{ role: 'user', content: 'Name a city in France.' }];
const short = { model, max_tokens: 24, temperature: 0 };
const Point = z.object({ x: z.int(), y: z.int(), name: z.string() });
const point = [{ role: 'user', content: 'Give me a point, as JSON.' }];

await check('chat', async () => {
  const { data, request_id } = await api.chat.completions.create({ messages, n: 2, ...short }).withResponse();
  assert(
    data.choices.length === 2 && data.choices[0].message.content && data.system_fingerprint && request_id,
  );
});

await check('stream', async () => {
  const whole = await api.chat.completions.create({ messages, ...short });
  const stream = api.chat.completions.stream({ messages, ...short });
  assert.equal(await stream.finalContent(), whole.choices[0].message.content);
});

await check('logprobs', async () => {
  const reply = await api.chat.completions.create({ messages, logprobs: true, top_logprobs: 2, ...short });
  assert(reply.choices[0].logprobs.content.every(({ top_logprobs: top }) => top.length === 2));
});

await check('penalties', async () => {
  const penalties = { frequency_penalty: 1, presence_penalty: 0.5 };
  assert(
    (await api.chat.completions.create({ messages, ...short, ...penalties })).choices[0].message.content,
  );
});

await check('schema', async () => {
  const response_format = zodResponseFormat(Point, 'point');
  const asked = { messages: point, response_format, model, max_tokens: 200, temperature: 0 };
  assert(Number.isInteger((await api.chat.completions.parse(asked)).choices[0].message.parsed.x));
});

await check('tools', async () => {
  const cities = [];
  const runner = api.chat.completions.runTools({
    ...{ model, max_tokens: 100, temperature: 0 },
    messages: [{ role: 'user', content: 'What is the weather in Paris? Use the tool.' }],
    tools: [
      {
        type: 'function',
        function: {
          name: 'weather',
          description: 'The weather in a city',
          parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
          parse: JSON.parse,
          function: ({ city }) => {
            cities.push(city);
            return 'sunny, 21 degrees';
          },
        },
      },
    ],
    tool_choice: { type: 'function', function: { name: 'weather' } },
  });
  await runner.done();
  assert(cities.length > 0);
});

await check('completions', async () => {
  const whole = await api.completions.create({ prompt: 'Once upon', ...short });
  let text = '';
  for await (const { choices } of await api.completions.create({
    prompt: 'Once upon',
    stream: true,
    ...short,
  }))
    text += choices[0]?.text ?? '';
  assert.equal(text, whole.choices[0].text);
});

await check('echo and logprobs', async () => {
  const asked = { ...short, max_tokens: 0, prompt: 'Paris is in France.', echo: true, logprobs: 1 };
  const { logprobs, text } = (await api.completions.create(asked)).choices[0];
  assert(text === asked.prompt && logprobs.token_logprobs[0] === null && logprobs.token_logprobs[1] < 0);
});

await check('embeddings', async () => {
  const { data } = await api.embeddings.create({ model, input: ['a cat', 'a dog'] });
  assert(data.length === 2 && data[0].embedding.length === data[1].embedding.length);
});

await check('responses', async () => {
  const asked = { model, input: 'Name a city in France.', max_output_tokens: 24, temperature: 0 };
  const whole = await api.responses.create(asked);
  assert.equal((await api.responses.stream(asked).finalResponse()).output_text, whole.output_text);
});

await check('responses with schema', async () => {
  const text = { format: zodTextFormat(Point, 'point') };
  const asked = { model, input: 'Give me a point, as JSON.', text, max_output_tokens: 200, temperature: 0 };
  assert(Number.isInteger((await api.responses.parse(asked)).output_parsed.y));
});

await check('models', async () => {
  assert((await api.models.list()).data.some(({ id }) => id === model));
});

await check('errors', async () => {
  const long = [{ role: 'user', content: 'word '.repeat(300_000) }];
  const code = 'context_length_exceeded';
  await assert.rejects(api.chat.completions.create({ messages: long, ...short }), { status: 400, code });
});
