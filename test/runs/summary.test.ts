import { join } from 'node:path';
import { expect, it } from 'vitest';
import { resultOf, summarizeRepeats, summaryOf } from '../../src/runs/summary.js';
import { bootstrapMean95 } from '../../src/statistics/bootstrap.js';
import { lockRun } from '../../src/storage/lock.js';
import { temporaryDirectory } from '../support/experiments.js';
import { writeRun } from '../support/written-runs.js';

const place = temporaryDirectory();

it('summaryOf reports what a run reached, and whether it is running or crashed', () => {
  const path = writeRun(join(place, 'a'), { seed: 1, confirmed: 30, tokens: 9, status: 'running' });
  expect(summaryOf(path)).toMatchObject({ path, status: 'crashed', ended: 'crashed', tokens: 9 });
  const release = lockRun(join(path, 'run.lock'));
  expect(summaryOf(path)).toMatchObject({ status: 'running', stoppedEarly: false });
  release();
  const target = { kind: 'target', return: 30 } as const;
  const stopped = writeRun(join(place, 'b'), { seed: 1, confirmed: 30, reason: target });
  const facts = summaryOf(stopped);
  expect(facts).toMatchObject({ ended: 'target 30 reached', stoppedEarly: true, confirmed: { mean: 30 } });
  expect(resultOf(facts, place)).toMatchObject({ run: 'b', status: 'completed', reason: target, best: null });
});

it('summarizeRepeats gives the same interval as a comparison', () => {
  const means = [1, 2, 2, 3, 9, 4, 5, 1, 7, 6, 5, 11];
  const results = means.map((confirmed, i) =>
    resultOf(summaryOf(writeRun(join(place, `r-${i}`), { seed: i, confirmed })), place),
  );
  expect(summarizeRepeats(results)).toMatchObject({ repeats: 12, ci95: bootstrapMean95(means) });
  expect(summarizeRepeats(results.slice(0, 1))).toEqual({ repeats: 1, mean: 1, iqm: 1 });
  expect(summarizeRepeats([])).toBeUndefined();
});
