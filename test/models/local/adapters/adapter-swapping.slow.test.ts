import path from 'node:path';
import { describe, expect, it, test, vi } from 'vitest';
import {
  type AdapterInputs,
  adaptedModules,
  adapterInputs,
} from '../../../../src/models/local/engine/adapter-inputs.js';
import { cacheShape, KeyValueCache } from '../../../../src/models/local/engine/key-value-cache.js';
import { ort } from '../../../../src/models/local/engine/onnx-runtime.js';
import { openSession } from '../../../../src/models/local/engine/runtime.js';
import { readDecoderConfig } from '../../../../src/models/local/families/hf-config.js';
import { buildGraph, type Engine, loadEngine } from '../../../../src/models/local/generation/engine.js';
import { PromptCaches } from '../../../../src/models/local/generation/prompt-caches.js';
import type { GenerateJob } from '../../../../src/models/local/generation/protocol.js';
import { openAdapter } from '../../../../src/models/local/graph/adapter.js';
import { createLocalModel, openLocalModels } from '../../../../src/models/local/process/local-model.js';
import { localSchema } from '../../../../src/models/local/settings.js';
import { openWeights } from '../../../../src/models/local/weights/gguf-tensors.js';
import type { Quantization } from '../../../../src/models/local/weights/quantization.js';
import { answerGrammar } from '../../../../src/prompting/notation/grammar.js';
import { ask } from '../../../support/ask.js';
import { readReference, referenceDirectory, referenceModels } from '../fixture.js';
import { randomAdapter } from '../random-adapter.js';

const hooks = { aborted: () => false };

/** Three adapters that differ in rank, in scale and in the modules that they change. */
function adaptersOf(model: string): string[] {
  return [
    path.join(model, 'adapter-after-12-steps'),
    randomAdapter({ model, rank: 5, modules: ['q_proj', 'down_proj'], seed: 1, rankStabilized: true }),
    randomAdapter({ model, rank: 1, modules: ['gate_proj', 'v_proj', 'o_proj'], seed: 2 }),
  ];
}

function engineOf(
  model: string,
  rest: { adapter?: string; adapters?: string[]; quantization?: Quantization },
) {
  return loadEngine({
    path: model,
    device: 'cpu',
    quantization: 'none',
    threads: 1,
    template: {},
    contextTokens: undefined,
    ...rest,
  });
}

const jobOf = (name: string, rest: Partial<GenerateJob> = {}): GenerateJob => ({
  messages: readReference(name).messages,
  seeds: [1],
  maxTokens: 20,
  sampling: { temperature: 0 },
  stop: [],
  ...rest,
});

/** Logits of every place of a prompt. */
async function promptLogits(
  model: string,
  ids: readonly number[],
  quantization: Quantization,
  adapter: { readonly alone?: string | undefined } | { readonly all: string[]; readonly chosen: number },
): Promise<Float32Array> {
  const config = readDecoderConfig(model);
  const weights = openWeights(model);
  const all = 'all' in adapter ? adapter.all.map((directory) => openAdapter(directory, config)) : [];
  const modules = adaptedModules(all);
  const alone = 'alone' in adapter ? adapter.alone : undefined;
  const graph = buildGraph({ path: model, adapter: alone, quantization }, config, weights, modules);
  const session = await openSession(graph, config, { device: 'cpu', threads: 1 });
  const shape = cacheShape(config);
  const { logits } = await session.forward({
    ids,
    rows: 1,
    position: 0,
    adapter: await adapterInputs(modules, weights, 'all' in adapter ? all[adapter.chosen] : undefined),
    prompt: new KeyValueCache(shape),
    own: new KeyValueCache(shape),
    logitsOf: [...ids.keys()],
  });
  const copy = logits.slice();
  await session.close();
  return copy;
}

function largestDifference(a: Float32Array, b: Float32Array): number {
  expect(a.length).toBe(b.length);
  return a.reduce((largest, value, i) => Math.max(largest, Math.abs(value - b[i]!)), 0);
}

function meanDifference(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, value, i) => sum + Math.abs(value - b[i]!), 0) / a.length;
}

describe.each(referenceModels)('%s, loaded once for three adapters', (name) => {
  const model = referenceDirectory(name);
  const adapters = adaptersOf(model);
  const ids = readReference(name).prompt_ids;

  it.each([0, 1, 2, 3])('adapter %i gives the logits of that adapter alone (3: the base)', async (chosen) => {
    const swapped = await promptLogits(model, ids, 'none', { all: adapters, chosen });
    const alone = await promptLogits(model, ids, 'none', { alone: adapters[chosen] });
    expect(largestDifference(swapped, alone)).toBeLessThan(1e-5);
    if (chosen === 3) expect(swapped).toEqual(alone);
    else {
      const base = await promptLogits(model, ids, 'none', {});
      expect(largestDifference(swapped, base)).toBeGreaterThan(0.01);
    }
  });

  it('gives each adapter the same answers as alone, in any order, from one session', async () => {
    const engine = await engineOf(model, { adapters });
    const create = vi.spyOn(ort.InferenceSession, 'create');
    const turns = [0, 1, undefined, 2, 1, 0, undefined, 1, 2];
    const said: (readonly [number | undefined, Awaited<ReturnType<Engine['generate']>>[]])[] = [];
    for (const turn of turns) {
      const adapter = turn === undefined ? {} : { adapter: adapters[turn]! };
      const greedy = await engine.generate(jobOf(name, adapter), hooks);
      const sampled = await engine.generate(
        jobOf(name, { ...adapter, seeds: [3, 4], sampling: { temperature: 1 } }),
        hooks,
      );
      said.push([turn, [greedy, sampled]]);
    }
    expect(create).not.toHaveBeenCalled();
    create.mockRestore();
    await engine.close();
    const texts = new Set<string>();
    for (const turn of new Set(turns)) {
      const alone = await engineOf(model, turn === undefined ? {} : { adapter: adapters[turn]! });
      const greedy = await alone.generate(jobOf(name), hooks);
      const sampled = await alone.generate(
        jobOf(name, { seeds: [3, 4], sampling: { temperature: 1 } }),
        hooks,
      );
      await alone.close();
      texts.add(sampled.answers[0]!.text);
      for (const [, results] of said.filter(([one]) => one === turn)) {
        expect(results.map(({ answers }) => answers)).toEqual([greedy.answers, sampled.answers]);
      }
    }
    // An adapter that changed nothing would be right by chance.
    expect(texts.size).toBeGreaterThan(2);
  });
});

test.each(['int8', 'int4'] as const)(
  'an adapter chosen over %s weights gives nearly the logits of that adapter alone',
  async (quantization) => {
    const name = 'qwen2-tied-bf16-sharded';
    const model = referenceDirectory(name);
    const adapters = adaptersOf(model);
    const logits = (adapter: Parameters<typeof promptLogits>[3]) =>
      promptLogits(model, readReference(name).prompt_ids, quantization, adapter);
    const base = await logits({});
    expect(await logits({ all: adapters, chosen: 3 })).toEqual(base);
    for (const chosen of [0, 1, 2]) {
      const alone = await logits({ alone: adapters[chosen] });
      const swapped = await logits({ all: adapters, chosen });
      // Activations are rounded to 8 bits: a difference in the last place tips one of them now and then.
      expect(meanDifference(swapped, alone)).toBeLessThan(0.1 * meanDifference(alone, base));
    }
  },
);

describe('cached keys and values of a prompt', () => {
  const name = 'llama3-rope-bf16';
  const model = referenceDirectory(name);

  it('are reused only by the adapter that computed them', async () => {
    const adapters = adaptersOf(model);
    const engine = await engineOf(model, { adapters });
    const cached = async (adapter?: string) => {
      const result = await engine.generate(jobOf(name, adapter === undefined ? {} : { adapter }), hooks);
      return result.promptTokens - result.cachedTokens;
    };
    const whole = readReference(name).prompt_ids.length;
    for (const adapter of [...adapters, undefined]) expect(await cached(adapter)).toBe(whole);
    for (const adapter of [undefined, ...adapters]) expect(await cached(adapter)).toBe(1);
    await engine.close();
  });

  it('are evicted in least-recently-used order', async () => {
    const caches = new PromptCaches(() => new KeyValueCache({ layers: 1, kvHeads: 1, headDim: 2 }), {
      requests: 1,
      tokens: 100,
      carries: false,
    });
    const placeOf = (adapter: AdapterInputs) => caches.of({ adapter, long: false }, [7]);
    const adapters = Array.from({ length: 5 }, () => ({}));
    const seen = new Set<unknown>();
    for (const adapter of adapters) {
      const held = await placeOf(adapter);
      const entries = [new ort.Tensor('float32', [1, 2], [1, 1, 1, 2])];
      void held.cache.append({ keys: entries, values: entries, tokens: 1 });
      held.tokens = [7];
      seen.add(await placeOf(adapters[0]!));
    }
    expect(seen.size).toBe(1);
    // The second gave its memory to the fifth.
    expect((await placeOf(adapters[0]!)).tokens).toEqual([7]);
    expect((await placeOf(adapters[1]!)).tokens).toEqual([]);
    const fresh = await placeOf({});
    expect(fresh.tokens).toEqual([]);
    expect(fresh.cache.length).toBe(0);
  });
});

test('an adapter that was not loaded is refused, not ignored', async () => {
  const name = 'qwen3-fp32';
  const engine = await engineOf(referenceDirectory(name), {});
  const [adapter] = adaptersOf(referenceDirectory(name));
  await expect(engine.generate(jobOf(name, { adapter: adapter! }), hooks)).rejects.toThrow(/was not loaded/);
  await engine.close();
});

test('models that share a process give the same text at the same time as each in its own process', async () => {
  const name = 'qwen2-tied-bf16-sharded';
  const model = referenceDirectory(name);
  const [trained, other] = adaptersOf(model);
  const config = localSchema.parse({
    provider: 'local',
    path: model,
    threads: 1,
    device: 'cpu',
    maxTokens: 16,
    format: 'text',
    temperature: 1,
  });
  const shared = openLocalModels(config, [trained!, other!]);
  const { messages } = readReference(name);
  const grammar = answerGrammar({ count: 3, kind: 'float', low: -6, high: 6, decimals: 1 });
  const choices = [undefined, trained, other];
  const models = choices.map((adapter) => shared.model(adapter));
  expect(models.map(({ id }) => id)).toEqual([
    'local/qwen2-tied-bf16-sharded',
    'local/qwen2-tied-bf16-sharded+adapter-after-12-steps',
    'local/qwen2-tied-bf16-sharded+random-1',
  ]);
  try {
    const said = await Promise.all(models.map((one) => ask(one, messages, { grammar, seeds: [9] })));
    for (const [i, adapter] of choices.entries()) {
      const alone = createLocalModel({ ...config, adapter });
      expect((await ask(alone, messages, { grammar, seeds: [9] })).text).toBe(said[i]!.text);
      await alone.close?.();
    }
    expect(new Set(said.map(({ text }) => text)).size).toBe(3);
    expect(() => openLocalModels(config, [path.join(model, 'nothing')])).toThrow(/no such directory/);
  } finally {
    await shared.close();
  }
});
