import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { startCommand } from '../../support/command.js';
import { temporaryDirectory } from '../../support/experiments.js';
import { tinyConfig } from '../rl/tiny-learning.js';

it('finetune rl resumes after each SIGKILL to the same checkpoint, byte for byte', async () => {
  const [whole, killed] = [temporaryDirectory(), temporaryDirectory()];
  const written = { environment: 'bandit', updates: 8, groups: 2, groupSize: 16, checkpointEvery: 1 };
  for (const folder of [whole, killed]) tinyConfig(written, folder);
  const args = ['finetune', 'rl', 'rl.yaml', '--json', '--quiet'];
  await startCommand(whole, args).ended;
  // Two kills at times that nothing is synchronised with.
  for (const updates of [2, 5]) {
    const { child, ended } = startCommand(killed, args);
    while (stepsIn(killed) < updates && child.exitCode === null) await setTimeout(5);
    child.kill('SIGKILL');
    expect((await ended).signal).toBe('SIGKILL');
  }
  expect((await startCommand(killed, args).ended).code).toBe(0);
  expect(valuesIn(killed).equals(valuesIn(whole))).toBe(true);
  expect(stepsIn(killed)).toBe(8);
});

function stepsIn(folder: string): number {
  const file = join(folder, 'out', 'metrics.jsonl');
  return existsSync(file) ? readFileSync(file, 'utf8').split('"kind":"step"').length - 1 : 0;
}

/** The checkpoint. */
const valuesIn = (folder: string) => readFileSync(join(folder, 'out', 'checkpoint.safetensors'));
