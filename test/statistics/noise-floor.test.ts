import { expect, it } from 'vitest';
import { createGenerator } from '../../src/base/random/generator.js';
import { mean } from '../../src/statistics/descriptive.js';
import { maxCompetitors, sequentialHalving } from '../../src/statistics/halving.js';
import { episodesToConfirm, noiseFloor, spreadOf } from '../../src/statistics/noise-floor.js';

it.each([
  ['common', true],
  ['fresh', false],
] as const)('equal policies differ beyond the noise floor in about 5 %% of cases (%s seeds)', (_, paired) => {
  const random = createGenerator(1);
  let above = 0;
  for (let round = 0; round < 2000; round++) {
    const shared = Array.from({ length: 20 }, () => 5 * random.normal());
    const returns = () => shared.map((value) => (paired ? value : 5 * random.normal()) + random.normal());
    const spread = spreadOf([returns(), returns(), returns(), returns()], paired)!;
    if (Math.abs(mean(returns()) - mean(returns())) > noiseFloor(spread, 20)) above++;
  }
  expect(above / 2000).toBeGreaterThan(0.035);
  expect(above / 2000).toBeLessThan(0.065);
});

it('episodesToConfirm returns the fewest episodes whose noise floor is at most the lead; without spread, the floor is 0', () => {
  const spreadIn = (...returns: number[][]) => spreadOf(returns, true)!;
  const spread = spreadIn([1, 5, 3, 9], [2, 2, 4, 8]);
  expect(spread).toEqual({ deviation: expect.closeTo(Math.sqrt(11 / 3), 12), degrees: 3 });
  const needed = episodesToConfirm(0.7, spread);
  expect(noiseFloor(spread, needed)).toBeLessThanOrEqual(0.7);
  expect(noiseFloor(spread, needed - 1)).toBeGreaterThan(0.7);
  const flat = spreadIn([3, 4], [1, 2], [1, 2]);
  const needs = [2, 0].map((lead) => episodesToConfirm(lead, flat));
  expect([noiseFloor(flat, 2), ...needs]).toEqual([0, 1, Infinity]);
  expect([spreadIn([1, 2]), spreadIn([1], [2])]).toEqual([undefined, undefined]);
});

it('sequentialHalving stays within the budget and plays the same episodes for all in a round', async () => {
  for (const count of [1, 2, 3, 5, 6, 8]) {
    const played = new Map<number, number[]>();
    const out: number[] = [];
    const ranked = await sequentialHalving(
      Array.from({ length: count }, (_, i) => i),
      300,
      async (one, first, episodes) => {
        played.set(one, [...(played.get(one) ?? []), first, episodes]);
        return one === 4 ? undefined : Array.from({ length: episodes }, (_, i) => one + ((first + i) % 3));
      },
      (one) => out.push(one),
    );
    const places = Array.from({ length: count }, (_, i) => count - 1 - i).filter((one) => one !== 4);
    expect(ranked).toEqual(places);
    expect(out).toEqual(count === 1 ? [] : expect.arrayContaining(places));
    let total = 0;
    for (const own of played.values()) {
      expect(played.get(places[0]!)!.slice(0, own.length)).toEqual(own);
      for (let i = 1; i < own.length; i += 2) total += own[i]!;
    }
    expect(total).toBeLessThanOrEqual(300);
    expect(total).toBeGreaterThan(count === 1 ? -1 : 200);
  }
  expect([300, 15, 6].map((budget) => maxCompetitors(budget, 6))).toEqual([6, 3, 2]);
  expect([1, 0].map((count) => maxCompetitors(6, count))).toEqual([1, 0]);
});
