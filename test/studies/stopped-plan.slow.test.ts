/** A plan that another process asks to stop. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { execute as stop } from '../../src/commands/runs/stop.js';
import { execute as sweepCommand } from '../../src/commands/sweep.js';
import { runsBelow } from '../../src/runs/finder.js';
import { readRunFile, recordingContext, temporaryDirectory } from '../support/experiments.js';
import { startFakeOpenAI } from '../support/fake-openai.js';
import type { Fault } from '../support/fake-server.js';

const place = temporaryDirectory();
const values = Array.from({ length: 10 }, (_, i) => `params[${i}]: 0.5`).join(', ');
/** Every answer is slow until this is emptied. */
const slowly: (Fault | undefined)[] = Array(500).fill({ kind: 'slow', milliseconds: 300 });
const server = await startFakeOpenAI({ reply: () => values, faults: { script: slowly } });
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
const options = { runsDir: 'buffers', json: true, wait: 20, now: false } as const;

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

it('a plan gives the same runs after it was stopped and resumed', async () => {
  const under = sweep('stopped');
  await expect.poll(() => atOnce('stopped')).toBe(1);
  const ended = await asked((context) => stop({ ...options, runs: ['stopped'] }, context));
  expect(ended).toEqual([{ run: 'stopped', outcome: 'stopped' }]);
  expect(await under).toMatchObject({ status: 'interrupted' });
  const names = runsBelow(join(place, 'stopped')).length;
  expect(names).toBeLessThan(6);
  slowly.fill(undefined);
  expect(await sweep('stopped')).toMatchObject({ status: 'completed' });
  await sweep('whole');
  const runs = runsBelow(join(place, 'whole'));
  expect(runs).toHaveLength(6);
  for (const run of runs)
    expect(readRunFile(run.replace('/whole/', '/stopped/'), 'evaluations')).toEqual(
      readRunFile(run, 'evaluations'),
    );
  expect(existsSync(join(place, 'stopped', 'stop.json'))).toBe(false);
}, 120_000);
