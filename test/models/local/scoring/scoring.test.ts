import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Engine, loadEngine } from '../../../../src/models/local/generation/engine.js';
import type { GenerateJob } from '../../../../src/models/local/generation/protocol.js';
import { openTokenizer } from '../../../../src/models/local/tokens/tokenizer.js';
import { readReference, referenceDirectory } from '../fixture.js';

const hooks = { aborted: () => false };
const name = 'qwen3-fp32';
const { messages } = readReference(name);
const job: GenerateJob = {
  messages,
  seeds: [1],
  maxTokens: 12,
  sampling: { temperature: 0 },
  stop: [],
  logProbabilities: true,
};

let engine: Engine;
beforeAll(async () => {
  engine = await loadEngine({
    ...{ device: 'cpu', quantization: 'none', threads: 1, contextTokens: undefined, template: {} },
    path: referenceDirectory(name),
  });
});
afterAll(() => engine.close());

const scoresOf = async (texts: readonly string[]) =>
  (await engine.generate({ ...job, score: texts }, hooks)).scores!;
const close = (a: readonly number[], b: readonly number[]) => {
  expect(a.length).toBe(b.length);
  for (const [i, value] of a.entries()) expect(value).toBeCloseTo(b[i]!, 4);
};

describe('texts that are scored as answers', () => {
  it('have the log-probabilities that the model had when it generated them', async () => {
    const tokenizer = openTokenizer(referenceDirectory(name));
    const seeds = Array.from({ length: 24 }, (_, i) => i);
    const { answers } = await engine.generate({ ...job, seeds, sampling: { temperature: 1 } }, hooks);
    // As many tokens of each as come back from its text; of the answer with the most.
    const comesBack = (ids: readonly number[]) =>
      tokenizer.encodeText(tokenizer.decode(ids)).join() === ids.join();
    const [longest] = answers
      .map((written) => ({
        written,
        again: written.ids.findLastIndex((_, i) => comesBack(written.ids.slice(0, i + 1))) + 1,
      }))
      .toSorted((a, b) => b.again - a.again);
    const { again, written } = longest!;
    expect(again).toBeGreaterThan(3);
    const [own] = await scoresOf([tokenizer.decode(written.ids.slice(0, again))]);
    close(
      own!.slice(0, again),
      written.tokens!.slice(0, again).map(({ logProbability }) => logProbability),
    );
    // The end of the answer follows.
    expect(own).toHaveLength(again + 1);
  });

  it('get the same scores in a batch as alone, and leave the prompt cached', async () => {
    const texts = [
      'go north',
      'a',
      'open the wide wooden door to the east',
      'go',
      'take the key',
      'go north',
    ];
    const together = await engine.generate({ ...job, score: texts }, hooks);
    expect(together.answers).toEqual([]);
    for (const [i, text] of texts.entries()) close(together.scores![i]!, (await scoresOf([text]))[0]!);
    const next = await engine.generate({ ...job, score: ['x'] }, hooks);
    expect(next.cachedTokens).toBe(next.promptTokens - 1);
  });

  it('are scored as whole answers: probabilities of a text and its continuations sum to at most 1', async () => {
    const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
    const scores = await scoresOf(['go', 'go north', 'go south', 'take']);
    const total = scores.reduce((all, tokens) => all + Math.exp(sum(tokens)), 0);
    expect(total).toBeGreaterThan(0);
    expect(total).toBeLessThanOrEqual(1);
    // The tokens of `go` begin `go north`, and the end tells them apart.
    expect(scores[1]![0]).toBeCloseTo(scores[0]![0]!, 4);
    expect(scores[1]!.at(-1)).not.toBeCloseTo(scores[0]!.at(-1)!, 4);
  });

  it('are refused if there are none or they do not fit into the context', async () => {
    await expect(scoresOf([])).rejects.toThrow('nothing to score');
    await expect(scoresOf(['word '.repeat(100_000)])).rejects.toThrow('the context only has room for');
  });
});
