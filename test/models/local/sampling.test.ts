import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createGenerator } from '../../../src/base/random/generator.js';
import type { Sampling } from '../../../src/models/language-model.js';
import { sampleToken, type TokenMask } from '../../../src/models/local/constraint/sampling.js';

const plain: Sampling = { temperature: 1, topP: 1, topK: 0, minP: 0, repetitionPenalty: 1 };
const logits = () => Float32Array.from([2, 1, 0, -1, 1.5]);

/** How often each token is drawn. */
function frequencies(settings: Partial<Sampling>, mask?: TokenMask, draws = 20_000): number[] {
  const random = createGenerator(3);
  const counts = logits().fill(0);
  for (let i = 0; i < draws; i++) {
    const { id } = sampleToken(logits(), { ...plain, ...settings }, random, new Set([0]), mask);
    counts[id] = counts[id]! + 1;
  }
  return [...counts].map((count) => count / draws);
}

/** The expected share of each token if only these are kept. */
function shares(temperature: number, kept: readonly number[], values: Float32Array = logits()): number[] {
  const weights = [...values].map((value, id) => (kept.includes(id) ? Math.exp(value / temperature) : 0));
  const total = weights.reduce((a, b) => a + b);
  return weights.map((weight) => weight / total);
}

function expectNear(found: readonly number[], wanted: readonly number[]): void {
  found.forEach((share, id) => {
    if (wanted[id] === 0) expect(share).toBe(0);
    else expect(Math.abs(share - wanted[id]!)).toBeLessThan(0.015);
  });
}

test.each<[string, Partial<Sampling>, number[]]>([
  ['plain', {}, shares(1, [0, 1, 2, 3, 4])],
  ['temperature', { temperature: 0.5 }, shares(0.5, [0, 1, 2, 3, 4])],
  ['top-k', { topK: 2 }, shares(1, [0, 4])],
  // Shares are .446, .270, .164, .060, .022: two tokens hold .716, three .88.
  ['top-p', { topP: 0.75 }, shares(1, [0, 1, 4])],
  ['min-p', { minP: 0.3 }, shares(1, [0, 1, 4])],
  [
    'repetition penalty',
    { repetitionPenalty: 2 },
    shares(1, [0, 1, 2, 3, 4], Float32Array.from([1, 1, 0, -1, 1.5])),
  ],
  ['greedy', { temperature: 0 }, [1, 0, 0, 0, 0]],
  ['greedy after the penalty', { temperature: 0, repetitionPenalty: 2 }, [0, 0, 0, 0, 1]],
])('tokens are drawn in the expected proportions: %s', (_, settings, wanted) => {
  expectNear(frequencies(settings), wanted);
});

test('only tokens that a mask allows are drawn, and filters apply to those', () => {
  expectNear(frequencies({}, { kind: 'only', ids: Int32Array.of(1, 3) }), shares(1, [1, 3]));
  expectNear(frequencies({}, { kind: 'except', ids: Int32Array.of(0, 4) }), shares(1, [1, 2, 3]));
  expectNear(frequencies({ topK: 1 }, { kind: 'only', ids: Int32Array.of(2, 3) }), [0, 0, 1, 0, 0]);
  expectNear(frequencies({ temperature: 0 }, { kind: 'only', ids: Int32Array.of(3) }), [0, 0, 0, 1, 0]);
});

test('top-p draws only tokens that its definition keeps', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.integer({ min: -32, max: 32 }).map((quarter) => quarter / 4),
        { minLength: 1, maxLength: 40 },
      ),
      fc.double({ min: 0.05, max: 0.99, noNaN: true }),
      fc.integer({ min: 0, max: 1000 }),
      (values, topP, seed) => {
        const all = shares(1, [...values.keys()], Float32Array.from(values));
        const order = [...all.keys()].sort((a, b) => all[b]! - all[a]! || a - b);
        let held = 0;
        const kept = order.filter((id) => {
          const needed = held < topP;
          held += all[id]!;
          return needed;
        });
        const { id } = sampleToken(
          Float32Array.from(values),
          { ...plain, topP },
          createGenerator(seed),
          new Set(),
        );
        expect(kept).toContain(id);
      },
    ),
  );
});

/** The tokens that sorting the whole vocabulary would keep, ties with the last included. */
function sortedTopK(values: Float32Array, allowed: readonly number[], k: number): number[] {
  const least = allowed.map((id) => values[id]!).sort((a, b) => b - a)[k - 1]!;
  return allowed.filter((id) => values[id]! >= least);
}

test('top-k draws the same token as if it sorted the vocabulary, including ties and masks', () => {
  const logit = fc.oneof(
    fc.integer({ min: -3, max: 3 }),
    fc.float({ min: -30, max: 30, noNaN: true }),
    fc.constant(Number.NEGATIVE_INFINITY),
  );
  fc.assert(
    fc.property(
      fc.array(logit, { minLength: 2, maxLength: 60 }),
      fc.integer({ min: 1, max: 60 }),
      fc.double({ min: 0.3, max: 1, noNaN: true }),
      fc.nat(),
      fc.array(fc.nat(59), { maxLength: 60 }),
      (numbers, topK, topP, seed, chosen) => {
        const values = Float32Array.from(numbers, (value, id) => (id === 0 ? 1 : value));
        const allowed = [...new Set([0, ...chosen])].filter((id) => id < values.length).sort((a, b) => a - b);
        const mask = {
          kind: 'only',
          ids: Int32Array.from(chosen.length === 0 ? values.keys() : allowed),
        } as const;
        const kept = topK < mask.ids.length ? sortedTopK(values, [...mask.ids], topK) : mask.ids;
        const draw = (settings: Partial<Sampling>, among?: TokenMask) =>
          sampleToken(
            values.slice(),
            { ...plain, topP, ...settings },
            createGenerator(seed),
            new Set(),
            among,
          ).id;
        const expected = draw({}, { kind: 'only', ids: Int32Array.from(kept) });
        expect(draw({ topK }, chosen.length === 0 ? undefined : mask)).toBe(expected);
      },
    ),
  );
});

test('top-k does not sort a vocabulary of 150,000 tokens, and reads it fewer than 8 times', () => {
  let reads = 0;
  const values = Float32Array.from({ length: 150_000 }, (_, id) => Math.sin(id));
  const counted = new Proxy(values, {
    get(target, key) {
      if (typeof key === 'string' && /^\d/.test(key)) reads++;
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== 'function') return value;
      return () => expect.fail(`the whole vocabulary goes through ${String(key)}()`);
    },
  });
  sampleToken(counted, { ...plain, topK: 20 }, createGenerator(1), new Set());
  expect(reads).toBeLessThan(8 * values.length);
});

test('a token is returned with the log-probability it was drawn with', () => {
  const random = createGenerator(5);
  for (const [settings, mask, kept] of [
    [{ temperature: 0.7 }, undefined, [0, 1, 2, 3, 4]],
    [{}, { kind: 'only', ids: Int32Array.of(1, 3) }, [1, 3]],
    [{}, { kind: 'except', ids: Int32Array.of(0) }, [1, 2, 3, 4]],
    [{ topK: 2 }, undefined, [0, 4]],
  ] as const)
    for (let i = 0; i < 20; i++) {
      const drawn = sampleToken(logits(), { ...plain, ...settings }, random, new Set(), mask);
      const share = shares('temperature' in settings ? settings.temperature : 1, kept)[drawn.id]!;
      expect(drawn.logProbability).toBeCloseTo(Math.log(share), 6);
    }
});
