import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { packageRoot } from '../../../../src/base/package.js';
import { readManifest, readRun } from '../../../../src/runs/reader.js';
import { built } from '../../../support/built.js';
import { temporaryDirectory } from '../../../support/experiments.js';

const config = `environment: { id: "synthetic:landscape", options: { seed: 3 } }
model: { provider: local, threads: 1, device: cpu, maxTokens: 60 }
prompts: { set: compact }
memory: { best: 4, recent: 2 }
iterations: 5
candidates: 3
warmup: 3
confirmation: { candidates: 0 }
adapt: { every: 2, epochs: 2, learningRate: 3.0e-3, lora: { rank: 2 } }
`;

const injection = pathToFileURL(join(packageRoot(), 'scripts', 'fault-injection.mjs')).href;

const cwd = temporaryDirectory();

async function policyloop(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const hooks = env.FAULT_ROOT === undefined ? [] : ['--import', injection];
  const child = spawn(process.execPath, [...hooks, built('src/cli.js'), ...args, '--quiet'], {
    cwd,
    env: { PATH: process.env.PATH, TMPDIR: process.env.TMPDIR, NO_COLOR: '1', ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  return { code, signal, errors };
}

const hashOf = (file: string) => createHash('sha256').update(readFileSync(file)).digest('hex');

/** What must not depend on breaks: all that was proposed and evaluated, the adapter, and the state of the learner. */
function resultOf(name: string) {
  const path = join(cwd, name);
  const { calls, entries, events } = readRun(path);
  const states = readdirSync(join(path, 'learning')).toSorted();
  return {
    entries,
    answers: calls.map(({ completion, outcome }) => [completion?.sampled, outcome]),
    adapted: events.flatMap((event) => {
      if (event.kind !== 'iteration-finished' || event.adapted === undefined) return [];
      const { seconds: _, ...figures } = event.adapted;
      return [figures];
    }),
    adapter: hashOf(join(path, 'adapter', 'adapter_model.safetensors')),
    states: states.map((file) => [file, hashOf(join(path, 'learning', file))]),
  };
}

describe('a run that trains its model', { timeout: 240_000 }, () => {
  let expected: ReturnType<typeof resultOf>;
  /** The changes that a whole run makes to its files. */
  let changes: readonly string[];

  beforeAll(async () => {
    writeFileSync(join(cwd, 'config.yaml'), config);
    const log = join(cwd, 'changes.log');
    const fault = { FAULT_ROOT: join(cwd, 'whole'), FAULT_KIND: 'none', FAULT_AT: '0', FAULT_LOG: log };
    const ended = await policyloop(['run', 'config.yaml', '--run-dir', 'whole'], fault);
    expect(ended).toMatchObject({ code: 0 });
    expected = resultOf('whole');
    changes = readFileSync(log, 'utf8').trimEnd().split('\n');
  }, 240_000);

  it('makes two updates and saves the learner’s state after each', () => {
    expect(expected.adapted.map(({ steps, update }) => [update, steps])).toEqual([
      [1, 2],
      [2, 2],
    ]);
    expect(expected.states.map(([file]) => file)).toEqual(['after-2.safetensors', 'after-4.safetensors']);
  });

  it.each([
    ['before the first state is written', /after-2/, 'before'],
    ['while the second state is written', /writeFileSync learning\/after-4/, 'torn'],
    ['while the adapter is written', /writeFileSync adapter\/adapter_model/, 'torn'],
  ])('when killed %s, resumes bit for bit', async (_, at, kind) => {
    const matching = changes.filter((change) => at.test(change));
    const number = Number(matching.at(-1)!.split(' ')[0]);
    const path = join(cwd, 'cut');
    const fault = { FAULT_ROOT: path, FAULT_KIND: kind, FAULT_AT: String(number) };
    const killed = await policyloop(['run', 'config.yaml', '--run-dir', 'cut'], fault);
    expect(killed.signal).toBe('SIGKILL');
    expect(readManifest(path).status).toBe('running');
    expect(await policyloop(['resume', 'cut', '--runs-dir', '.'])).toMatchObject({ code: 0 });
    expect(resultOf('cut')).toEqual(expected);
    expect(readdirSync(join(path, 'adapter')).toSorted()).toEqual([
      'adapter_config.json',
      'adapter_model.safetensors',
    ]);
    rmSync(path, { recursive: true });
  });

  it('resumes bit for bit from its log when the learner’s state and the adapter are deleted', async () => {
    const short = await policyloop(['run', 'config.yaml', 'iterations=3', '--run-dir', 'log']);
    expect(short).toMatchObject({ code: 0 });
    for (const kept of ['learning', 'adapter']) rmSync(join(cwd, 'log', kept), { recursive: true });
    expect(await policyloop(['resume', 'log', '--runs-dir', '.', 'iterations=5'])).toMatchObject({ code: 0 });
    expect(resultOf('log')).toEqual(expected);
  });
});
