import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  dependentGroups,
  parseValidation,
  type RunToSplit,
  validationRuns,
} from '../../../finetune/dataset/split.js';
import { isMatch } from '../../../src/base/pattern.js';
import { sum } from '../../../src/statistics/descriptive.js';

const someRuns = fc
  .array(fc.array(fc.integer({ min: 0, max: 12 }).map(String), { minLength: 1, maxLength: 3 }), {
    minLength: 1,
    maxLength: 12,
  })
  .map((all) =>
    all.map((keys, i) => ({ name: `run-${i}`, environment: `E${i % 3}`, keys, size: 1 + (i % 4) })),
  );

const someShare = fc.double({ min: 0.01, max: 0.99, noNaN: true });

const byNumber = (a: RunToSplit, b: RunToSplit) => Number(a.name.slice(4)) - Number(b.name.slice(4));

describe('runs to split', () => {
  it('share a group exactly if a chain of shared keys connects them', () => {
    fc.assert(
      fc.property(someRuns, (runs) => {
        const groups = dependentGroups(runs);
        expect(groups.flat().toSorted(byNumber)).toEqual(runs);
        for (const [i, run] of runs.entries()) {
          const reached = new Set([run]);
          for (const from of reached) {
            for (const to of runs) if (to.keys.some((key) => from.keys.includes(key))) reached.add(to);
          }
          const group = groups.find((members) => members.includes(run))!;
          expect(new Set(group), `run ${i}`).toEqual(reached);
        }
      }),
    );
  });

  it('in one group are held out together, and both sides get runs if possible', () => {
    fc.assert(
      fc.property(someRuns, someShare, fc.nat(), (runs, share, seed) => {
        const held = validationRuns(runs, { kind: 'share', share }, seed);
        const groups = dependentGroups(runs);
        for (const group of groups) {
          expect(new Set(group.map(({ name }) => held.has(name))).size).toBe(1);
        }
        const sizeOf = (some: readonly RunToSplit[]) => sum(some.map(({ size }) => size!));
        const out = runs.filter(({ name }) => held.has(name));
        expect(out.length > 0).toBe(groups.length > 1);
        const distance = (more: number) => Math.abs(sizeOf(out) + more - share * sizeOf(runs));
        const left = groups.filter((group) => !held.has(group[0]!.name));
        expect(left.length).toBeGreaterThan(0);
        // No other group would bring the share closer.
        if (left.length > 1)
          for (const group of left) expect(distance(sizeOf(group))).toBeGreaterThanOrEqual(distance(0));
        expect(validationRuns(runs, { kind: 'share', share }, seed)).toEqual(held);
      }),
    );
  });

  it('of unequal sizes are held out so that the share is as close as possible to the requested one', () => {
    const run = (name: string, size: number) => ({ name, environment: 'E', keys: [name], size });
    const runs = [run('a', 27), run('b', 14), run('c', 6), run('none', 0)];
    for (const seed of [0, 1, 2, 3])
      expect([...validationRuns(runs, { kind: 'share', share: 0.1 }, seed)]).toEqual(['c']);
  });

  it('are held out at random, depending on the seed', () => {
    const runs = Array.from({ length: 8 }, (_, i) => ({ name: `${i}`, environment: 'E', keys: [`${i}`] }));
    const drawn = (seed: number) => [...validationRuns(runs, { kind: 'share', share: 0.25 }, seed)].join();
    expect(new Set(Array.from({ length: 20 }, (_, seed) => drawn(seed))).size).toBeGreaterThan(5);
  });
});

describe('--validation', () => {
  const runs = [
    { name: 'buffers/a', environment: 'CartPole-v1', keys: ['1'] },
    { name: 'buffers/b', environment: 'Pendulum-v1', keys: ['1'] },
    { name: 'buffers/c', environment: 'Pendulum-v1', keys: ['2'] },
  ];
  const held = (text: string) => [...validationRuns(runs, parseValidation(text), 0)];

  it('accepts names and patterns of environments and runs', () => {
    expect(held('Pendulum-v1')).toEqual(['buffers/b', 'buffers/c']);
    expect(held('CartPole-*, buffers/c')).toEqual(['buffers/a', 'buffers/c']);
    expect(held('buffers/?')).toEqual(['buffers/a', 'buffers/b', 'buffers/c']);
    expect(held('none')).toEqual([]);
  });

  it('rejects unknown names, invalid fractions and empty names', () => {
    expect(() => held('Pendulum-v2')).toThrow(/no run or environment has this name/);
    for (const text of ['0', '1', '1.5', '-0.1', '', 'a,,b'])
      expect(() => parseValidation(text)).toThrow(/must be names, or a fraction/);
  });
});

describe('patterns', () => {
  it('match whole names', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (a, b) => {
        const literal = a.replaceAll(/[*?]/g, '');
        expect(isMatch(literal, literal)).toBe(true);
        expect(isMatch(`${literal}*`, literal + b)).toBe(true);
        expect(isMatch(literal, `${literal}x`)).toBe(false);
      }),
    );
    expect(isMatch('a?c', 'abc')).toBe(true);
    expect(isMatch('a?c', 'ac')).toBe(false);
  });
});
