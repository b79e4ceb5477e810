import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { execute as resume } from '../../src/commands/resume.js';
import { execute as stop } from '../../src/commands/runs/stop.js';
import type { ConfigInput } from '../../src/config/config.js';
import { readManifest } from '../../src/runs/reader.js';
import { requestStop } from '../../src/runs/stop-request.js';
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
  limits: { calls: 60 },
  model: { provider: 'openai', name: 'slow', baseUrl: 'http://127.0.0.1:9' },
} as const satisfies ConfigInput;

/** Gives answers that depend only on the seed, after a moment. */
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
  const stopped = async (more: Partial<Parameters<typeof stop>[0]> = {}) => {
    const { context, printed } = recordingContext(cwd);
    await stop({ ...options, runs: ['r'], ...more }, context);
    return JSON.parse(printed.join('')) as unknown;
  };
  const done = (count: number) =>
    expect.poll(() => existsSync(path) && readManifest(path).iterations.done).toBeGreaterThanOrEqual(count);
  return { cwd, path, stopped, done };
}

describe('policyloop stop', () => {
  it('ends a run after its calls in flight; resumed, it evaluates the same as if uninterrupted', async () => {
    const { cwd, done, path, stopped } = workplace();
    const playing = runExperimentFrom(config, { path, model: slowModel() });
    await done(2);
    const { context } = recordingContext(cwd);
    await expect(resume({ ...options, run: 'r', overrides: [], quiet: true }, context)).rejects.toThrow(
      /this run is already running[\s\S]*policyloop stop/,
    );
    expect(await stopped()).toEqual([{ run: join('buffers', 'r'), outcome: 'stopped' }]);
    await playing;
    expect(readManifest(path)).toMatchObject({ status: 'interrupted', reason: { kind: 'interrupted' } });
    expect(existsSync(join(path, 'stop.json'))).toBe(false);

    await resumeExperiment(path, { model: slowModel(0) });
    expect(readManifest(path)).toMatchObject({
      status: 'completed',
      reason: { kind: 'limit', limit: 'calls' },
    });
    const plain = await runExperimentFrom(config, { model: slowModel(0) });
    expect(readRunFile(path, 'evaluations')).toBe(readRunFile(plain.path, 'evaluations'));
  });

  it('ends a run at once with --now, even while a call is in flight', async () => {
    const { path, stopped } = workplace();
    const model = {
      id: 'endless',
      generate: (_messages: unknown, { signal }: { signal?: AbortSignal }) =>
        new Promise<never>((_, reject) => {
          signal?.addEventListener('abort', () => reject(signal.reason as Error));
        }),
    };
    const playing = runExperimentFrom(config, { path, model: model as never });
    await expect.poll(() => existsSync(join(path, 'underway.jsonl'))).toBe(true);
    await stopped({ now: true });
    await playing;
    expect(readManifest(path)).toMatchObject({ status: 'interrupted', iterations: { done: 0 } });
  });

  it('has no effect on a process that starts later', async () => {
    const { path } = workplace();
    await runExperimentFrom({ ...config, iterations: 2 }, { path, model: slowModel(0) });
    requestStop(path, true);
    await resumeExperiment(path, { model: slowModel(0), overrides: ['iterations=4'] });
    expect(readManifest(path)).toMatchObject({ status: 'completed', iterations: { done: 4 } });
  });

  it('is rejected for a run that is not running', async () => {
    const { path, stopped } = workplace();
    await runExperimentFrom({ ...config, iterations: 1 }, { path, model: slowModel(0) });
    await expect(stopped()).rejects.toThrow(/none of these runs is running/);
    await expect(stopped({ runs: ['*'] })).rejects.toThrow(/none of these runs is running/);
    await expect(stopped({ wait: -1 })).rejects.toThrow(/--wait/);
    expect(existsSync(join(path, 'stop.json'))).toBe(false);
  });
});
