import { expect, it } from 'vitest';
import { sequentialHalving } from '../../src/statistics/halving.js';
import { predictionFigures } from '../../src/statistics/predictions.js';

it('predictionFigures agrees with a computation by hand, and gives no correlation if one variable is constant', () => {
  const found = predictionFigures([
    [1, 2],
    [2, 1],
    [6, 3],
  ])!;
  expect(found).toMatchObject({ count: 3, bias: 1, error: 5 / 3 });
  // Deviations (−2, −1, 3) and (0, −1, 1): 4 / √(14 · 2).
  expect(found.correlation).toBeCloseTo(4 / Math.sqrt(28), 12);
  expect(
    predictionFigures([
      [1, 2],
      [1, 3],
    ]),
  ).toMatchObject({ bias: -1.5, correlation: null });
  expect(predictionFigures([])).toBeUndefined();
});

it('sequentialHalving gives each round an equal share of the budget, and keeps the better half', async () => {
  const played: (readonly [number, number, number])[] = [];
  const ranked = await sequentialHalving([3, 1, 5, 2, 4], 60, async (one, first, count) => {
    played.push([one, first, count]);
    return Array<number>(count).fill(one);
  });
  expect(ranked).toEqual([5, 4, 3, 2, 1]);
  // Three rounds of 20 episodes: 5 × 4, then 3 × 6, then 2 × 10.
  expect(played.map(([, first, count]) => `${first}+${count}`)).toEqual([
    ...Array(5).fill('0+4'),
    ...Array(3).fill('4+6'),
    ...Array(2).fill('10+10'),
  ]);
});
