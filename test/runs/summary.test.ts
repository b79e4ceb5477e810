import { join } from 'node:path';
import { expect, it } from 'vitest';
import { takeLock } from '../../src/base/files/lock.js';
import { listLines, listTable } from '../../src/runs/listing/listing.js';
import { noiseText, resultOf, summaryOf } from '../../src/runs/summary.js';
import { temporaryDirectory } from '../support/experiments.js';
import { writeRun } from '../support/written-runs.js';

const place = temporaryDirectory();

it('summaryOf reports what a run reached, and whether it is running or crashed', () => {
  const path = writeRun(join(place, 'a'), { seed: 1, confirmed: 30, tokens: 9, status: 'running' });
  expect(summaryOf(path)).toMatchObject({ path, status: 'crashed', ended: 'crashed', tokens: 9 });
  expect(listTable(listLines({ cwd: place, runsDir: '.' }).lines)).toMatch(/crashed .* ≥\d+\/\d/);
  const release = takeLock(join(path, 'run.lock'));
  expect(summaryOf(path)).toMatchObject({ status: 'running', stoppedEarly: false });
  release();
  const target = { kind: 'target', return: 30 } as const;
  const stopped = writeRun(join(place, 'b'), { seed: 1, confirmed: 30, reason: target });
  const facts = summaryOf(stopped);
  expect(facts).toMatchObject({ ended: 'target 30 reached', stoppedEarly: true, confirmed: { mean: 30 } });
  expect(resultOf(facts, place)).toMatchObject({ run: 'b', status: 'completed', reason: target, best: null });
  expect(noiseText({ floor: 0, episodes: 9, lead: 0 })).toBe(
    'none: the best policies get equal returns in every episode',
  );
});
