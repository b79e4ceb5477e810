/** One rate for all runs of a plan that execute at once. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { execute as sweepCommand } from '../../src/commands/sweep.js';
import { recordingContext, temporaryDirectory } from '../support/experiments.js';
import { startFakeOpenAI } from '../support/fake-openai.js';

it('requestsPerMinute applies to all jobs together', { timeout: 120_000 }, async () => {
  const place = temporaryDirectory();
  const times: number[] = [];
  const values = Array.from({ length: 10 }, (_, i) => `params[${i}]: 0.5`).join(', ');
  const server = await startFakeOpenAI({
    reply() {
      times.push(performance.now());
      return values;
    },
  });
  const config = join(place, 'pole.yaml');
  writeFileSync(
    config,
    `environment: CartPole-v1
model: { provider: openai, name: fake, baseUrl: "${server.url}", requestsPerMinute: 15 }
iterations: 3
warmup: 2
corrections: 0
evaluation: { episodes: 2, maxSteps: 60 }
confirmation: { candidates: 2, episodes: 5 }
`,
  );
  const { context } = recordingContext(place);
  const common = { runsDir: 'buffers', baselines: false, slurm: false, quiet: true, json: true, jobs: 3 };
  const args = { ...common, config, overrides: ['memory.best=2,4', 'seed=1..3'], out: 'jobs' };
  expect(await sweepCommand(args, context)).toBe(0);
  expect(times.length).toBe(18);
  for (const [i, time] of times.entries())
    expect(times.filter((other) => other >= time && other < time + 50_000).length, `from ${i}`).toBeLessThan(
      16,
    );
  expect(times.at(-1)! - times[0]!).toBeGreaterThan(50_000);
  await server.close();
});
