/**
 * Measures the load of hundreds of nodes on shared limits and the run list: simulates tasks that take turns holding
 * one lease, with times measured on this machine, and lists as many runs.
 * `npx tsx scripts/slurm/simulate-limits.ts [--seed 0]`
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { nothing } from '../../src/experiment/budget/limits.js';
import { createGenerator } from '../../src/random/generator.js';
import { quantile } from '../../src/statistics/descriptive.js';
import { PartBudget, writeUse } from '../../src/studies/part.js';

const { values } = parseArgs({ options: { seed: { type: 'string', default: '0' } } });
const say = (line: string) => process.stdout.write(`${line}\n`);

/** Median milliseconds to read the usage of `parts` parts on this file system, including the lease and the write. */
async function lookMs(parts: number): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'policyloop-parts-'));
  mkdirSync(join(folder, 'limits'));
  for (let index = 0; index < parts; index++)
    writeUse(folder, { index, of: parts }, { spent: nothing, reserved: nothing, activeMs: 0 });
  const budget = new PartBudget(folder, { index: 0, of: parts }, nothing, () => 0);
  const taken: number[] = [];
  for (let look = 0; look < 30; look++) {
    const started = performance.now();
    await budget.exclusively(() => undefined);
    taken.push(performance.now() - started);
  }
  rmSync(folder, { recursive: true });
  return quantile(
    taken.toSorted((a, b) => a - b),
    0.5,
  );
}

/**
 * Share of the time that tasks wait for the lease: each calls a model for about `callMs`, holds the lease for
 * `holdMs` before a call, and retries every 10 ms while others hold it.
 */
function waitingShare(tasks: number, holdMs: number, callMs: number, seed: number): number {
  const random = createGenerator(seed);
  const horizon = 10 * callMs;
  /** When each task next requests the lease, and since when it has been waiting. */
  const wants = Array.from({ length: tasks }, () => random.uniform(0, callMs));
  const since: (number | undefined)[] = wants.map(() => undefined);
  let freeAt = 0;
  let waited = 0;
  for (;;) {
    let next = 0;
    for (let i = 1; i < tasks; i++) if (wants[i]! < wants[next]!) next = i;
    const now = wants[next]!;
    if (now > horizon) {
      const still = since.reduce<number>((sum, from) => sum + (from === undefined ? 0 : horizon - from), 0);
      return (waited + still) / (tasks * horizon);
    }
    if (now < freeAt) {
      since[next] ??= now;
      wants[next] = now + 7 + random.integers(0, 7);
      continue;
    }
    waited += now - (since[next] ?? now);
    since[next] = undefined;
    freeAt = now + holdMs;
    wants[next] = freeAt + random.uniform(0.5, 1.5) * callMs;
  }
}

const parts = [8, 64, 256];
const measured: [count: number, ms: number][] = [];
for (const count of parts) measured.push([count, await lookMs(count)]);
for (const [count, ms] of measured) say(`${count} parts: ${ms.toFixed(2)} ms per lookup`);
for (const factor of [1, 10])
  for (const [count, ms] of measured) {
    const shares = [1000, 5000, 30_000].map((callMs) =>
      waitingShare(count, factor * ms, callMs, Number(values.seed)),
    );
    say(
      `${count} tasks, ${(factor * ms).toFixed(1)} ms per lookup: ${shares.map((share) => `${(100 * share).toFixed(1)} %`).join(', ')} of the time is spent waiting, with calls of 1, 5, 30 s`,
    );
  }
