import { describe, expect, it } from 'vitest';
import { plainSampling } from '../../../src/models/language-model.js';
import { StateSnapshots } from '../../../src/models/local/engine/key-value-cache.js';
import { type DecoderSession, openSession } from '../../../src/models/local/engine/runtime.js';
import { readDecoderConfig } from '../../../src/models/local/families/hf-config.js';
import { TextGenerator } from '../../../src/models/local/generation/generation.js';
import { buildInferenceGraph } from '../../../src/models/local/graph/decoder.js';
import { storedParameters } from '../../../src/models/local/graph/parameters.js';
import { openWeights } from '../../../src/models/local/weights/gguf-tensors.js';
import { familyDirectory, readFamily, recurrentFamilies } from './reference-families.js';

const bytes = { get: (id: number) => Uint8Array.of(id), isByte: () => false, stripsFirstSpace: false };
const hooks = { isAborted: () => false };

function request(prompt: readonly number[], change: { seeds?: number[]; maxTokens?: number } = {}) {
  return {
    seeds: [1],
    maxTokens: 24,
    sampledLogProbabilities: true,
    prompt,
    sampling: { ...plainSampling, temperature: 1.5 },
    eosTokens: new Set([7, 8, 9]),
    ...change,
  };
}

describe.each(recurrentFamilies)('%s', (name) => {
  const directory = familyDirectory(name);
  const config = readDecoderConfig(directory);
  const ids = [...readFamily(name).prompts[0]!.ids];

  async function withSession<T>(use: (session: DecoderSession) => Promise<T>): Promise<T> {
    const graph = buildInferenceGraph(config, (g) => storedParameters(g, openWeights(directory), 'float32'));
    const session = await openSession(graph, config, { device: 'cpu', threads: 1 });
    try {
      return await use(session);
    } finally {
      await session.close();
    }
  }

  it('resumes from kept states and answers as it does without them', () =>
    withSession(async (session) => {
      const generator = new TextGenerator(session, config, bytes);
      const fresh = async (prompt: readonly number[]) =>
        (await new TextGenerator(session, config, bytes).generate(request(prompt), hooks)).replies;
      const first = await generator.generate(request(ids), hooks);
      expect(first).toMatchObject({ cachedTokens: 0, promptTokens: 300 });
      const answered = [...ids, ...first.replies[0]!.ids];
      const steps: [readonly number[], number][] = [
        // Only whole chunks are kept, not the end of the prompt or its reply.
        [[...answered, 5, 6], 256],
        [[...ids.slice(0, 290), 3, 4, 5], 256],
        [ids.slice(0, 280), 256],
        [ids.slice(0, 256), 0],
        [[...ids.slice(0, 10), ...ids], 0],
      ];
      for (const [prompt, cachedTokens] of steps) {
        const found = await generator.generate(request(prompt), hooks);
        expect(found.cachedTokens).toBe(cachedTokens);
        expect(found.replies.map((one) => one.ids)).toEqual((await fresh(prompt)).map((one) => one.ids));
      }
    }));

  it('gives each candidate the same reply as alone, however long the others are', () =>
    withSession(async (session) => {
      const generator = new TextGenerator(session, config, bytes);
      const seeds = [1, 2, 3, 4, 5, 6];
      const { replies } = await generator.generate(request(ids, { seeds, maxTokens: 60 }), hooks);
      expect(new Set(replies.map((one) => one.ids.length)).size).toBeGreaterThan(2);
      for (const [i, seed] of seeds.entries()) {
        const alone = await generator.generate(request(ids, { seeds: [seed], maxTokens: 60 }), hooks);
        expect(alone.replies[0]!.ids).toEqual(replies[i]!.ids);
      }
    }));
});

it('StateSnapshots keeps only the states at the latest positions', () => {
  const places = new StateSnapshots();
  for (let tokens = 10; tokens <= 120; tokens += 10) places.add(tokens, [Float32Array.of(tokens)]);
  expect(places.statesAt(40)).toEqual([]);
  expect(places.cut(49)).toBe(0);
  places.add(30, [Float32Array.of(30)]);
  places.add(60, [Float32Array.of(60)]);
  expect(places.cut(59)).toBe(30);
  expect(places.statesAt(60)).toEqual([]);
  expect(places.statesAt(30)).toEqual([Float32Array.of(30)]);
});
