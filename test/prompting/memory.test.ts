import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { selectHistory } from '../../src/prompting/context/history.js';
import type { BufferEntry } from '../../src/rollout/replay-buffer.js';
import { entryOf } from '../support/records.js';

const entry = (score: number, iteration = 0) => entryOf(iteration, score, { parameters: [score] });

const entriesOf = (...scores: readonly number[]) => scores.map((score, i) => entry(score, i));
const scoresOf = (entries: readonly BufferEntry[]) => entries.map(({ score }) => score);
const unlimited = { tokens: Number.MAX_SAFE_INTEGER };
const one = () => 1;

describe('selectHistory', () => {
  const entries = entriesOf(5, 1, 9, 3, 7, 2);

  it('shows everything if neither best nor recent is set', () => {
    expect(selectHistory(entries, unlimited, one)).toEqual(entries);
  });

  it('shows nothing if best and recent are zero', () => {
    expect(selectHistory(entries, { ...unlimited, best: 0, recent: 0 }, one)).toEqual([]);
  });

  it.each([
    [{ best: 2 }, [9, 7]],
    [{ recent: 2 }, [7, 2]],
    [{ best: 2, recent: 2 }, [9, 7, 2]],
    [{ best: 1, recent: 0 }, [9]],
    [{ best: 100 }, [5, 1, 9, 3, 7, 2]],
    [{ recent: 100 }, [5, 1, 9, 3, 7, 2]],
  ])('shows the union of best and recent: %j', (memory, scores) => {
    expect(scoresOf(selectHistory(entries, { ...unlimited, ...memory }, one))).toEqual(scores);
  });

  it('prefers the earlier of equal scores', () => {
    const equal = entriesOf(4, 4, 4);
    expect(selectHistory(equal, { ...unlimited, best: 1 }, one)).toEqual([equal[0]]);
  });

  it('drops the oldest entries down to three quarters of the budget, so that the next entries fit', () => {
    const shown = (n: number) =>
      scoresOf(
        selectHistory(entriesOf(...Array.from({ length: n }, (_, i) => i)), { ...unlimited, tokens: 8 }, one),
      );
    expect(shown(8)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(shown(9)).toEqual([3, 4, 5, 6, 7, 8]);
    expect(shown(10)).toEqual([3, 4, 5, 6, 7, 8, 9]);
    expect(shown(11)).toEqual([3, 4, 5, 6, 7, 8, 9, 10]);
    expect(shown(12)).toEqual([6, 7, 8, 9, 10, 11]);
  });

  it('drops recent entries before the best ones', () => {
    const memory = { ...unlimited, best: 2, recent: 3, tokens: 3 };
    expect(scoresOf(selectHistory(entries, memory, one))).toEqual([9, 7, 2]);
    expect(scoresOf(selectHistory(entries, { ...memory, tokens: 2 }, one))).toEqual([9, 7]);
    expect(scoresOf(selectHistory(entries, { ...memory, tokens: 1 }, one))).toEqual([7]);
  });

  it('keeps one entry, however small the budget', () => {
    expect(selectHistory(entries, { ...unlimited, tokens: 1 }, () => 100)).toEqual([entries[5]]);
    expect(selectHistory(entries, { ...unlimited, best: 2, tokens: 1 }, () => 100)).toHaveLength(1);
    expect(selectHistory([], { ...unlimited, tokens: 1 }, () => 100)).toEqual([]);
  });

  it('repeats no entry, leaves its input unchanged, and keeps to the budget if it shows several', () => {
    const optional = fc.option(fc.nat({ max: 8 }), { nil: undefined });
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: -5, max: 5 }), fc.integer({ min: 1, max: 9 })), {
          maxLength: 40,
        }),
        fc.record({ best: optional, recent: optional, tokens: fc.integer({ min: 1, max: 60 }) }),
        (items, { best, recent, tokens }) => {
          const all = items.map(([score], i) => entry(score, i));
          const before = [...all];
          const cost = ({ iteration }: BufferEntry) => items[iteration]![1];
          const memory = {
            order: 'chronological' as const,
            tokens,
            ...(best !== undefined && { best }),
            ...(recent !== undefined && { recent }),
          };
          const shown = selectHistory(all, memory, cost);
          expect(all).toEqual(before);
          expect(shown.length).toBe(new Set(shown).size);
          expect(shown).toEqual(all.filter((item) => shown.includes(item)));
          const used = shown.reduce((sum, item) => sum + cost(item), 0);
          if (shown.length > 1) expect(used).toBeLessThanOrEqual(tokens);
          if (all.length > 0 && (best ?? recent ?? 1) > 0) expect(shown.length).toBeGreaterThan(0);
        },
      ),
    );
  });

  it('moves the window only forward, so dropped entries never reappear', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 2, maxLength: 60 }),
        fc.integer({ min: 5, max: 60 }),
        (costs, tokens) => {
          const all = costs.map((cost, i) => entry(cost, i));
          let first = 0;
          for (let n = 1; n <= all.length; n++) {
            const shown = selectHistory(all.slice(0, n), { ...unlimited, tokens }, ({ score }) => score);
            const start = all.indexOf(shown[0]!);
            expect(start).toBeGreaterThanOrEqual(first);
            expect(shown).toEqual(all.slice(start, n));
            first = start;
          }
        },
      ),
    );
  });
});
