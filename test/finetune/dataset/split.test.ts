import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  dependentGroups,
  parseValidation,
  type SplitRun,
  validationRuns,
} from '../../../finetune/dataset/split.js';
import { matches } from '../../../src/base/pattern.js';

const someRuns = fc
  .array(fc.array(fc.integer({ min: 0, max: 12 }).map(String), { minLength: 1, maxLength: 3 }), {
    minLength: 1,
    maxLength: 12,
  })
  .map((keys) => keys.map((own, i) => ({ name: `run-${i}`, environment: `E${i % 3}`, keys: own })));

const byNumber = (a: SplitRun, b: SplitRun) => Number(a.name.slice(4)) - Number(b.name.slice(4));

describe('dependent runs', () => {
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

  it('are held out together, and both sides get runs if possible', () => {
    fc.assert(
      fc.property(
        someRuns,
        fc.double({ min: 0.01, max: 0.99, noNaN: true }),
        fc.nat(),
        (runs, share, seed) => {
          const held = validationRuns(runs, { kind: 'share', share }, seed);
          const groups = dependentGroups(runs);
          for (const group of groups) {
            expect(new Set(group.map(({ name }) => held.has(name))).size).toBe(1);
          }
          const out = groups.filter((group) => held.has(group[0]!.name)).length;
          expect(out).toBe(
            groups.length === 1
              ? 0
              : Math.min(groups.length - 1, Math.max(1, Math.round(share * groups.length))),
          );
          expect(validationRuns(runs, { kind: 'share', share }, seed)).toEqual(held);
        },
      ),
    );
  });

  it('are held out in a choice that varies with the seed', () => {
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
      expect(() => parseValidation(text)).toThrow(/neither names nor a fraction/);
  });
});

describe('patterns', () => {
  it('match whole names', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (a, b) => {
        const literal = a.replaceAll(/[*?]/g, '');
        expect(matches(literal, literal)).toBe(true);
        expect(matches(`${literal}*`, literal + b)).toBe(true);
        expect(matches(literal, `${literal}x`)).toBe(false);
      }),
    );
    expect(matches('a?c', 'abc')).toBe(true);
    expect(matches('a?c', 'ac')).toBe(false);
  });
});
