/** A config that trains a proposer within seconds. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../../support/temporary-directory.js';

const written = {
  model: 'package:models/tiny-improver',
  output: './out',
  method: { kind: 'lora', rank: 2 },
  experiment: {
    iterations: 2,
    warmup: 2,
    evaluation: { episodes: 1, maxSteps: 50 },
    prompts: { set: 'compact' },
  },
  tasks: [
    { environment: 'Pendulum-v1', policy: { kind: 'linear', bias: false }, weight: 3 },
    { environment: 'CartPole-v1' },
  ],
  objective: { kind: 'grpo' },
  updates: 3,
  groups: 2,
  groupSize: 4,
  checkpointEvery: 1,
  threads: 1,
  answers: { maxTokens: 400, format: 'constrained' },
  evaluation: { every: 3, runs: 2 },
};

/** @returns a new directory with rl.yaml, which writes to out */
export function configured(): string {
  const folder = temporaryDirectory();
  mkdirSync(join(folder, 'out'));
  writeFileSync(join(folder, 'rl.yaml'), JSON.stringify(written));
  return folder;
}
