import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { startCommand } from '../../../support/command.js';
import { temporaryDirectory } from '../../../support/experiments.js';

const root = resolve(import.meta.dirname, '../../../..');

const config = (algorithm: string) => `environment: CartPole-v1
policy: { kind: mlp, hidden: [8] }
value: { hidden: [8] }
algorithm: ${algorithm}
updates: 4
batchEpisodes: 4
environments: 3
checkpointEvery: 1
evaluation: { every: 2, episodes: 3 }
baselines: []
output: tuned
`;
const algorithms = {
  PPO: '{ kind: ppo, epochs: 2, minibatchSteps: 32 }',
  TRPO: '{ kind: trpo, conjugateGradientSteps: 4, valueIterations: 3 }',
};

/**
 * Loaded before the program: kills it without notice in the n-th run of a network that acts, or that gives gradients. Runs
 * that act in evaluations count, too.
 */
const killer = `
import { createRequire } from 'node:module';
const { InferenceSession } = createRequire(${JSON.stringify(join(root, 'package.json'))})('onnxruntime-node');
const { run } = InferenceSession.prototype;
let left = Number(process.env.KILL_AT);
InferenceSession.prototype.run = function (...given) {
  const learns = this.outputNames.some((name) => name.startsWith('grad.'));
  if (learns === (process.env.KILL_IN === 'update') && --left === 0) process.kill(process.pid, 'SIGKILL');
  return run.apply(this, given);
};
`;

interface Killed {
  readonly in: 'rollout' | 'update';
  readonly at: number;
}

async function train(folder: string, kill?: Killed) {
  const file = join(folder, 'killer.mjs');
  writeFileSync(file, killer);
  const env = kill && {
    KILL_IN: kill.in,
    KILL_AT: String(kill.at),
    NODE_OPTIONS: `--import=${pathToFileURL(file).href}`,
  };
  return startCommand(folder, ['finetune', 'rl', 'rl.yaml', '--quiet', '--json'], env ?? {}).ended;
}

/** What is learnt, without the times that it took. */
function left(folder: string) {
  const bytes = (...parts: readonly string[]) =>
    readFileSync(join(folder, 'tuned', ...parts)).toString('hex');
  return {
    checkpoint: bytes('checkpoint.safetensors'),
    policy: bytes('policy', 'policy.safetensors'),
    updates: updatesIn(folder),
  };
}

function updatesIn(folder: string): readonly object[] {
  const file = join(folder, 'tuned', 'metrics.jsonl');
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ kind }) => kind === 'step')
    .map(({ rssBytes: _, seconds: _seconds, time: _time, tokensPerSecond: _speed, ...learnt }) => learnt);
}

describe.each(['PPO', 'TRPO'] as const)('%s training', (algorithm) => {
  const folders = { whole: temporaryDirectory(), cut: temporaryDirectory() };
  for (const folder of Object.values(folders))
    writeFileSync(join(folder, 'rl.yaml'), config(algorithms[algorithm]));

  it('resumes bit for bit after being killed in rollouts and in updates', async () => {
    expect((await train(folders.whole)).code).toBe(0);
    const expected = left(folders.whole);
    const kills: readonly Killed[] = [
      { in: 'update', at: 1 },
      { in: 'rollout', at: 90 },
      { in: 'update', at: 4 },
      { in: 'rollout', at: 12 },
    ];
    const reached: number[] = [];
    for (const kill of kills) {
      expect((await train(folders.cut, kill)).signal).toBe('SIGKILL');
      reached.push(updatesIn(folders.cut).length);
    }
    // Before any checkpoint, then behind some, and never at the end.
    expect(reached[0]).toBe(0);
    expect(reached[1]).toBeGreaterThan(0);
    expect(reached.at(-1)).toBeLessThan(4);
    expect((await train(folders.cut)).code).toBe(0);
    expect(left(folders.cut)).toEqual(expected);
  }, 120_000);
});
