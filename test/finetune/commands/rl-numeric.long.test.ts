import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startCommand } from '../../support/command.js';
import { temporaryDirectory } from '../../support/experiments.js';

const config = `environment: HalfCheetah-v4
policy: { kind: mlp, hidden: [4] }
value: { hidden: [4] }
algorithm: { kind: trpo, conjugateGradientSteps: 2, valueIterations: 2 }
updates: 2
batchEpisodes: 1
environments: 1
evaluation: { every: 1, episodes: 1 }
baselines: [random]
`;

it('finetune rl trains a numeric policy, reports its return, writes a page and notes the environment version', async () => {
  const folder = temporaryDirectory();
  writeFileSync(join(folder, 'cheetah.yaml'), config);
  const words = ['finetune', 'rl', 'cheetah.yaml', 'output=tuned', '--json'];
  const { code, stderr, stdout } = await startCommand(folder, words).ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('runs as HalfCheetah-v5') });
  const lines = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(lines.at(-1)).toMatchObject({
    ended: 'complete',
    step: 2,
    episodes: 2,
    steps: 2000,
    meanReturn: expect.any(Number),
    baselines: { random: expect.any(Number) },
    result: 'tuned/policy',
  });
  const page = readFileSync(join(folder, 'tuned/index.html'), 'utf8');
  expect(page).toContain('random search');
  expect(existsSync(join(folder, 'tuned/policy/policy.safetensors'))).toBe(true);
}, 120_000);
