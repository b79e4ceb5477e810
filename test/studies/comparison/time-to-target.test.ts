import { expect, it } from 'vitest';
import { readComparedRuns } from '../../../src/studies/comparison/compared-runs.js';
import { medianTime, timeToTarget } from '../../../src/studies/comparison/run-comparison.js';
import { quick, runExperimentFrom, seededModel } from '../../support/experiments.js';

it('medianTime reproduces the median remission times of Freireich et al. (1963), with 12 of 21 censored for 6-MP', () => {
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

it('medianTime is null if fewer than half of the runs are known to have reached the target', () => {
  expect(medianTime([])).toBeNull();
  expect(medianTime([1, 2, 9].map((at) => ({ at, reached: at === 1 })))).toBeNull();
  expect(medianTime([1, 2].map((at) => ({ at, reached: at === 1 })))).toBe(1);
});

it('timeToTarget requires `hold` iterations in a row, and counts the evaluations of the warm-up', () => {
  const run = { scores: [3, null, 9, 12, 11, 15], spent: [5, 8, 11, 14, 17, 20, 23] };
  expect(timeToTarget(run, { return: 10, hold: 1 })).toEqual({ reached: true, iteration: 4, evaluation: 17 });
  expect(timeToTarget(run, { return: 10, hold: 3 })).toEqual({ reached: true, iteration: 6, evaluation: 23 });
  const missed = { reached: false, iteration: 6, evaluation: 23 };
  expect(timeToTarget(run, { return: 16, hold: 1 })).toEqual(missed);
});

it('timeToTarget counts the evaluations actually made if the run has an evaluation limit', async () => {
  const { path } = await runExperimentFrom(
    {
      ...quick,
      iterations: 5,
      candidates: 2,
      limits: { evaluations: 9 },
      model: { provider: 'ollama', name: 'scripted' },
    },
    { model: seededModel() },
  );
  const [run] = readComparedRuns([path]).runs;
  expect(run!.spent).toEqual([3, 5, 7, 9]);
  expect(timeToTarget(run!, { return: Number.POSITIVE_INFINITY, hold: 1 }).evaluation).toBe(9);
});
