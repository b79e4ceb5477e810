import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createGenerator } from '../../../src/base/random/generator.js';
import type { ConfigInput } from '../../../src/config/config.js';
import type { LanguageModel } from '../../../src/models/language-model.js';
import { readManifest, readRun } from '../../../src/runs/reader.js';
import {
  quick,
  readRunFile,
  resumeExperiment,
  runExperimentFrom,
  seededModel,
} from '../../support/experiments.js';

const config = {
  ...quick,
  iterations: 9,
  pipeline: 4,
  model: { provider: 'ollama', name: 'scripted' },
} as const satisfies ConfigInput;

/** Answers by the seeds of the calls, after times that depend on `hurry`; knows how many it was asked for at once. */
function slow(hurry: number, wrong = 0.3) {
  const model = seededModel(wrong);
  const random = createGenerator(hurry);
  const counts = { now: 0, most: 0 };
  const generate: LanguageModel['generate'] = async (messages, options) => {
    counts.most = Math.max(counts.most, ++counts.now);
    await delay(random.integers(1, 40));
    counts.now--;
    return model.generate(messages, options);
  };
  return { model: { id: 'ollama/scripted', generate }, counts, asked: model.calls };
}

it('pipeline keeps that many requests in flight, with the same results in any reply order', async () => {
  const first = slow(1);
  const { path } = await runExperimentFrom(config, { model: first.model });
  expect(first.counts.most).toBe(4);
  const { calls, entries } = readRun(path);
  expect(entries.map(({ iteration }) => iteration)).toEqual(
    entries.map(({ iteration }) => iteration).toSorted((a, b) => a - b),
  );
  for (const { behind = 0, iteration } of calls) expect(behind).toBe(Math.min(3, iteration - 1));
  const other = await runExperimentFrom(config, { model: slow(2).model });
  expect(readRunFile(other.path, 'evaluations')).toBe(readRunFile(path, 'evaluations'));
  expect(readRun(other.path).calls.map(({ outcome }) => outcome)).toEqual(
    calls.map(({ outcome }) => outcome),
  );
  const replayed = await runExperimentFrom({ ...config, model: { provider: 'replayed', run: path } });
  expect(readRunFile(replayed.path, 'evaluations')).toBe(readRunFile(path, 'evaluations'));
  expect(readRun(replayed.path).calls.map(({ messages }) => messages)).toEqual(
    calls.map(({ messages }) => messages),
  );
});

it.each(['finish', 'abort'] as const)(
  'a pipelined run resumes identically after %s and requests no answer twice',
  async (how) => {
    const { path } = await runExperimentFrom(config, { model: slow(1).model });
    const stop = new AbortController();
    const before = slow(3);
    const stopped = await runExperimentFrom(config, {
      model: before.model,
      [how]: stop.signal,
      onEvent: (event) => event.kind === 'iteration-finished' && event.iteration === 3 && stop.abort(),
    });
    expect(readManifest(stopped.path).iterations.done).toBe(3);
    const after = slow(4);
    await resumeExperiment(stopped.path, { model: after.model });
    expect(readRunFile(stopped.path, 'evaluations')).toBe(readRunFile(path, 'evaluations'));
    const seeds = [...before.asked, ...after.asked].map(({ options }) => options.seeds[0]);
    expect(new Set(seeds).size).toBe(seeds.length);
    const { usage } = readManifest(stopped.path);
    if (how === 'finish') expect(usage.calls).toBe(readManifest(path).usage.calls);
  },
);

it('a prompt shows what was known when it was made', async () => {
  const { path } = await runExperimentFrom({ ...config, pipeline: 3, warmup: 2 }, { model: slow(1).model });
  const { calls, entries } = readRun(path);
  for (const { attempt, iteration, messages } of calls) {
    if (attempt > 0) continue;
    const shown = messages.flatMap(({ content }) => content.match(/^params\[0\].*f\(params\): /gm) ?? []);
    expect(new Set(shown).size).toBe(
      entries.filter((entry) => entry.iteration <= Math.max(0, iteration - 3)).length,
    );
  }
});

it('a pipelined run stays within a limit on calls', async () => {
  const { path } = await runExperimentFrom({ ...config, limits: { calls: 7 } }, { model: slow(1).model });
  expect(readManifest(path)).toMatchObject({ reason: { kind: 'limit', limit: 'calls' } });
  expect(readManifest(path).usage.calls).toBeLessThanOrEqual(7);
});

it.each([{ calls: 13 }, { tokens: 16_000 }])(
  'with limits %j, a pipelined run ends the same in any reply order',
  async (limits) => {
    const limited = { ...config, iterations: 30, limits };
    const [first, ...others] = await Promise.all(
      [1, 2, 3].map((hurry) => runExperimentFrom(limited, { model: slow(hurry, 0.6).model })),
    );
    const { path } = first!;
    // With 16,000 tokens nothing is accepted before the limit.
    expect(readManifest(path)).toMatchObject({ reason: { limit: Object.keys(limits)[0] } });
    expect(readRun(path).calls).toHaveLength(readManifest(path).usage.calls);
    for (const { path: other } of others) {
      expect(readRunFile(other, 'evaluations')).toBe(readRunFile(path, 'evaluations'));
      expect(readManifest(other).usage).toEqual(readManifest(path).usage);
    }
    const replayed = await runExperimentFrom({ ...limited, model: { provider: 'replayed', run: path } });
    expect(readRunFile(replayed.path, 'evaluations')).toBe(readRunFile(path, 'evaluations'));
    expect(readManifest(replayed.path).usage).toEqual(readManifest(path).usage);
  },
);

it('a pipelined run still requests ahead while a limit leaves room', async () => {
  const model = slow(1);
  await runExperimentFrom({ ...config, limits: { calls: 200 } }, { model: model.model });
  expect(model.counts.most).toBe(4);
});

it('a replay omits requests whose replies the run did not use', async () => {
  const early = { ...config, iterations: 30, target: 12 };
  const { path } = await runExperimentFrom(early, { model: slow(1).model });
  const { iterations, reason, usage } = readManifest(path);
  expect(reason).toEqual({ kind: 'target', return: 12 });
  expect(iterations.done).toBeGreaterThan(0);
  const { calls } = readRun(path);
  expect(usage.calls).toBeGreaterThan(calls.length);
  const replayed = await runExperimentFrom({ ...early, model: { provider: 'replayed', run: path } });
  expect(readManifest(replayed.path)).toMatchObject({ usage: { calls: calls.length, errors: 0 } });
});
