import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { startCommand } from '../../support/command.js';
import { temporaryDirectory } from '../../support/experiments.js';
import { tinyConfig } from '../rl/tiny-learning.js';
import { configured } from './proposer-config.js';

function forBandit(): string {
  const folder = temporaryDirectory();
  tinyConfig({ environment: 'bandit', groups: 2, groupSize: 16, checkpointEvery: 1 }, folder);
  return folder;
}

it.each([
  { kind: 'agent', prepare: forBandit, updates: 8, kills: [2, 5] },
  { kind: 'proposer', prepare: configured, updates: 5, kills: [2] },
])('$kind training ends with the same checkpoint if it is killed and resumed', async (row) => {
  const [whole, killed] = [row.prepare(), row.prepare()];
  const args = ['finetune', 'rl', 'rl.yaml', '--json', '--quiet', `updates=${row.updates}`];
  await startCommand(whole, args).ended;
  // Kill the command at arbitrary moments.
  for (const updates of row.kills) {
    const { child, ended } = startCommand(killed, args);
    while (stepsIn(killed) < updates && child.exitCode === null) await setTimeout(5);
    child.kill('SIGKILL');
    expect((await ended).signal).toBe('SIGKILL');
  }
  expect((await startCommand(killed, args).ended).code).toBe(0);
  expect(checkpointIn(killed).equals(checkpointIn(whole))).toBe(true);
  expect(stepsIn(killed)).toBe(row.updates);
});

function stepsIn(folder: string): number {
  const file = join(folder, 'out', 'metrics.jsonl');
  return existsSync(file) ? readFileSync(file, 'utf8').split('"kind":"step"').length - 1 : 0;
}

const checkpointIn = (folder: string) => readFileSync(join(folder, 'out', 'checkpoint.safetensors'));
