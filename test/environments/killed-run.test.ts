/** Kills runs in Python's Gymnasium, if it is installed: POLICYLOOP_PYTHON names the interpreter (default: python3). */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { describe, expect, test } from 'vitest';
import { readManifest } from '../../src/runs/reader.js';
import { built } from '../support/built.js';
import { temporaryDirectory } from '../support/experiments.js';

const python = process.env.POLICYLOOP_PYTHON ?? 'python3';
const present = spawnSync(python, ['-c', 'import gymnasium']).status === 0;
if (!present) process.stderr.write(`Killed runs skipped: ${python} has no gymnasium\n`);

const iterations = 12;
const config = `environment: gymnasium:CartPole-v1
model: { provider: hill-climb }
iterations: ${iterations}
warmup: 3
evaluation: { episodes: 10 }
confirmation: { candidates: 2, episodes: 5 }
`;

function start(cwd: string, args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [built('src/cli.js'), ...args, '--json'], {
    cwd,
    env: { PATH: process.env.PATH, NO_COLOR: '1', POLICYLOOP_PYTHON: python },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

/** Kills the process without warning once it has finished the iteration; returns the bridges that it leaves behind. */
async function killAfter(iteration: number, child: ChildProcess): Promise<readonly string[]> {
  let events = '';
  let bridges: readonly string[] = [];
  child.stdout!.on('data', (chunk: Buffer) => {
    events += chunk.toString();
    if (child.killed || !finished(events).includes(iteration)) return;
    bridges = bridgesOf(child.pid!);
    child.kill('SIGKILL');
  });
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  expect({ code, signal }).toEqual({ code: null, signal: 'SIGKILL' });
  return bridges;
}

const finished = (events: string) =>
  events
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as { kind?: string; iteration?: number })
    .flatMap(({ kind, iteration }) => (kind === 'iteration-finished' ? [iteration] : []));

function bridgesOf(pid: number): readonly string[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
  return children.filter((child) => readFileSync(`/proc/${child}/cmdline`, 'utf8').includes('bridge.py'));
}

describe.runIf(present && process.platform === 'linux')('a killed run of a Python environment', () => {
  test('leaves no Python process, and resumes with the same evaluations and episodes, byte for byte', {
    timeout: 120_000,
  }, async () => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'config.yaml'), config);
    const whole = start(cwd, ['run', 'config.yaml', '--run-dir', 'whole']);
    whole.stdout!.resume();
    expect(await once(whole, 'close')).toEqual([0, null]);

    for (const [iteration, args] of [
      [3, ['run', 'config.yaml', '--run-dir', 'killed']],
      [7, ['resume', 'killed', '--runs-dir', '.']],
    ] as const) {
      const bridges = await killAfter(iteration, start(cwd, args));
      expect(bridges).not.toEqual([]);
      for (const pid of bridges) {
        await expect.poll(() => existsSync(`/proc/${pid}`)).toBe(false);
      }
      expect(readManifest(join(cwd, 'killed'))).toMatchObject({ status: 'running' });
    }

    const resumed = start(cwd, ['resume', 'killed', '--runs-dir', '.']);
    resumed.stdout!.resume();
    expect(await once(resumed, 'close')).toEqual([0, null]);
    expect(readManifest(join(cwd, 'killed'))).toMatchObject({
      status: 'completed',
      iterations: { done: iterations },
    });
    for (const file of ['evaluations.jsonl', 'episodes.jsonl']) {
      const expected = readFileSync(join(cwd, 'whole', file), 'utf8');
      expect(expected.trim().split('\n').length).toBeGreaterThanOrEqual(iterations);
      expect(readFileSync(join(cwd, 'killed', file), 'utf8')).toBe(expected);
    }
  });
});
