/** A plan that another process asks to play more or fewer runs at once, or to end. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import { execute as set } from '../../src/commands/runs/set.js';
import { execute as stop } from '../../src/commands/runs/stop.js';
import { execute as sweepCommand } from '../../src/commands/sweep.js';
import { jobsAsked, runsBelow } from '../../src/runs/finder.js';
import { readRunFile, recordingContext, temporaryDirectory } from '../support/experiments.js';
import { startFakeOpenAI } from '../support/fake-openai.js';
import type { Fault } from '../support/fake-server.js';

const place = temporaryDirectory();
const values = Array.from({ length: 10 }, (_, i) => `params[${i}]: 0.5`).join(', ');
/** Each answer takes its time, until this is emptied. */
const slowly: (Fault | undefined)[] = Array.from({ length: 500 }, () => ({
  kind: 'slow',
  milliseconds: 300,
}));
const server = await startFakeOpenAI({ reply: () => values, faults: { script: slowly } });
afterAll(() => server.close());
writeFileSync(
  join(place, 'pole.yaml'),
  `environment: CartPole-v1
model: { provider: openai, name: fake, baseUrl: "${server.url}" }
iterations: 8
warmup: 1
evaluation: { episodes: 1, maxSteps: 20 }
confirmation: { candidates: 1, episodes: 2 }
`,
);
const steering = { runsDir: 'buffers', json: true, wait: 20, now: false } as const;

async function sweep(out: string) {
  const { context, printed } = recordingContext(place);
  const common = { runsDir: 'buffers', baselines: false, slurm: false, quiet: true, json: true };
  const overrides = ['memory.best=2,4', 'seed=1..3'];
  await sweepCommand({ ...common, config: join(place, 'pole.yaml'), overrides, out }, context);
  return JSON.parse(printed.at(-1)!) as Record<string, unknown>;
}

async function asked(command: (context: ReturnType<typeof recordingContext>['context']) => unknown) {
  const { context, printed } = recordingContext(place);
  await command(context);
  return JSON.parse(printed.join('')) as Record<string, unknown>[];
}

const atOnce = (out: string) =>
  runsBelow(join(place, out)).filter((run) => existsSync(join(run, 'run.lock'))).length;

it('a plan gives the same runs after its jobs were changed and it was stopped and resumed', async () => {
  const under = sweep('steered');
  await expect.poll(() => atOnce('steered'), { timeout: 20_000 }).toBe(1);
  await delay(300);
  expect(atOnce('steered')).toBe(1);
  const more = await asked((context) => set({ ...steering, run: 'steered', overrides: ['jobs=3'] }, context));
  expect(more).toMatchObject([
    { run: 'steered', action: 'set', outcome: 'done', event: { changes: [{ key: 'jobs', was: 1, now: 3 }] } },
  ]);
  await expect.poll(() => atOnce('steered'), { timeout: 20_000 }).toBe(3);
  await asked((context) => set({ ...steering, run: 'steered', overrides: ['jobs=2'] }, context));
  await expect.poll(() => atOnce('steered'), { timeout: 20_000 }).toBe(2);
  const ended = await asked((context) => stop({ ...steering, runs: ['steered'] }, context));
  expect(ended).toMatchObject([{ run: 'steered', action: 'stop' }]);
  expect(await under).toMatchObject({ status: 'interrupted' });
  const changes = readFileSync(join(place, 'steered', 'changes.jsonl'), 'utf8')
    .trim()
    .split('\n');
  expect(changes.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { action: 'set', unit: 'run', changes: [{ was: 1, now: 3 }] },
    { action: 'set', changes: [{ was: 3, now: 2 }] },
    { action: 'stop' },
  ]);
  const names = runsBelow(join(place, 'steered')).length;
  expect(names).toBeLessThan(6);
  slowly.fill(undefined);
  expect(await sweep('steered')).toMatchObject({ status: 'completed' });
  await sweep('whole');
  const runs = runsBelow(join(place, 'whole'));
  expect(runs).toHaveLength(6);
  for (const run of runs)
    expect(readRunFile(run.replace('/whole/', '/steered/'), 'evaluations')).toEqual(
      readRunFile(run, 'evaluations'),
    );
  expect(existsSync(join(place, 'steered', 'control.jsonl'))).toBe(false);
}, 60_000);

it('set jobs is refused for an invalid count, along with other settings, or if no plan is running', async () => {
  const refused = (run: string, ...overrides: readonly string[]) =>
    expect(asked((context) => set({ ...steering, run, overrides: [...overrides] }, context))).rejects;
  await refused('whole', 'jobs=4').toThrow(/no command is executing several runs/);
  await refused('whole', 'jobs=0').toThrow(/a count from 1 to 9999/);
  await refused('whole', 'jobs=2', 'iterations=9').toThrow(/must be the only setting/);
  expect(jobsAsked(['iterations=9'])).toBeUndefined();
  expect(jobsAsked(['jobs=2.5'])).toBe('wrong');
  expect(jobsAsked(['jobs=12'])).toBe(12);
}, 60_000);
