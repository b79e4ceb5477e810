import { describe, expect, it } from 'vitest';
import type { TokenExample } from '../../../finetune/engine/batch.js';
import type { Trainable } from '../../../finetune/engine/trainable.js';
import { estimateMemory, refuseImpossible } from '../../../finetune/train/memory-estimate.js';
import { shapes } from '../../../scripts/random-model.js';
import { parseDecoderConfig } from '../../../src/models/local/families/hf-config.js';
import { type AdaptableModule, adaptableModules } from '../../../src/models/local/graph/adapter.js';
import type { PackedMatrix, PackedWeights } from '../../../src/models/local/graph/packed-weights.js';
import { decoderTensors } from '../../../src/models/local/graph/parameters.js';
import type { StoredTensor } from '../../../src/models/local/weights/safetensors.js';

const config = parseDecoderConfig({ ...shapes['qwen2.5-0.5b'], eos_token_id: 2 }, 'config.json');

function stored(name: string, dtype: string, shape: readonly number[], bytes: number): StoredTensor {
  return { name, dtype, shape, file: '/nowhere', offset: 0, length: bytes };
}

const base = new Map(
  decoderTensors(config).map(({ name, shape }) => [
    name,
    stored(name, 'F32', shape, 4 * shape.reduce((a, b) => a * b, 1)),
  ]),
);

function quantized(bits: 4 | 8): PackedWeights {
  const matrices = [...base.values()]
    .filter(({ shape }) => shape.length === 2)
    .map(({ name, shape }): [string, PackedMatrix] => {
      const [rows, columns] = shape as [number, number];
      const blocks = columns / 32;
      const codes = stored(`${name}.codes`, 'U8', [rows, blocks, 4 * bits], rows * blocks * 4 * bits);
      const scales = stored(`${name}.scales`, 'F32', [rows, blocks], rows * blocks * 4);
      return [name, { rows, columns, bits, block: 32, offset: false, codes, scales }];
    });
  return { file: '', matrices: new Map(matrices), rounded: `int${bits}`, relativeError: 0 };
}

function adapter(
  bits?: 4 | 8,
  modules: readonly AdaptableModule[] = ['q_proj', 'k_proj', 'v_proj', 'o_proj'],
): Trainable {
  const lora = { rank: 8, alpha: 16, dropout: 0, rankStabilized: false, modules };
  return { kind: 'adapter', lora, base, quantized: bits === undefined ? undefined : quantized(bits) };
}

/** Examples that are all read at once. */
function estimate(trainable: Trainable, rows: number, tokens: number, answer: number, batchTokens?: number) {
  const example: TokenExample = {
    promptIds: Array<number>(tokens + 1 - answer).fill(1),
    completionIds: Array<number>(answer).fill(1),
    weight: 1,
  };
  const training = Array.from({ length: rows }, () => ({ ...example }));
  const settings = {
    seed: 0,
    batchExamples: rows,
    batchTokens: batchTokens ?? rows * tokens,
    packing: 'none',
  } as const;
  return estimateMemory({ config, trainable, training, sessions: 1, settings });
}

describe('the memory estimate is within 20 % of the measured peak', () => {
  /** Peak resident memory in GiB of a step at the shape of Qwen2.5-0.5B, float32, one thread (docs/log). */
  it.each([[2.53, 'float32 weights', adapter(), 1, 256, 64]] as const)(
    '%f GiB: %s',
    (measured, _, trainable, rows, tokens, answer) => {
      const ratio = estimate(trainable, rows, tokens, answer).total / (measured * 2 ** 30);
      expect(ratio).toBeGreaterThan(0.8);
      expect(ratio).toBeLessThan(1.2);
    },
  );
});

it('the memory estimate is for the largest batch, so a smaller batchTokens needs less', () => {
  const whole = estimate(adapter(), 4, 256, 64);
  const parts = estimate(adapter(), 4, 256, 64, 300);
  expect(whole.batch).toMatchObject({ examples: 4, tokens: 4 * 256, selected: 256 });
  expect(parts.batch).toMatchObject({ examples: 1, tokens: 256, selected: 64 });
  expect(parts.activations).toBeLessThan(whole.activations / 3.9);
});

it('training all weights also needs memory for their gradients and moments', () => {
  const all = estimate({ kind: 'all' }, 1, 256, 64);
  expect(all.weights).toEqual({ mapped: 0, copied: 0 });
  const weights = [...base.values()].reduce((sum, { length }) => sum + length, 0);
  expect(all.parameters).toBeGreaterThan(4 * weights);
});

it('the hint addresses what takes the most memory', () => {
  expect(estimate(adapter(), 8, 512, 64).hint).toMatch(/^lower batchTokens \(4096 tokens are processed/);
  expect(estimate(adapter(), 1, 2048, 64).hint).toMatch(/^shorten the examples/);
  expect(estimate(adapter(), 1, 32, 4).hint).toMatch(/^set method\.quantization to int4/);
  expect(estimate({ kind: 'all' }, 1, 64, 4).hint).toMatch(/^set method.kind to lora/);
  expect(estimate(adapter(4, adaptableModules), 1, 32, 4).hint).not.toMatch(/quantization/);
});

it('a training is refused only if it can never fit in memory', () => {
  const needed = estimate(adapter(), 1, 1024, 64);
  expect(() => refuseImpossible(needed, { total: 1.5 * 2 ** 30, free: 0 })).toThrow(
    /needs about \d\.\d+ GB, but this machine has only 1\.61 GB.*hint: shorten/s,
  );
  // The weights are mapped from their file: the system can drop them.
  expect(() => refuseImpossible(needed, { total: 5 * 2 ** 30, free: 0 })).not.toThrow();
});
