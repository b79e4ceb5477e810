import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { startCommand } from '../../support/command.js';
import { configured } from './proposer-config.js';

const checkpointIn = (folder: string) => readFileSync(join(folder, 'out', 'checkpoint.safetensors'));

function stepsIn(folder: string): number {
  const file = join(folder, 'out', 'metrics.jsonl');
  return existsSync(file) ? readFileSync(file, 'utf8').split('"kind":"step"').length - 1 : 0;
}

it('proposer training resumes after SIGKILL to the same checkpoint, byte for byte', async () => {
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
