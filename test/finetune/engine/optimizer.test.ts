import { describe, expect, it } from 'vitest';
import { scheduleFactor } from '../../../finetune/engine/optimisers.js';
import { addGradients, clipFactor, gradientNorm } from '../../../finetune/engine/training-session.js';
import { encodeFloats } from '../../../finetune/export/merged/merged-rows.js';
import { toFloat32 } from '../../../src/models/local/weights/quantization.js';

describe('gradients', () => {
  it('are clipped by their norm over all parameters', () => {
    const gradients = new Map([
      ['a', Float32Array.of(3)],
      ['b', Float32Array.of(0, 4)],
    ]);
    expect(gradientNorm(gradients)).toBe(5);
    expect(clipFactor(5, 1)).toBeCloseTo(0.2, 6);
    expect(clipFactor(0.5, 1)).toBe(1);
    expect(clipFactor(50, undefined)).toBe(1);
  });

  it('add up over the parts of a batch', () => {
    const first = addGradients(undefined, new Map([['a', Float32Array.of(1, 2)]]));
    expect([...addGradients(first, new Map([['a', Float32Array.of(3, -2)]])).get('a')!]).toEqual([4, 0]);
  });
});

describe('schedules', () => {
  const factors = (kind: 'constant' | 'linear' | 'cosine', floor = 0) =>
    Array.from({ length: 7 }, (_, step) =>
      scheduleFactor({ kind, warmupSteps: 2, totalSteps: 6, floor }, step),
    );

  it('rise during warm-up and, unless constant, fall afterwards, to 0 if there is no floor', () => {
    expect(factors('constant')).toEqual([0.5, 1, 1, 1, 1, 1, 1]);
    expect(factors('linear')).toEqual([0.5, 1, 1, 0.75, 0.5, 0.25, 0]);
    const cosine = factors('cosine');
    expect(cosine[4]).toBeCloseTo(0.5, 12);
    expect(cosine[6]).toBeCloseTo(0, 12);
  });

  it('end at their floor unless they are constant', () => {
    expect(factors('linear', 0.2)[4]).toBeCloseTo(0.6, 12);
    expect(factors('linear', 0.2)[6]).toBeCloseTo(0.2, 12);
    expect(factors('cosine', 0.03)[2]).toBe(1);
    expect(factors('cosine', 0.03)[6]).toBeCloseTo(0.03, 12);
    expect(factors('constant', 0.5)[6]).toBe(1);
  });
});

describe('stored float formats', () => {
  const ownBits = (dtype: string) =>
    Uint16Array.from({ length: 65_536 }, (_, bits) => bits).filter(
      (bits) => !Number.isNaN(toFloat32(Buffer.from(Uint16Array.of(bits).buffer), dtype)[0]!),
    );

  it.each(['F16', 'BF16'])('preserve every %s number exactly', (dtype) => {
    const bits = ownBits(dtype);
    const values = toFloat32(Buffer.from(bits.buffer), dtype);
    const written = new Uint16Array(encodeFloats(values, dtype).slice().buffer);
    const wrong = bits.filter((one, i) => written[i] !== one);
    expect([...wrong.slice(0, 5)]).toEqual([]);
  });

  it.each(['F16', 'BF16'])('round midpoints of neighbouring %s numbers to the even one', (dtype) => {
    const read = (bits: number) => toFloat32(Buffer.from(Uint16Array.of(bits).buffer), dtype)[0]!;
    for (const low of [0x0001, 0x0400, 0x03ff, 0x3c00, 0x3c01, 0x7bfe]) {
      const middle = (read(low) + read(low + 1)) / 2;
      const written = new Uint16Array(encodeFloats(Float32Array.of(middle), dtype).slice().buffer)[0];
      expect(written, String(low)).toBe(low % 2 === 0 ? low : low + 1);
    }
  });
});
