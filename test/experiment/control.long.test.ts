import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { execute as list } from '../../src/commands/list.js';
import { execute as resume } from '../../src/commands/resume.js';
import { execute as pause } from '../../src/commands/runs/pause.js';
import { execute as set } from '../../src/commands/runs/set.js';
import { execute as stop } from '../../src/commands/runs/stop.js';
import { execute as show } from '../../src/commands/show.js';
import type { ConfigInput } from '../../src/config/config.js';
import { loadConfig } from '../../src/config/load.js';
import { readManifest, readRun } from '../../src/runs/reader.js';
import { askOf } from '../../src/runs/requests.js';
import { startCommand } from '../support/command.js';
import {
  quick,
  readRunFile,
  recordingContext,
  resumeExperiment,
  runExperimentFrom,
  seededModel,
  temporaryDirectory,
} from '../support/experiments.js';

const options = { runsDir: 'buffers', json: true, wait: 20, now: false } as const;

/** A config of a language model, whose answers come from the test. */
const config = {
  ...quick,
  iterations: 200,
  limits: { calls: 500 },
  model: { provider: 'openai', name: 'slow', baseUrl: 'http://127.0.0.1:9' },
} as const satisfies ConfigInput;

/** Answers by the seed alone, after a moment. */
function slowModel(ms = 20) {
  const model = seededModel();
  return {
    id: model.id,
    async generate(...asked: Parameters<typeof model.generate>) {
      await delay(ms);
      return model.generate(...asked);
    },
  };
}

function workplace() {
  const cwd = temporaryDirectory();
  const path = join(cwd, 'buffers', 'r');
  const asked = async (command: (context: ReturnType<typeof recordingContext>['context']) => unknown) => {
    const { context, printed } = recordingContext(cwd);
    await command(context);
    return JSON.parse(printed.join('')) as Record<string, unknown>;
  };
  const statusOf = async () => {
    const rows = (await asked((context) => list(options, context))) as unknown as { status: string }[];
    return rows[0]?.status;
  };
  const begun = () => expect.poll(() => existsSync(join(path, 'events.jsonl'))).toBe(true);
  const done = (count: number) =>
    expect.poll(() => readManifest(path).iterations.done, { timeout: 30_000 }).toBeGreaterThanOrEqual(count);
  return { cwd, path, asked, statusOf, begun, done };
}

const controlled = (path: string) => readRun(path).events.filter((event) => event.kind === 'controlled');

describe('a running run', () => {
  it('follows pause, set, resume and stop commands, logs them, and replays identically', async () => {
    const { asked, cwd, done, path, statusOf } = workplace();
    const playing = runExperimentFrom(config, { path, model: slowModel(100) });
    await done(2);
    const runs = ['r'];
    expect(await asked((context) => pause({ ...options, runs }, context))).toMatchObject([
      { run: join('buffers', 'r'), action: 'pause', outcome: 'done', status: 'paused' },
    ]);
    expect(await statusOf()).toBe('paused');
    const before = readRunFile(path, 'evaluations');
    const { activeMs, usage } = readManifest(path);
    const calls = usage.calls + 40;
    const changed = await asked((context) =>
      set(
        { ...options, run: 'latest', overrides: [`limits.calls=${calls}`, 'confirmation.episodes=4'] },
        context,
      ),
    );
    expect(changed).toMatchObject([
      {
        event: {
          changes: [
            { key: 'limits.calls', was: 500, now: calls },
            { key: 'confirmation.episodes', was: 5, now: 4 },
          ],
        },
      },
    ]);
    await delay(600);
    expect(readRunFile(path, 'evaluations')).toBe(before);
    const on = await asked((context) =>
      resume({ ...options, run: 'r', overrides: [], quiet: true }, context),
    );
    expect(on).toMatchObject({ action: 'resume', outcome: 'done', status: 'running' });
    await done(readManifest(path).iterations.done + 2);
    expect(readManifest(path).activeMs).toBeGreaterThan(activeMs);
    const { context } = recordingContext(cwd);
    await expect(resume({ ...options, run: 'r', overrides: [], quiet: true }, context)).rejects.toThrow(
      /this run is already running[\s\S]*policyloop stop/,
    );
    expect(await asked((own) => stop({ ...options, runs }, own))).toMatchObject([
      { action: 'stop', outcome: 'done' },
    ]);
    await playing;
    expect(readManifest(path)).toMatchObject({ status: 'interrupted', reason: { kind: 'interrupted' } });
    expect(existsSync(join(path, 'control.jsonl'))).toBe(false);

    const events = controlled(path);
    expect(events.map(({ action }) => action)).toEqual(['pause', 'set', 'resume', 'stop']);
    expect(events[0]!.iteration).toBe(events[2]!.iteration);
    expect(loadConfig({ file: join(path, 'config.yaml') }).config).toMatchObject({
      limits: { calls },
      confirmation: { episodes: 4 },
    });
    const { context: shown, printed } = recordingContext(cwd);
    await show({ ...options, json: false, run: 'r', top: 1 }, shown);
    expect(printed[0]).toMatch(/command +changed after iteration \d+: limits.calls 500 → \d+/);
    expect(readRunFile(path, 'report')).toContain(`limits.calls 500 → ${calls}`);

    // It goes on to the new limit, and nothing of what it evaluates differs from a run that had it from the beginning.
    await resumeExperiment(path, { model: slowModel(0) });
    expect(readManifest(path)).toMatchObject({
      status: 'completed',
      reason: { kind: 'limit', limit: 'calls' },
      usage: { calls },
    });
    const plain = await runExperimentFrom({ ...config, limits: { calls } }, { model: slowModel(0) });
    expect(readRunFile(path, 'evaluations')).toBe(readRunFile(plain.path, 'evaluations'));
    const replay = await runExperimentFrom({
      ...config,
      limits: { calls },
      model: { provider: 'replayed', run: path },
    });
    expect(readRunFile(replay.path, 'evaluations')).toBe(readRunFile(path, 'evaluations'));
  });

  it('accepts a lower number of iterations, shows it in prompts and ends there', async () => {
    const { asked, done, path } = workplace();
    const playing = runExperimentFrom(config, { path, model: slowModel() });
    await done(1);
    await asked((context) => set({ ...options, run: 'r', overrides: ['iterations=12'] }, context));
    await playing;
    const { iterations, reason } = readManifest(path);
    expect({ iterations, reason }).toEqual({
      iterations: { done: 12, of: 12 },
      reason: { kind: 'iterations' },
    });
    const prompts = readRun(path).calls.map(({ messages }) => messages.map(({ content }) => content).join());
    expect(prompts[0]).toContain('of 200');
    expect(prompts.at(-1)).toContain('of 12');
  });

  it('stops at once with --now, even while a call is in flight', async () => {
    const { asked, begun, path } = workplace();
    const model = {
      id: 'endless',
      generate: (_messages: unknown, { signal }: { signal?: AbortSignal }) =>
        new Promise<never>((_, reject) => {
          signal?.addEventListener('abort', () => reject(signal.reason as Error));
        }),
    };
    const playing = runExperimentFrom(config, { path, model: model as never });
    await begun();
    await expect.poll(() => existsSync(join(path, 'underway.jsonl')), { timeout: 20_000 }).toBe(true);
    await asked((context) => stop({ ...options, runs: ['r'], now: true }, context));
    await playing;
    expect(readManifest(path)).toMatchObject({ status: 'interrupted', iterations: { done: 0 } });
    expect(controlled(path)).toMatchObject([{ action: 'stop', iteration: 0 }]);
  });

  it('ignores invalid commands and warns about one left over from an earlier process', async () => {
    const { asked, done, path } = workplace();
    const playing = runExperimentFrom(config, { path, model: slowModel() });
    await done(1);
    appendFileSync(join(path, 'control.jsonl'), '{"action":"dance"}\n{"action":\n');
    askOf(path, { action: 'set', overrides: ['model.name=other'] });
    await asked((context) => stop({ ...options, runs: ['r'] }, context));
    await playing;
    askOf(path, { action: 'pause' });
    await resumeExperiment(path, { model: slowModel(0), overrides: ['iterations=20'] });
    expect(readManifest(path).status).toBe('completed');
    const warnings = readRun(path).events.flatMap((event) =>
      event.kind === 'warning' ? [event.message] : [],
    );
    expect(warnings.filter((text) => text.includes('the previous process'))).toEqual([
      'a request was dropped because the previous process ended before handling it: pause',
    ]);
  });
});

describe('command errors', () => {
  it.each([
    [['model.name=other'], /model\.name: can't change within a run/],
    [['warmup.policies=9'], /warmup\.policies: can't change within a run/],
    [['pipeline=2'], /pipeline: can't change within a run: it was not set/],
    [['evaluation.workers=2'], /evaluation\.workers: can't be changed during a run[\s\S]*policyloop stop/],
    [['limits.total.calls=9'], /limits\.total/],
    [['iterations=none'], /iterations/],
    [['limits.calls=500'], /already has these settings/],
    [[], /overrides: /],
  ])('set rejects %j', async (overrides, message) => {
    const { cwd, done, path } = workplace();
    const finish = new AbortController();
    const playing = runExperimentFrom(config, { path, model: slowModel(), finish: finish.signal });
    await done(1);
    const { context } = recordingContext(cwd);
    await expect(set({ ...options, run: 'r', overrides }, context)).rejects.toThrow(message);
    finish.abort();
    await playing;
    expect(controlled(path)).toEqual([]);
  });

  it('pause, stop and set reject a run that is not running', async () => {
    const { cwd, path } = workplace();
    await runExperimentFrom({ ...config, iterations: 1 }, { path, model: slowModel(0) });
    const { context } = recordingContext(cwd);
    const runs = ['r'];
    await expect(pause({ ...options, runs }, context)).rejects.toThrow(
      /this run isn't running: it is completed/,
    );
    await expect(stop({ ...options, runs: ['*'] }, context)).rejects.toThrow(/running/);
    await expect(set({ ...options, run: 'r', overrides: ['iterations=3'] }, context)).rejects.toThrow(
      /policyloop resume .*r iterations=3/,
    );
    await expect(pause({ ...options, runs, wait: -1 }, context)).rejects.toThrow(/--wait/);
    expect(existsSync(join(path, 'control.jsonl'))).toBe(false);
  });
});

describe('a run whose process is killed', () => {
  it('while paused resumes with the same evaluations as an uninterrupted run', async () => {
    const { asked, cwd, done, path, statusOf } = workplace();
    const text =
      'environment: CartPole-v1\nmodel: { provider: random }\niterations: 20000\nwarmup: 3\nevaluation: { episodes: 3, maxSteps: 60 }\nconfirmation: { candidates: 0 }\n';
    writeFileSync(join(cwd, 'config.yaml'), text);
    const command = startCommand(cwd, ['run', 'config.yaml', '--run-dir', 'buffers/r']);
    await expect.poll(() => existsSync(join(path, 'manifest.json')), { timeout: 60_000 }).toBe(true);
    await done(3);
    await asked((context) => pause({ ...options, wait: 60, runs: ['r'] }, context));
    await asked((context) => set({ ...options, wait: 60, run: 'r', overrides: ['target=100000'] }, context));
    command.child.kill('SIGKILL');
    await command.ended;
    expect(await statusOf()).toBe('crashed');
    const at = readManifest(path).iterations.done;
    await asked((context) =>
      resume(
        { ...options, run: 'r', overrides: [`iterations=${at + 5}`], quiet: true, json: false },
        {
          ...context,
          print: () => context.print('{}'),
        },
      ),
    );
    expect(readManifest(path)).toMatchObject({ status: 'completed', iterations: { done: at + 5 } });
    expect(readManifest(path)).not.toHaveProperty('paused');
    const whole = await runExperimentFrom({
      environment: 'CartPole-v1',
      model: { provider: 'random' },
      ...{ iterations: at + 5, warmup: 3 },
      evaluation: { episodes: 3, maxSteps: 60 },
      confirmation: { candidates: 0 },
    });
    expect(readRunFile(path, 'evaluations')).toBe(
      readFileSync(join(whole.path, 'evaluations.jsonl'), 'utf8'),
    );
    expect(controlled(path).map(({ action }) => action)).toEqual(['pause', 'set']);
  });
});
