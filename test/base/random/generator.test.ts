import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { UserError } from '../../../src/base/errors.js';
import { createGenerator, deriveSeeds } from '../../../src/base/random/generator.js';
import { seedWords } from '../../../src/base/random/pcg64.js';

interface Stream {
  readonly seed: string;
  readonly spawnKey: readonly number[];
  /** `SeedSequence(seed, spawn_key=spawnKey).generate_state(8)`. */
  readonly state: readonly number[];
  /** Draws one after another from one generator. */
  readonly draws: readonly Readonly<Record<string, number>>[];
}

/** Results from NumPy. */
const numpy = JSON.parse(
  readFileSync(new URL('../../fixtures/random/numpy.json', import.meta.url), 'utf8'),
) as {
  readonly streams: readonly Stream[];
  readonly normals: readonly { readonly seed: number; readonly normals: readonly number[] }[];
  readonly tails: readonly {
    readonly seed: number;
    /** Index and value of the draws beyond the last strip of the ziggurat, among 5000. */
    readonly tails: readonly (readonly [number, number])[];
    readonly after: number;
  }[];
};

describe('the generator agrees with NumPy', () => {
  test.each(numpy.streams)('for seed $seed, spawn key $spawnKey', ({ seed, spawnKey, state, draws }) => {
    expect(seedWords(BigInt(seed), spawnKey, 8)).toEqual(state);
    const generator = createGenerator(BigInt(seed), spawnKey);
    for (const { normal, ...exact } of draws) {
      expect({
        random: generator.random(),
        integers13: generator.integers(0, 13),
        uniform: generator.uniform(-3, 7.5),
        integers31: generator.integers(-5, 2 ** 31),
        choice: generator.choice([7, 8, 9]),
        integers32: generator.integers(0, 2 ** 32),
        wide: generator.integers(-(2 ** 40), 2 ** 52),
        single: generator.integers(3, 4),
        rejecting: generator.integers(0, 3 * 2 ** 30),
        rejectingWide: generator.integers(-(2 ** 52), 2 ** 52),
      }).toEqual(exact);
      expect(generator.normal(1.5, 2)).toBeCloseTo(normal!, 12);
    }
  });

  test('on normal draws', () => {
    for (const { seed, normals } of numpy.normals) {
      const generator = createGenerator(seed);
      for (const normal of normals) expect(relative(generator.normal(), normal)).toBeLessThan(1e-13);
    }
  });

  test('on normal draws from the tail', () => {
    expect(numpy.tails.length).toBeGreaterThan(5);
    for (const { seed, tails, after } of numpy.tails) {
      const generator = createGenerator(seed);
      const draws = Array.from({ length: 5000 }, () => generator.normal());
      for (const [index, value] of tails) expect(relative(draws[index]!, value)).toBeLessThan(1e-13);
      expect(generator.random()).toBe(after);
    }
  });
});

describe('seeds', () => {
  test('give the same stream whether they are numbers or bigints', () => {
    for (const seed of [0, 5, 2 ** 32, 2 ** 53 - 1, 2 ** 64, 2 ** 100]) {
      expect(createGenerator(seed).random()).toBe(createGenerator(BigInt(seed)).random());
    }
  });

  test('differ between generators if none is given', () => {
    expect(createGenerator().random()).not.toBe(createGenerator().random());
  });

  test.each([-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, -1n, '3', null])(
    '%o is rejected as a seed',
    (seed) => expect(() => createGenerator(seed as number)).toThrow(/seed: must be a non-negative integer/),
  );

  test('are rejected with an invalid spawn key, which the error names', () => {
    expect(() => createGenerator(0, [-1])).toThrow(/spawnKey/);
  });

  test("derived seeds are distinct 32-bit words that don't depend on how many are requested", () => {
    fc.assert(
      fc.property(
        fc.nat(),
        fc.array(fc.nat(), { maxLength: 3 }),
        fc.integer({ min: 0, max: 200 }),
        (seed, key, count) => {
          const seeds = deriveSeeds(seed, key, count);
          expect(seeds).toHaveLength(count);
          expect(new Set(seeds).size).toBe(count);
          expect(seeds.every((value) => Number.isInteger(value) && value >= 0 && value < 2 ** 32)).toBe(true);
          expect(deriveSeeds(seed, key, count + 5).slice(0, count)).toEqual(seeds);
        },
      ),
    );
  });

  test('derived seeds skip repeated words', () => {
    // Among 120,000 words of 32 bits, about 1.7 repeats are expected; this seed has some.
    const count = 120_000;
    const words = seedWords(1, [0], count);
    expect(new Set(words).size).toBeLessThan(count);
    expect(new Set(deriveSeeds(1, [0], count)).size).toBe(count);
  });
});

describe('draws', () => {
  test('integers stay in their range and reach both ends', () => {
    const generator = createGenerator(3);
    const draws = Array.from({ length: 2000 }, () => generator.integers(-2, 5));
    expect([...new Set(draws)].sort((a, b) => a - b)).toEqual([-2, -1, 0, 1, 2, 3, 4]);
  });

  test.each([
    [0, 0],
    [3, 2],
    [0, 1.5],
    [0, Number.NaN],
    [0, 2 ** 53],
  ])('integers(%s, %s) is rejected', (low, high) => {
    expect(() => createGenerator(0).integers(low, high)).toThrow(UserError);
  });

  test('a choice from an empty list is rejected', () => {
    expect(() => createGenerator(0).choice([])).toThrow(UserError);
  });

  test('a categorical draw with a certain outcome still uses up one random number', () => {
    const [spent, fresh] = [createGenerator(9), createGenerator(9)];
    expect(spent.categorical([0, 1, 0])).toBe(1);
    fresh.random();
    expect(spent.random()).toBe(fresh.random());
  });

  test('categorical follows the probabilities, and falls back to 0 if they sum to less than the draw', () => {
    const generator = createGenerator(11);
    const counts = [0, 0, 0];
    for (let i = 0; i < 20_000; i++) counts[generator.categorical([0.2, 0.5, 0.3])]!++;
    expect(counts.map((count) => Math.round(count / 1000))).toEqual([4, 10, 6]);
    expect(generator.categorical([0, 0, 0])).toBe(0);
  });
});

function relative(value: number, expected: number): number {
  return Math.abs(value - expected) / Math.abs(expected);
}
