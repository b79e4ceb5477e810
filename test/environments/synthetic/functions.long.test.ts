import { describe, expect, it } from 'vitest';
import { makeSynthetic } from '../../../src/environments/catalogue/synthetic.js';
import { drawField } from '../../../src/environments/synthetic/functions.js';
import { createGenerator } from '../../../src/random/generator.js';

describe('a sample of a Gaussian process', () => {
  const pairs = (of: 'sum' | 'product', apart: number) =>
    Array.from({ length: 1500 }, (_, seed) => {
      const field = drawField(createGenerator(seed), 1, of);
      return [field([0.1]), field([0.1 + apart])] as const;
    });
  const covariance = (values: readonly (readonly [number, number])[]) =>
    values.reduce((sum, [a, b]) => sum + a * b, 0) / values.length;

  it.each(['sum', 'product'] as const)('has similar values at nearby points: %s', (of) => {
    const variance = covariance(pairs(of, 0));
    expect(variance).toBeGreaterThan(0.8);
    const correlations = [0.01, 0.2, 2].map((apart) => covariance(pairs(of, apart)) / variance);
    expect(correlations[0]).toBeGreaterThan(0.9);
    expect(correlations[1]).toBeLessThan(correlations[0]!);
    expect(correlations[2]).toBeLessThan(correlations[1]!);
  });

  it('does not depend on some of the coordinates', () => {
    let without = 0;
    for (let seed = 0; seed < 40; seed++) {
      const field = drawField(createGenerator(seed), 10, 'sum');
      const middle = Array<number>(10).fill(0);
      const flat = middle.filter((_, i) => Math.abs(field(middle.with(i, 0.5)) - field(middle)) < 1e-12);
      without += flat.length / 400;
    }
    expect(without).toBeGreaterThan(0.2);
    expect(without).toBeLessThan(0.35);
  });
});

it('a point is clipped to the box that was drawn with the function', () => {
  const seeds = Array.from({ length: 30 }, (_, seed) => seed);
  const plain = seeds.map((seed) => makeSynthetic('synthetic:network', { seed, parameters: 3 }));
  expect(new Set(plain.map(({ linear }) => linear!.high)).size).toBeGreaterThan(2);
  for (const environment of plain) {
    const { high } = environment.linear!;
    const worth = (value: number) => {
      environment.reset(5);
      return environment.step([value, high / 2, -high]).reward;
    };
    expect(worth(2 * high)).toBe(worth(high));
  }
});
