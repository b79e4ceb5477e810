import type { ChildProcess } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { execute as runCommand } from '../../src/commands/run.js';
import { execute as sweepCommand } from '../../src/commands/sweep.js';
import type { ConfigInput } from '../../src/config/config.js';
import { parseConfig } from '../../src/config/load.js';
import { configChanges } from '../../src/runs/fingerprint.js';
import { readRun } from '../../src/runs/reader.js';
import { referenceDirectory } from '../models/local/fixture.js';
import {
  readRunFile,
  recordingContext,
  resumeExperiment,
  runExperimentFrom,
  stopAfter,
  temporaryDirectory,
} from '../support/experiments.js';

/** Called for every process that the program starts. */
const onFork = vi.hoisted(() => ({ listener: undefined as ((child: ChildProcess) => void) | undefined }));
vi.mock('node:child_process', async (importOriginal) => {
  const original = await importOriginal<typeof import('node:child_process')>();
  const fork = (...given: Parameters<typeof original.fork>) => {
    const child = original.fork(...given);
    onFork.listener?.(child);
    return child;
  };
  return { ...original, fork };
});

/** A reference model with room for a prompt: random weights, so that only the mask keeps its answers valid. */
function spaciousModel(): string {
  const directory = join(temporaryDirectory(), 'tiny');
  cpSync(referenceDirectory('qwen3-fp32'), directory, { recursive: true });
  const file = join(directory, 'config.json');
  const config = JSON.parse(readFileSync(file, 'utf8')) as object;
  writeFileSync(file, JSON.stringify({ ...config, max_position_embeddings: 8192 }));
  return directory;
}

const path = spaciousModel();
const experiment = {
  environment: 'CartPole-v1',
  model: { provider: 'local', path, device: 'cpu', threads: 1, format: 'constrained', maxTokens: 120 },
  iterations: 4,
  candidates: 2,
  warmup: 2,
  evaluation: { episodes: 2, maxSteps: 40 },
  confirmation: { candidates: 0 },
  memory: { best: 2, recent: 2 },
  prompts: { set: 'numeric' },
} as const satisfies ConfigInput;

const callsOf = (run: string) => readRun(run).calls;

test('constrained proposals are valid, and the same seed gives the same evaluations', async () => {
  const first = await runExperimentFrom(experiment);
  const calls = callsOf(first.path);
  expect(calls).toHaveLength(8);
  for (const call of calls) {
    expect(call.outcome).toMatchObject({ kind: 'accepted', parameters: { length: 10 } });
    expect(call.completion?.usage.promptTokens ?? 1).toBeGreaterThan(0);
  }
  const second = await runExperimentFrom(experiment);
  expect(readRunFile(second.path, 'evaluations')).toBe(readRunFile(first.path, 'evaluations'));
  const other = await runExperimentFrom({ ...experiment, seed: 1 });
  expect(readRunFile(other.path, 'evaluations')).not.toBe(readRunFile(first.path, 'evaluations'));
});

test('constrained proposals of discrete choices are valid or repeated (semantic prompt set)', async () => {
  const { path: run } = await runExperimentFrom({
    ...experiment,
    environment: { id: 'FrozenLake-v1', options: { is_slippery: false } },
    model: { ...experiment.model, maxTokens: 200 },
    iterations: 3,
    prompts: { set: 'semantic' },
  });
  const calls = callsOf(run);
  // An answer that was tried before is asked again; nothing else can be wrong with one.
  for (const { outcome } of calls)
    if (outcome.kind !== 'accepted') expect(outcome).toMatchObject({ failure: { kind: 'repeated' } });
  expect(calls.filter(({ outcome }) => outcome.kind === 'accepted')).toHaveLength(6);
});

test('an interrupted and resumed run gives the same evaluations as an uninterrupted one', async () => {
  const whole = await runExperimentFrom(experiment);
  const half = await runExperimentFrom(experiment, stopAfter(2));
  expect(readRunFile(half.path, 'evaluations')).not.toBe(readRunFile(whole.path, 'evaluations'));
  // Where and how fast it runs may change within a run.
  await resumeExperiment(half.path, { overrides: ['model.threads=2', 'model.device=auto'] });
  expect(readRunFile(half.path, 'evaluations')).toBe(readRunFile(whole.path, 'evaluations'));
});

test('parallel runs share one process and give the same results as sequential ones', async () => {
  const cwd = temporaryDirectory();
  const children: ChildProcess[] = [];
  onFork.listener = (child) => children.push(child);
  const written = {
    ...experiment,
    model: { ...experiment.model, batch: 4, temperature: 1 },
    iterations: 2,
    confirmation: { candidates: 1, episodes: 2 },
  };
  writeFileSync(join(cwd, 'config.json'), JSON.stringify(written));
  const play = async (jobs: number) => {
    children.length = 0;
    const { context } = recordingContext(cwd);
    const out = `jobs-${jobs}`;
    const args = {
      config: join(cwd, 'config.json'),
      overrides: ['seed=1..3'],
      runsDir: 'buffers',
      out,
      jobs,
    };
    const flags = { baselines: false, slurm: false, quiet: true, json: false };
    expect(await sweepCommand({ ...args, ...flags }, context)).toBe(0);
    const runs = [1, 2, 3].map((seed) => join(cwd, out, 'config', `seed-${seed}`));
    return {
      evaluations: runs.map((run) => readRunFile(run, 'evaluations')),
      usage: runs.map((run) => callsOf(run).map(({ completion }) => completion?.usage)),
      processes: children.length,
    };
  };
  const apart = await play(1);
  const beside = await play(3);
  onFork.listener = undefined;
  expect(beside.evaluations).toEqual(apart.evaluations);
  // What was cached is what each run had before, too.
  expect(beside.usage).toEqual(apart.usage);
  expect([apart.processes, beside.processes]).toEqual([3, 1]);
  expect(children.every(({ exitCode, signalCode }) => exitCode !== null || signalCode !== null)).toBe(true);
});

test('a run recovers with one more call if the model process is killed during an answer', async () => {
  let killed = 0;
  onFork.listener = (child) => {
    const send = child.send.bind(child);
    vi.spyOn(child, 'send').mockImplementation((message, ...rest) => {
      const isSent = send(message, ...(rest as []));
      if ((message as { readonly kind: string }).kind === 'generate' && killed === 0) {
        killed++;
        child.kill('SIGKILL');
      }
      return isSent;
    });
  };
  const { path: run } = await runExperimentFrom({ ...experiment, candidates: 1 });
  onFork.listener = undefined;
  expect(killed).toBe(1);
  const calls = callsOf(run);
  expect(calls.map(({ outcome }) => outcome.kind)).toEqual(['error', ...Array(4).fill('accepted')]);
  expect(calls[0]!.outcome).toMatchObject({ error: 'server', message: expect.stringContaining('SIGKILL') });
});

const screen = async (lines: string, model = path) => {
  const cwd = temporaryDirectory();
  writeFileSync(
    join(cwd, 'config.yaml'),
    `environment: CartPole-v1\nwarmup: 1\nmodel:\n  provider: local\n${lines}\nmemory: { best: 2, recent: 2 }\n`,
  );
  const { context } = recordingContext(cwd);
  const args = {
    config: join(cwd, 'config.yaml'),
    overrides: model === path ? [] : [`model.path=${model}`],
    runsDir: 'buffers',
    dryRun: false,
    quiet: true,
    json: false,
  };
  const error: unknown = await runCommand(args, context).catch((reason: unknown) => reason);
  return error instanceof Error ? error.message : String(error);
};

test('an error in the model settings is reported at its line in the config', async () => {
  expect(await screen('  path: ./nowhere')).toMatch(
    /config\.yaml:5:9: model\.path: there is no such directory\n[\s\S]*hint: use the directory/,
  );
  const gemma = spaciousModel();
  writeFileSync(join(gemma, 'config.json'), JSON.stringify({ model_type: 'gemma3' }));
  expect(await screen(`  path: ${gemma}`)).toMatch(
    /config\.yaml:5:9: model\.path: config\.json, model_type \("gemma3"\): this architecture is not supported\n[\s\S]*llama, mistral/,
  );
  const absent = process.platform === 'win32' ? 'coreml' : 'dml';
  expect(await screen(`  path: ${path}\n  device: ${absent}`)).toMatch(
    /config\.yaml:6:11: model\.device: this device can't be used[\s\S]*one of: auto, cpu/,
  );
});

test('device and threads may change within a run; the model and its sampling may not', () => {
  const config = parseConfig(experiment);
  const changed = (model: object) =>
    configChanges(config, parseConfig({ ...experiment, model: { ...experiment.model, ...model } })).map(
      ({ key }) => key,
    );
  expect(changed({ device: 'auto', threads: 3 })).toEqual([]);
  expect(changed({ path: '/elsewhere' })).toEqual(['model.path']);
  expect(changed({ quantization: 'int4' })).toEqual(['model.quantization']);
  expect(changed({ batch: 4 })).toEqual(['model.batch']);
  expect(changed({ temperature: 0.5, format: 'text' })).toEqual(['model.format', 'model.temperature']);
});
