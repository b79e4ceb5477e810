import { expect, it } from 'vitest';
import { readManifest } from '../../src/runs/reader.js';
import { quick, readRunFile, runExperimentFrom } from '../support/experiments.js';

const config = { ...quick, iterations: 8, model: { provider: 'hill-climb' } } as const;
const day = 24 * 3600 * 1000;

/** A clock that jumps a day forwards or back at every third reading. */
function jumpingClock(direction: 1 | -1): () => Date {
  let [time, looks] = [Date.UTC(2026, 5, 1), 0];
  return () => {
    if (++looks % 3 === 0) time += direction * day;
    return new Date(time);
  };
}

it.each([1, -1] as const)(
  'jumps of the system clock (direction %d) affect neither durations nor limits',
  async (direction) => {
    const limited = { ...config, limits: { minutes: 60 } };
    const whole = await runExperimentFrom(limited);
    const { path } = await runExperimentFrom(limited, { now: jumpingClock(direction) });
    expect(readManifest(path)).toMatchObject({ status: 'completed', reason: { kind: 'iterations' } });
    expect(readManifest(path).activeMs).toBe(readManifest(whole.path).activeMs);
    expect(readRunFile(path, 'evaluations')).toBe(readRunFile(whole.path, 'evaluations'));
  },
);
