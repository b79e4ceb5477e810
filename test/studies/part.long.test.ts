/** Parts of a plan, played by processes of their own: what they spend together, and what a dead one leaves. */
import { existsSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { execute as sweepCommand } from '../../src/commands/sweep.js';
import { nothing } from '../../src/experiment/budget/limits.js';
import { readRun } from '../../src/runs/reader.js';
import { underLease } from '../../src/storage/lease.js';
import { PartBudget, partOf } from '../../src/studies/part.js';
import { readRunFile, recordingContext, temporaryDirectory } from '../support/experiments.js';
import { startFakeOpenAI } from '../support/fake-openai.js';

const place = temporaryDirectory();
const at = (...parts: readonly string[]) => join(place, ...parts);
writeFileSync(
  at('pole.yaml'),
  `environment: CartPole-v1
model: { provider: hill-climb }
iterations: 3
warmup: 2
evaluation: { episodes: 2, maxSteps: 60 }
confirmation: { candidates: 2, episodes: 5 }
`,
);

async function sweep(out: string, part: string | undefined, ...overrides: readonly string[]) {
  const { context, printed } = recordingContext(place);
  const common = { runsDir: 'buffers', dryRun: false, slurm: false, quiet: true, json: true };
  const given = ['model.sigma=0.3,2', 'seed=1..2', ...overrides];
  const args = {
    ...common,
    config: at('pole.yaml'),
    overrides: given,
    out,
    ...(part !== undefined && { part }),
  };
  const code = await sweepCommand(args, context);
  return { code, last: JSON.parse(printed.at(-1)!) as Record<string, unknown> };
}

const runs = ['sigma-0.3/seed-1', 'sigma-2/seed-1', 'sigma-0.3/seed-2', 'sigma-2/seed-2'];

it('two parts give the same runs as the whole plan, and take over a lock from a dead machine', async () => {
  await sweep('parts', '1/2');
  expect(runs.map((run) => existsSync(at('parts', run, 'manifest.json')))).toEqual([
    false,
    true,
    false,
    true,
  ]);
  // As the lock of a node that died.
  writeFileSync(at('parts', runs[1]!, 'run.lock'), '12 elsewhere 3\n');
  await sweep('parts', '1/2');
  expect((await sweep('parts', '0/2')).last).toMatchObject({ status: 'completed', complete: 2 });
  expect(existsSync(at('parts', 'sweep.json'))).toBe(false);
  expect((await sweep('parts', undefined)).last).toMatchObject({ status: 'completed' });
  await sweep('whole', undefined);
  for (const run of runs)
    expect(readRunFile(at('parts', run), 'evaluations')).toEqual(
      readRunFile(at('whole', run), 'evaluations'),
    );
});

it('parts share their limits', async () => {
  const values = Array.from({ length: 10 }, (_, i) => `params[${i}]: 0.5`).join(', ');
  const server = await startFakeOpenAI({ reply: () => values });
  const more = [
    `model={provider: openai, name: fake, baseUrl: "${server.url}"}`,
    'model.sigma=',
    'memory.best=2,4',
    'corrections=0',
    'limits.total.calls=7',
  ];
  await Promise.all([sweep('limited', '0/2', ...more), sweep('limited', '1/2', ...more)]);
  const calls = ['best-2/seed-1', 'best-4/seed-1', 'best-2/seed-2', 'best-4/seed-2']
    .filter((run) => existsSync(at('limited', run)))
    .reduce((sum, run) => sum + readRun(at('limited', run)).calls.length, 0);
  expect(calls).toBe(7);
  await server.close();
});

it('parts share one rate limit', async () => {
  const values = Array.from({ length: 10 }, (_, i) => `params[${i}]: 0.5`).join(', ');
  const server = await startFakeOpenAI({ reply: () => values });
  const name = 'rate';
  const parts = ['0/2', '1/2'];
  const model = `{provider: openai, name: fake, baseUrl: "${server.url}", requestsPerMinute: 6000}`;
  const more = [`model=${model}`, 'model.sigma=', 'memory.best=2,4', 'corrections=0'];
  const all = await Promise.all(parts.map((part) => sweep(name, part, ...more)));
  expect(all.map(({ code }) => code)).toEqual(parts.map(() => 0));
  const [folder, ...others] = readdirSync(at(name, 'limits')).filter((one) => one.startsWith('rate-'));
  expect(others).toEqual([]);
  // Each look wrote a version; what was granted for later is given back at the end of a run.
  const versions = readdirSync(at(name, 'limits', folder!)).map((one) => Number.parseInt(one, 10));
  expect(Math.max(...versions)).toBeGreaterThanOrEqual(4);
  expect(Math.max(...versions)).toBeLessThanOrEqual(3 * server.requests.length);
  await server.close();
});

it('a budget counts the usage of all parts, and a restarted part counts only what its logs contain', async () => {
  const calls = (count: number) => ({ ...nothing, calls: count });
  const [a, b] = [0, 1].map((index) => new PartBudget(at('budget'), { index, of: 2 }, calls(index), () => 0));
  await a!.exclusively(() => {
    a!.all.reserved = calls(5);
  });
  await b!.exclusively(() => {
    expect(b!.all).toMatchObject({ spent: calls(1), reserved: calls(5) });
    b!.all.spent = calls(3);
  });
  await a!.exclusively(() => expect(a!.all.spent).toEqual(calls(3)));
  // The first one died with five calls under way, of which its logs know two.
  const again = new PartBudget(at('budget'), { index: 0, of: 2 }, calls(2), () => 0);
  expect(again.all).toMatchObject({ spent: calls(5), reserved: calls(0) });
});

it('a lease that is a minute old is taken over', async () => {
  const path = at('lease');
  writeFileSync(path, 'another 1 0');
  const old = (Date.now() - 60_000) / 1000;
  utimesSync(path, old, old);
  expect(await underLease(path, () => 7)).toBe(7);
  expect(existsSync(path)).toBe(false);
});

it('--part accepts INDEX/PARTS, and refuses invalid values', () => {
  expect(partOf('3/4')).toEqual({ index: 3, of: 4 });
  for (const text of ['4/4', '1', '-1/2', '1/99999'])
    expect(() => partOf(text)).toThrow(/--part: must be INDEX\/PARTS/);
});
