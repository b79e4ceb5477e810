/**
 * Simulates hundreds of tasks that share one request rate, on a clock that advances only while all of them wait: how
 * much of the rate they use, how evenly, and how often they read the grants. `npx tsx scripts/slurm/simulate-rate.ts`
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { SharedRate } from '../../src/models/hosted/shared-rate.js';
import { createGenerator } from '../../src/random/generator.js';
import { largest, smallest, sum } from '../../src/statistics/descriptive.js';
import type { tryLease } from '../../src/storage/lease.js';
import { FakeTime } from '../../test/models/hosted/fake-time.js';

const minute = 60_000;
/** Measured minutes, after a first minute in which the tasks settle. */
const minutes = 4;
const callMs = 5000;

/** @param lookMs how long each task holds the lease */
async function simulate(count: number, perMinute: number, lookMs: number): Promise<string> {
  const time = new FakeTime();
  const directory = mkdtempSync(join(tmpdir(), 'policyloop-rate-'));
  const random = createGenerator(0);
  let [freeAt, looks] = [0, 0];
  const lease: typeof tryLease = (_path, work) => {
    if (time.now < freeAt) return undefined;
    freeAt = time.now + lookMs;
    looks++;
    return { result: work(time.now) };
  };
  const end = new AbortController();
  const { signal } = end;
  const tasks = Array.from({ length: count }, () => {
    const clock = time.clock({ offsetMs: random.uniform(-1e7, 1e7), drift: random.uniform(-1e-4, 1e-4) });
    return { rate: new SharedRate({ directory, perMinute, clock, lease }), sent: [] as number[] };
  });
  const asking = tasks.map(async ({ rate, sent }) => {
    try {
      for (;;) {
        await rate.turn({ signal });
        sent.push(time.now);
        await time.wait(random.uniform(0.2, 1.8) * callMs, signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  });
  const from = time.now + minute;
  await time.passUntil(from + minutes * minute);
  end.abort();
  await Promise.all(asking);
  rmSync(directory, { recursive: true });
  const each = tasks.map(({ sent }) => sent.length);
  const used = tasks.flatMap(({ sent }) => sent).filter((at) => at >= from).length;
  return [
    `${count} tasks, ${perMinute} a minute, looks of ${lookMs} ms`,
    `${((100 * used) / (minutes * perMinute)).toFixed(1)} % used`,
    `${smallest(each)} to ${largest(each)} requests a task`,
    `${(looks / sum(each)).toFixed(2)} looks a request`,
  ].join(', ');
}

for (const [count, perMinute, lookMs] of [
  [256, 600, 2],
  [256, 600, 10],
  [256, 600, 50],
  [256, 2400, 2],
] as const)
  process.stdout.write(`${await simulate(count, perMinute, lookMs)}\n`);
