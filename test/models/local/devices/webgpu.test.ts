import { cpSync, rmSync } from 'node:fs';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { surveyDevices } from '../../../../src/models/local/engine/device.js';
import { openDeviceCaches } from '../../../../src/models/local/engine/device-cache.js';
import {
  KeyValueCache,
  type NewEntries,
  type TokenCache,
} from '../../../../src/models/local/engine/key-value-cache.js';
import { ort } from '../../../../src/models/local/engine/onnx-runtime.js';
import { openSession } from '../../../../src/models/local/engine/runtime.js';
import { readDecoderConfig } from '../../../../src/models/local/families/hf-config.js';
import { buildGraph, loadEngine } from '../../../../src/models/local/generation/engine.js';
import type { GeneratedReply, GenerationJob } from '../../../../src/models/local/generation/protocol.js';
import { GraphBuilder } from '../../../../src/models/local/graph/graph.js';
import type { Device } from '../../../../src/models/local/settings.js';
import { openWeights } from '../../../../src/models/local/weights/gguf-tensors.js';
import type { Quantization } from '../../../../src/models/local/weights/quantization.js';
import { temporaryDirectory } from '../../../support/temporary-directory.js';
import { readReference, referenceDirectory, referenceModels } from '../fixture.js';

const { usable } = await surveyDevices();

// A Vulkan driver in software will do: SwiftShader, which comes with Chromium, or Mesa's lavapipe from version 25 on.
describe.skipIf(!usable.includes('webgpu'))('on a GPU via WebGPU (skipped without a Vulkan driver)', () => {
  const shape = { layers: 2, kvHeads: 2, headDim: 4 };

  describe('a cache on the device', () => {
    let caches: Awaited<ReturnType<typeof openDeviceCaches>>;
    let upload: ort.InferenceSession;
    let download: ort.InferenceSession;

    beforeAll(async () => {
      const g = new GraphBuilder();
      const axes = ['A', 'B', 'C', 'D'];
      g.output('y', g.op('Neg', [g.input('x', 'float32', axes)]), 'float32', axes);
      const { model } = g.build('copy');
      caches = await openDeviceCaches(shape);
      const options = { executionProviders: ['webgpu'] };
      download = await ort.InferenceSession.create(model, options);
      upload = await ort.InferenceSession.create(model, {
        ...options,
        preferredOutputLocation: 'gpu-buffer',
      });
    });

    afterAll(async () => {
      await caches.close();
      await upload.release();
      await download.release();
    });

    /** Entries with numbers that occur once, in this process and (negative) on the device. */
    async function entries(rows: number, tokens: number, from: number) {
      const dims = [shape.kvHeads, rows, tokens, shape.headDim];
      const size = dims.reduce((product, one) => product * one);
      const host = Array.from({ length: 2 * shape.layers }, (_, part) => {
        const numbers = Float32Array.from({ length: size }, (_, i) => from + part * size + i);
        return new ort.Tensor('float32', numbers, dims);
      });
      const device: ort.Tensor[] = [];
      for (const x of host) device.push((await upload.run({ x })).y!);
      const split = (parts: readonly ort.Tensor[]): NewEntries => ({
        keys: parts.slice(0, shape.layers),
        values: parts.slice(shape.layers),
        tokens,
      });
      return { host: split(host), device: split(device), next: from + 2 * shape.layers * size };
    }

    const numbersOf = ({ keys, values }: NewEntries) => [...keys, ...values].map(({ data }) => [...data]);

    /** The tokens of one row, read from the device. */
    async function downloaded(cache: TokenCache, row: number): Promise<unknown> {
      const { keys, values } = await cache.entries(row);
      const parts: number[][] = [];
      for (const x of [...keys, ...values]) {
        parts.push([...((await download.run({ x })).y!.data as Float32Array)]);
        x.dispose();
      }
      return parts;
    }

    const change = fc.oneof(
      fc.record({ kind: fc.constant('append' as const), tokens: fc.constantFrom(1, 2, 3, 40) }),
      fc.record({ kind: fc.constant('truncate' as const), length: fc.integer({ min: 0, max: 60 }) }),
      fc.record({ kind: fc.constant('drop' as const), index: fc.integer({ min: 0, max: 3 }) }),
    );

    test('holds the same entries as a cache in this process after random changes', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.integer({ min: 1, max: 3 }),
          fc.array(change, { maxLength: 6 }),
          async (rows, changes) => {
            const [host, device] = [new KeyValueCache(shape), caches.newCache()];
            for (const cache of [host, device]) cache.reset(rows);
            let from = 1;
            for (const step of changes) {
              if (step.kind === 'append') {
                const added = await entries(host.rows, step.tokens, from);
                from = added.next;
                host.append(added.host);
                await device.append(added.device);
              } else if (step.kind === 'truncate') {
                for (const cache of [host, device]) cache.truncate(step.length);
              } else if (host.rows > 1) {
                const dropped = step.index % host.rows;
                const kept = Array.from({ length: host.rows }, (_, row) => row).filter(
                  (row) => row !== dropped,
                );
                host.keepRows(kept);
                await device.keepRows(kept);
              }
            }
            expect([device.rows, device.length]).toEqual([host.rows, host.length]);
            if (host.length > 0)
              for (let row = 0; row < host.rows; row++)
                expect(await downloaded(device, row)).toEqual(numbersOf(host.entries(row)));
            device.reset(1);
          },
        ),
        { numRuns: 25 },
      );
    });

    test('updates its tensors in place while there is room', async () => {
      const cache = caches.newCache();
      await cache.append((await entries(1, 3, 1)).device);
      const before = cache.tensors();
      for (let token = 0; token < 4; token++) await cache.append((await entries(1, 1, 100)).device);
      expect(cache.tensors()).toBe(before);
      expect(cache.length).toBe(7);
    });
  });

  const job = (name: string, more: Partial<GenerationJob> = {}): GenerationJob => ({
    messages: readReference(name).messages,
    seeds: [1, 2],
    maxTokens: 8,
    sampling: { temperature: 0 },
    sampledLogProbabilities: true,
    ...more,
  });

  const load = (name: string, device: Device, quantization: Quantization = 'none') =>
    loadEngine({
      path: referenceDirectory(name),
      threads: 1,
      contextTokens: undefined,
      template: {},
      device,
      quantization,
    });

  const hooks = { isAborted: () => false };

  test.each(referenceModels)(
    "%s: greedy ids equal the reference, and log-probabilities match the CPU's",
    async (name) => {
      const [processor, gpu] = [await load(name, 'cpu'), await load(name, 'webgpu')];
      try {
        const expected = await processor.generate(job(name), hooks);
        const { replies } = await gpu.generate(job(name), hooks);
        for (const [i, reply] of replies.entries()) {
          expect(reply.ids).toEqual(readReference(name).greedy_ids.slice(0, reply.ids.length));
          expect(largestDifference(logsOf(reply), logsOf(expected.replies[i]))).toBeLessThan(1e-4);
        }
      } finally {
        await processor.close();
        await gpu.close();
      }
    },
  );

  test.each(['int4', 'int8', 'int4-block128'] as const)(
    "%s: logits match the CPU's if activations aren't rounded",
    async (quantization) => {
      const name = 'llama3-rope-bf16';
      const path = temporaryDirectory();
      cpSync(referenceDirectory(name), path, { recursive: true });
      const config = readDecoderConfig(path);
      const graph = buildGraph({ path, quantization, device: 'webgpu' }, config, openWeights(path));
      const logits = async (device: Device) => {
        const session = await openSession(graph, config, { device, threads: 1 });
        const ids = readReference(name).prompt_ids;
        const [promptCache, ownCache] = [session.newCache(), session.newCache()];
        const common = { rows: 1, position: 0, promptCache, ownCache };
        const output = await session.forward({ ...common, ids, logitIndices: [ids.length - 1] });
        await session.close();
        return [...output.logits];
      };
      expect(largestDifference(await logits('webgpu'), await logits('cpu'))).toBeLessThan(1e-4);
      rmSync(path, { recursive: true });
    },
  );

  test("sampled replies equal the CPU's, even after the prompt was extended and cut", async () => {
    const name = 'qwen3-fp32';
    const [processor, gpu] = [await load(name, 'cpu'), await load(name, 'webgpu')];
    try {
      const [first, ...others] = readReference(name).messages;
      const longer = [first!, ...others, { role: 'user' as const, content: 'and so on, '.repeat(60) }];
      for (const messages of [[first!, ...others], longer, [first!, ...others]]) {
        const several = job(name, { messages, seeds: [3, 4, 5], maxTokens: 8, sampling: { temperature: 1 } });
        const [expected, found] = [
          await processor.generate(several, hooks),
          await gpu.generate(several, hooks),
        ];
        expect(found.replies.map(({ ids }) => ids)).toEqual(expected.replies.map(({ ids }) => ids));
        expect(found.cachedTokens).toBe(expected.cachedTokens);
      }
    } finally {
      await processor.close();
      await gpu.close();
    }
  });

  test('keys and values stay on the device: per token, a longer prompt copies at most 4 more bytes for each added slot', async () => {
    const name = 'qwen3-fp32';
    const gpu = await load(name, 'webgpu');
    const copied: number[] = [];
    const { run } = sessions;
    const spy = vi.spyOn(sessions, 'run').mockImplementation(async function (
      this: unknown,
      feeds,
      fetches = {},
    ) {
      const given = Object.keys(fetches).length > 0 ? [feeds, fetches] : [feeds];
      const bytes = bytesHere(Object.values(feeds));
      const results = await run.apply(this, given as RunArguments);
      copied.push(bytes + bytesHere(Object.values(results)));
      return results;
    });
    try {
      const ofToken = async (words: number) => {
        const content = 'and so on, '.repeat(words);
        copied.length = 0;
        const settings = { messages: [{ role: 'user' as const, content }], seeds: [1], maxTokens: 6 };
        const { promptTokens } = await gpu.generate(job(name, settings), hooks);
        // The last token's two runs, of the model and of the cache, come before two that keep the reply.
        return { promptTokens, bytes: copied.at(-4)! + copied.at(-3)! };
      };
      const [short, long] = [await ofToken(5), await ofToken(60)];
      // A place of 4 bytes for each slot is all that grows, and slots come in blocks.
      expect(long.promptTokens).toBeGreaterThan(short.promptTokens + 64);
      const slots = long.promptTokens - short.promptTokens + 64;
      expect(long.bytes - short.bytes).toBeLessThanOrEqual(4 * slots);
    } finally {
      spy.mockRestore();
      await gpu.close();
    }
  });
});

/** What all sessions of the runtime have in common. */
const sessions = (
  ort.InferenceSession as unknown as { prototype: { run(...args: RunArguments): Promise<Tensors> } }
).prototype;
type Tensors = Record<string, ort.Tensor>;
type RunArguments = [feeds: Tensors, fetches?: Tensors];

/** Bytes of the tensors that are in this process. */
function bytesHere(tensors: readonly ort.Tensor[]): number {
  return tensors
    .filter(({ location }) => location === 'cpu')
    .reduce((sum, { data }) => sum + (data as Float32Array).byteLength, 0);
}

const logsOf = (reply: GeneratedReply | undefined) => reply?.sampledLogProbabilities;

function largestDifference(a: readonly number[] = [], b: readonly number[] = []): number {
  expect(a.length).toBe(b.length);
  return Math.max(...a.map((value, i) => Math.abs(value - b[i]!)));
}
