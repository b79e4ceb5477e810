import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { execute } from '../../../finetune/commands/rl.js';
import { readLineage, trainedEnvironments } from '../../../finetune/dataset/lineage.js';
import { visibleText } from '../../report/markup.js';
import { startCommand } from '../../support/command.js';
import { recordingContext, temporaryDirectory } from '../../support/experiments.js';

const written = {
  model: 'package:models/tiny-improver',
  output: './out',
  method: { kind: 'lora', rank: 2 },
  experiment: {
    ...{ iterations: 2, warmup: 2, evaluation: { episodes: 1, maxSteps: 50 } },
    prompts: { set: 'compact' },
  },
  tasks: [
    { environment: 'synthetic:landscape', policy: { kind: 'linear', bias: false }, weight: 3 },
    { environment: 'CartPole-v1' },
  ],
  objective: { kind: 'grpo' },
  ...{ updates: 3, groups: 2, groupSize: 4, checkpointEvery: 1, threads: 1 },
  answers: { maxTokens: 400, format: 'constrained' },
  evaluation: { every: 3, runs: 2 },
};

function configured(): string {
  const folder = temporaryDirectory();
  mkdirSync(join(folder, 'out'));
  writeFileSync(join(folder, 'rl.yaml'), JSON.stringify(written));
  return folder;
}

async function learn(folder: string, overrides: readonly string[] = [], more: object = {}) {
  const { context, printed } = recordingContext(folder);
  const args = { config: 'rl.yaml', overrides, quiet: false, json: true, dryRun: false, ...more };
  const code = await execute(args, context);
  return { code, last: JSON.parse(printed.join('\n').trimEnd().split('\n').at(-1)!) as object };
}

const checkpointIn = (folder: string) => readFileSync(join(folder, 'out', 'checkpoint.safetensors'));

function stepsIn(folder: string): number {
  const file = join(folder, 'out', 'metrics.jsonl');
  return existsSync(file) ? readFileSync(file, 'utf8').split('"kind":"step"').length - 1 : 0;
}

describe('policyloop finetune rl on a proposer', () => {
  it('leaves what a training leaves, with the searches beside the model', async () => {
    const folder = configured();
    const { code, last } = await learn(folder);
    expect(code).toBe(0);
    expect(last).toMatchObject({
      ...{ ended: 'complete', step: 3, result: 'out/adapter' },
      ...{ meanReward: expect.any(Number), policyReturn: expect.any(Number) },
    });
    const lineage = readLineage(join(folder, 'out', 'adapter'))!;
    expect(trainedEnvironments(lineage)).toEqual(['CartPole-v1', 'synthetic:landscape']);
    const page = visibleText(readFileSync(join(folder, 'out', 'index.html'), 'utf8'));
    for (const text of [
      'Best share of searches beaten',
      'random search',
      'hill climbing',
      'CMA-ES',
      '2 held-out runs',
    ])
      expect(page).toContain(text);
    expect(page).toContain('Replies that can be read');
    expect(page).toContain('policyloop run CONFIG model.provider=local');
  });

  it('forecasts memory, tokens and time, and writes nothing', async () => {
    const folder = configured();
    const { last } = await learn(folder, ['output=other'], { dryRun: true });
    // Three updates of eight candidates, and two evaluations of two runs with two answers each: before the first and after the last.
    expect(last).toMatchObject({ episodes: 3 * 8 + 2 * 2 * 2 });
    expect(existsSync(join(folder, 'other'))).toBe(false);
  });

  it('killed without notice, goes on to the same bits', async () => {
    const [whole, killed] = [configured(), configured()];
    const args = ['finetune', 'rl', 'rl.yaml', '--json', '--quiet', 'updates=5'];
    await startCommand(whole, args).ended;
    const { child, ended } = startCommand(killed, args);
    while (stepsIn(killed) < 2 && child.exitCode === null) await setTimeout(5);
    child.kill('SIGKILL');
    expect((await ended).signal).toBe('SIGKILL');
    expect((await startCommand(killed, args).ended).code).toBe(0);
    expect(checkpointIn(killed).equals(checkpointIn(whole))).toBe(true);
    expect(stepsIn(killed)).toBe(5);
  });
});
