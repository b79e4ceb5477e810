/** What a model says of a prompt itself: log-probabilities of its tokens, and an embedding. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Engine, loadEngine } from '../../../../src/models/local/generation/engine.js';
import type { GenerateJob } from '../../../../src/models/local/generation/protocol.js';
import { openTokenizer } from '../../../../src/models/local/tokens/tokenizer.js';
import { readReference, referenceDirectory } from '../fixture.js';

const hooks = { aborted: () => false };
const name = 'qwen3-fp32';
const { messages, prompt_ids: ids } = readReference(name);
const job: GenerateJob = {
  ...{
    messages: [],
    seeds: [1],
    maxTokens: 0,
    sampling: { temperature: 0 },
    stop: [],
    logProbabilities: true,
  },
};
let engine: Engine;
beforeAll(async () => {
  engine = await loadEngine({
    ...{ device: 'cpu', quantization: 'none', threads: 1, contextTokens: undefined, template: {} },
    path: referenceDirectory(name),
  });
});
afterAll(() => engine.close());

it('an echoed prompt has the same log-probabilities as its tokens scored as an answer', async () => {
  const text = 'go north, then west';
  const { scores } = await engine.generate({ ...job, messages, maxTokens: 12, score: [text] }, hooks);
  const answer = openTokenizer(referenceDirectory(name)).encodeText(text);
  const prompt = [...ids, ...answer];
  const { answers, cachedTokens, echo } = await engine.generate({ ...job, prompt, echo: true }, hooks);
  expect(echo!.map(({ id }) => id)).toEqual(prompt);
  expect(echo![0]).not.toHaveProperty('logProbability');
  for (const [i, { logProbability }] of echo!.slice(ids.length).entries())
    expect(logProbability).toBeCloseTo(scores![0]![i]!, 4);
  expect(answers).toEqual([{ text: '', ids: [], tokens: [], finishReason: 'length' }]);
  // Cached tokens would have no log-probabilities.
  expect(cachedTokens).toBe(0);
});

it('alternative tokens are sorted by log-probability, and a greedy token is the first of them', async () => {
  const asked = { ...job, prompt: ids, echo: true, topLogProbabilities: 3, maxTokens: 4 };
  const { answers, echo } = await engine.generate(asked, hooks);
  for (const { top } of [...echo!.slice(1), ...answers[0]!.tokens!]) {
    const values = top!.map(({ logProbability }) => logProbability);
    expect(values).toEqual(values.toSorted((a, b) => b - a));
    expect(values).toHaveLength(3);
  }
  for (const { id, top } of answers[0]!.tokens!) expect(top![0]!.id).toBe(id);
});

it('a prompt given as text has the same tokens as one from the template', async () => {
  const { prompt_text: prompt } = readReference(name);
  const { echo } = await engine.generate({ ...job, prompt, echo: true }, hooks);
  expect(echo!.map(({ id }) => id)).toEqual(ids);
});

it('an embedding is the mean of the hidden states that Transformers computes', async () => {
  const { embedding } = await engine.generate({ ...job, prompt: ids, embedding: true }, hooks);
  // AutoModel.from_pretrained(…)(prompt_ids).last_hidden_state.mean(1), version 5.24.0
  const expected = [-0.770_243_6, -0.025_027_4, -0.623_656_9, -0.265_793, -0.416_668_6];
  expect(embedding).toHaveLength(64);
  for (const [i, value] of expected.entries()) expect(embedding![i]).toBeCloseTo(value, 5);
});

it('an embedding depends on the whole text, but not on what is cached', async () => {
  const embed = async (prompt: readonly number[]) =>
    (await engine.generate({ ...job, prompt, embedding: true }, hooks)).embedding!;
  const first = await embed(ids);
  await embed([...ids, 5, 6]);
  expect(await embed(ids)).toEqual(first);
  expect(await embed([7, ...ids.slice(1)])).not.toEqual(first);
});

it('an overlong prompt is refused within 3 seconds, and an invalid one as a bad request', async () => {
  const started = performance.now();
  for (const prompt of ['word '.repeat(1_400_000), 'word '.repeat(15_000)])
    await expect(engine.generate({ ...job, prompt }, hooks)).rejects.toMatchObject({
      ...{
        kind: 'too-long',
        message: expect.stringMatching(
          /the context only holds \d+ tokens, answer included: shorten the prompt/,
        ),
      },
    });
  expect(performance.now() - started).toBeLessThan(3000);
  for (const prompt of [[], [1, 99_999]])
    await expect(engine.generate({ ...job, prompt }, hooks)).rejects.toMatchObject({ kind: 'bad-request' });
});
