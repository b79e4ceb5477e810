import { expect, it } from 'vitest';
import { medianTime, timeToTarget } from '../../src/comparison/time-to-target.js';
import { parseConfig } from '../../src/config/load.js';

it('has the medians of the remission times of Freireich et al. (1963), 6-MP with 12 of 21 censored', () => {
  const censored = (times: readonly number[]) => times.map((at) => ({ at, reached: false }));
  const reached = (times: readonly number[]) => times.map((at) => ({ at, reached: true }));
  const mercaptopurine = [
    ...reached([6, 6, 6, 7, 10, 13, 16, 22, 23]),
    ...censored([6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35]),
  ];
  expect(medianTime(mercaptopurine)).toBe(23);
  const placebo = reached([1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23]);
  expect(medianTime(placebo)).toBe(8);
});

it('has no median where fewer than half are known to have reached it', () => {
  expect(medianTime([])).toBeNull();
  expect(medianTime([1, 2, 9].map((at) => ({ at, reached: at === 1 })))).toBeNull();
  expect(medianTime([1, 2].map((at) => ({ at, reached: at === 1 })))).toBe(1);
});

it('times a run as its target would end it: by iterations in a row, without the warm-up', () => {
  const config = parseConfig({ environment: 'CartPole-v1', model: { provider: 'random' }, candidates: 3 });
  const run = { config, warmup: 5, scores: [3, null, 9, 12, 11, 15] };
  expect(timeToTarget(run, { return: 10, hold: 1 })).toEqual({ reached: true, iteration: 4, evaluation: 17 });
  expect(timeToTarget(run, { return: 10, hold: 3 })).toEqual({ reached: true, iteration: 6, evaluation: 23 });
  expect(timeToTarget(run, { return: 16, hold: 1 })).toEqual({
    reached: false,
    iteration: 6,
    evaluation: 23,
  });
});
