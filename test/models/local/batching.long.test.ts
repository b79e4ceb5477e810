import { afterAll, describe, expect, it } from 'vitest';
import { createGenerator } from '../../../src/base/random/generator.js';
import { plainSampling } from '../../../src/models/language-model.js';
import { bytesPerToken, cacheShape } from '../../../src/models/local/engine/key-value-cache.js';
import { type DecoderSession, openSession } from '../../../src/models/local/engine/runtime.js';
import { readDecoderConfig } from '../../../src/models/local/families/hf-config.js';
import type { GenerationHooks, GenerationRequest } from '../../../src/models/local/generation/candidate.js';
import { buildGraph } from '../../../src/models/local/generation/engine.js';
import { TextGenerator } from '../../../src/models/local/generation/generation.js';
import type { Generation } from '../../../src/models/local/generation/protocol.js';
import { stateShapes } from '../../../src/models/local/weights/decoder-config.js';
import { openWeights } from '../../../src/models/local/weights/gguf-tensors.js';
import type { Quantization } from '../../../src/models/local/weights/quantization.js';
import { largest } from '../../../src/statistics/descriptive.js';
import { referenceDirectory, referenceModels } from './fixture.js';
import { familyDirectory, recurrentFamilies, referenceFamilies } from './reference-families.js';

const never: GenerationHooks = { isAborted: () => false };

/** A model whose runs are recorded. */
interface Watched {
  readonly session: DecoderSession;
  /** Rows and new tokens of each run so far. */
  readonly runs: { readonly rows: number; readonly tokens: number }[];
  /** @param most requests at the same time */
  generator(most: number, memory?: { readonly rows: number; readonly prompts: number }): TextGenerator;
  request(number: number, change?: Partial<GenerationRequest>): GenerationRequest;
}

const opened: DecoderSession[] = [];
afterAll(async () => {
  for (const session of opened) await session.close();
});

async function open(path: string, quantization: Quantization = 'none', threads = 1): Promise<Watched> {
  const config = readDecoderConfig(path);
  const graph = buildGraph({ path, quantization }, config, openWeights(path));
  const session = await openSession(graph, config, { device: 'cpu', threads });
  opened.push(session);
  const runs: Watched['runs'] = [];
  const watched: DecoderSession = {
    ...session,
    forward(input) {
      runs.push({ rows: input.rows, tokens: input.ids.length / input.rows });
      return session.forward(input);
    },
  };
  const bytes = {
    get: (id: number) => Uint8Array.of(32 + (id % 90)),
    isByte: () => false,
    stripsFirstSpace: false,
  };
  return {
    session: watched,
    runs,
    generator: (most, memory) => new TextGenerator(watched, config, bytes, most, memory),
    // Prompts of different lengths.
    request(number, change = {}) {
      const random = createGenerator(number);
      return {
        prompt: Array.from({ length: 9 + 11 * number }, () => random.integers(10, config.vocabulary)),
        conversation: `${number}`,
        seeds: [number],
        maxTokens: 12 + 5 * (number % 3),
        sampling: { ...plainSampling, temperature: number % 2 === 0 ? 0 : 1.2 },
        sampledLogProbabilities: true,
        eosTokens: new Set([2]),
        ...change,
      };
    },
  };
}

/** Each request by itself, with nothing cached from others. */
async function alone(model: Watched, requests: readonly GenerationRequest[], most: number) {
  const results: Generation[] = [];
  for (const request of requests) results.push(await model.generator(most).generate(request, never));
  return results;
}

const together = (generator: TextGenerator, requests: readonly GenerationRequest[]) =>
  Promise.all(requests.map((request) => generator.generate(request, never)));

const idsOf = (results: readonly Generation[]) => results.map(({ replies }) => replies.map(({ ids }) => ids));
const scoresOf = (results: readonly Generation[]) =>
  results.flatMap(({ replies }) => replies.flatMap((one) => one.sampledLogProbabilities!));

const difference = (a: readonly Generation[], b: readonly Generation[]) => {
  const others = scoresOf(b);
  return largest(scoresOf(a).map((score, i) => Math.abs(score - others[i]!)));
};

/** The same tokens, with the same log-probabilities except for float rounding. */
function expectSame(a: readonly Generation[], b: readonly Generation[]): void {
  expect(idsOf(a)).toEqual(idsOf(b));
  expect(difference(a, b)).toBeLessThan(1e-5);
}

/** Settings of all kinds, side by side. */
const mixed = (model: Watched): GenerationRequest[] => [
  model.request(0),
  model.request(1, { seeds: [1, 2, 3] }),
  model.request(2, { maxTokens: 3 }),
  model.request(3, { maxTokens: 60 }),
  model.request(4, { sampling: { ...plainSampling, temperature: 0.8, topK: 20, repetitionPenalty: 1.3 } }),
  model.request(5, { sampling: { ...plainSampling, topP: 0.9, minP: 0.01 }, seeds: [7, 8] }),
];

describe.each([
  ...referenceModels.map((name) => [name, referenceDirectory(name), 'none'] as const),
  ...[...referenceFamilies, ...recurrentFamilies].map(
    (name) => [name, familyDirectory(name), 'none'] as const,
  ),
  ['qwen2-tied-bf16-sharded, int8', referenceDirectory('qwen2-tied-bf16-sharded'), 'int8'] as const,
])('%s', (_, path, quantization) => {
  it('gives prompts of different lengths the same replies in one batch as alone', async () => {
    const model = await open(path, quantization);
    const requests = mixed(model);
    const apart = await alone(model, requests, 8);
    expect(model.runs.every(({ rows }) => rows <= 3)).toBe(true);
    model.runs.length = 0;
    const beside = await together(model.generator(8), requests);
    expect(Math.max(...model.runs.map(({ rows }) => rows))).toBeGreaterThan(5);
    expectSame(beside, apart);
    model.runs.length = 0;
    const asked = requests.map((request) => ({ ...request, readTogether: true }));
    expectSame(await together(model.generator(8), asked), apart);
    expect(model.runs.some(({ rows, tokens }) => rows > 3 && tokens > 1)).toBe(
      stateShapes(readDecoderConfig(path)).length === 0,
    );
    expect(beside.map(({ promptTokens, cachedTokens }) => [promptTokens, cachedTokens])).toEqual(
      apart.map(({ promptTokens, cachedTokens }) => [promptTokens, cachedTokens]),
    );
    expect(
      beside.map(({ replies }) => replies.map(({ text, finishReason }) => [text, finishReason])),
    ).toEqual(apart.map(({ replies }) => replies.map(({ text, finishReason }) => [text, finishReason])));
    // And as without batches, where rows share their prompt; 8-bit activations make more of the other rounding.
    if (quantization === 'none') expect(idsOf(beside)).toEqual(idsOf(await alone(model, requests, 1)));
  });
});

describe('a batch', () => {
  const path = referenceDirectory('llama3-rope-bf16');

  it('lets requests join and leave between steps', async () => {
    const model = await open(path);
    const long = model.request(1, { maxTokens: 60, eosTokens: new Set() });
    const [apart, late] = await alone(model, [long, model.request(2)], 4);
    const generator = model.generator(4);
    let joined: Promise<Generation> | undefined;
    let asked = 0;
    const first = await generator.generate(long, {
      isAborted() {
        if (++asked === 10) joined = generator.generate(model.request(2), never);
        return false;
      },
    });
    expectSame([first, await joined!], [apart!, late!]);
    model.runs.length = 0;
    await together(generator, [long, model.request(2)]);
    const decoded = model.runs.filter(({ tokens }) => tokens === 1).map(({ rows }) => rows);
    // The short one left; nothing was computed for it any more.
    expect(decoded.slice(-1)).toEqual([1]);
    expect(decoded.filter((rows) => rows === 2).length).toBe(late!.replies[0]!.ids.length - 1);
  });

  it('holds as many requests as its limits allow, but at least one; further requests wait', async () => {
    const model = await open(path);
    const requests = [1, 2, 3, 4, 5].map((number) =>
      model.request(number, { eosTokens: new Set(), seeds: [number, 9] }),
    );
    const apart = await alone(model, requests, 8);
    const mostRows = async (generator: TextGenerator) => {
      model.runs.length = 0;
      expect(idsOf(await together(generator, requests))).toEqual(idsOf(apart));
      return Math.max(...model.runs.map(({ rows }) => rows));
    };
    expect(await mostRows(model.generator(2))).toBe(4);
    const perToken = bytesPerToken(cacheShape(readDecoderConfig(path)));
    const longest = Math.max(...requests.map(({ prompt, maxTokens }) => prompt.length + maxTokens));
    const rows = (tokens: number) => ({ rows: tokens * perToken, prompts: 2 ** 30 });
    expect(await mostRows(model.generator(8, rows(6 * longest)))).toBe(6);
    // One that is too large by itself is met alone, its rows sharing the prompt.
    expect(await mostRows(model.generator(8, rows(1)))).toBe(2);
  });

  it("reads only the new tokens of each game's prompt while all games fit into memory", async () => {
    const model = await open(path);
    const perToken = bytesPerToken(cacheShape(readDecoderConfig(path)));
    const { prompt: random } = model.request(20);
    // The first two games are the same for two turns.
    const played = [0, 1, 2, 3].map((game) => random.with(0, Math.max(1, game)).with(70, 10 + game));
    const readBefore = async (tokens: number) => {
      const generator = model.generator(4, { rows: 2 ** 29, prompts: tokens * perToken });
      const turns: number[][] = [];
      for (const length of [30, 60, 90, 120]) {
        const requests = played.map((ids, game) =>
          model.request(game, { prompt: ids.slice(0, length), conversation: 'all', readTogether: true }),
        );
        turns.push((await together(generator, requests)).map(({ cachedTokens }) => cachedTokens));
      }
      return turns;
    };
    const before = [30, 60, 90].map((length) => Array(4).fill(length));
    expect((await readBefore(4 * 120)).slice(1)).toEqual(before);
    expect((await readBefore(120)).slice(1)).not.toEqual(before);
  });

  it('continues when one request is aborted', async () => {
    const model = await open(path);
    const requests = [1, 2, 3].map((number) =>
      model.request(number, { maxTokens: 30, eosTokens: new Set() }),
    );
    const apart = await alone(model, requests, 4);
    const generator = model.generator(4);
    let asked = 0;
    const settled = await Promise.allSettled([
      generator.generate(requests[0]!, never),
      generator.generate(requests[1]!, { isAborted: () => ++asked > 12 }),
      generator.generate(requests[2]!, never),
    ]);
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(settled[1]).toMatchObject({ reason: { name: 'AbortedError' } });
    const [first, , third] = settled;
    const met = [first, third].map((one) => (one as PromiseFulfilledResult<Generation>).value);
    expectSame(met, [apart[0]!, apart[2]!]);
    // Nothing of it is left behind.
    const next = await together(generator, requests);
    expect(idsOf(next)).toEqual(idsOf(apart));
  });

  it('rejects its requests when a model run fails, and answers later requests', async () => {
    const model = await open(path);
    const broken = { ...model.session };
    const config = readDecoderConfig(path);
    const bytes = { get: () => Uint8Array.of(65), isByte: () => false, stripsFirstSpace: false };
    const generator = new TextGenerator(broken, config, bytes, 4);
    let runs = 0;
    broken.forward = (input) => {
      if (++runs === 4) throw new Error('no memory');
      return model.session.forward(input);
    };
    const requests = [model.request(1), model.request(2)];
    const settled = await Promise.allSettled(requests.map((one) => generator.generate(one, never)));
    expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(idsOf(await together(generator, requests))).toEqual(idsOf(await alone(model, requests, 4)));
  });

  it('reuses the cached prompts and replies of several conversations', async () => {
    const model = await open(path);
    const generator = model.generator(4);
    const first = [1, 2, 3].map((number) =>
      model.request(number, { eosTokens: new Set(), readTogether: true }),
    );
    const answered = await together(generator, first);
    const next = first.map((request, i) => ({
      ...request,
      prompt: [...request.prompt, ...answered[i]!.replies[0]!.ids, 11, 12, 13],
    }));
    const found = await together(generator, next);
    expect(idsOf(found)).toEqual(idsOf(await alone(model, next, 4)));
    for (const { cachedTokens, promptTokens } of found) expect(promptTokens - cachedTokens).toBe(4);
    // Two that go on from the same place leave it to each other.
    const forks = [21, 22].map((id) => ({ ...first[2]!, prompt: [...next[2]!.prompt, id, id, id] }));
    for (let turn = 0; turn < 2; turn++)
      for (const { cachedTokens, promptTokens } of await together(generator, forks))
        expect(promptTokens - cachedTokens).toBeLessThanOrEqual(4 - turn * 3);
    // Another name has nothing to go on from.
    const named = await generator.generate({ ...next[0]!, conversation: 'other' }, never);
    expect(named.cachedTokens).toBe(0);
  });
});
