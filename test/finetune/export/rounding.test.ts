import { expect, it } from 'vitest';
import { encodeFloats } from '../../../finetune/export/merged/merged-rows.js';
import { createRoundingMeter, roundingNotes } from '../../../finetune/export/merged/rounding.js';
import { createGenerator } from '../../../src/base/random/generator.js';
import { decodeWeights } from '../../../src/models/local/weights/rows.js';

const random = createGenerator(5);
const normal = (scale: number) => Float32Array.from({ length: 4096 }, () => scale * random.normal());

/** Rounds base + change, where the base has already been rounded to the same type. */
function rounded(dtype: string, scale: number) {
  const encode = (values: Float32Array) => encodeFloats(values, dtype);
  const base = decodeWeights(Buffer.from(encode(normal(1))), dtype);
  const change = normal(scale);
  const merged = base.map((value, i) => value + change[i]!);
  const meter = createRoundingMeter();
  // In two parts, which add up.
  for (const [from, to] of [
    [0, 1024],
    [1024, 4096],
  ])
    meter.add(merged.slice(from, to), encode(merged.slice(from, to)), dtype, change.slice(from, to));
  return meter.keptChange();
}

it.each(['Q8_0', 'BF16'])('%s loses most of a tiny change, and keeps almost all of a large one', (dtype) => {
  const [tiny, small, large] = [1e-5, 2e-3, 0.1].map((scale) => rounded(dtype, scale));
  expect(tiny).toBeLessThan(0.2);
  expect(small).toBeLessThan(0.9);
  expect(large).toBeGreaterThan(0.99);
});

it('float32 keeps all of a small change, and float16 keeps almost all', () => {
  expect(rounded('F32', 1e-3)).toBe(1);
  expect(rounded('F16', 2e-3)).toBeGreaterThan(0.95);
});

it('the rounding note states the kept share, and appears only if the share is low', () => {
  expect(roundingNotes(0.9, 'q8_0', '')).toEqual([]);
  expect(roundingNotes(0.123, 'q8_0', '--dtype f16 keeps more')).toEqual([
    expect.stringContaining('rounding to q8_0 kept only 12 %'),
  ]);
});
