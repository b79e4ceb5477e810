/** `model.requestsPerMinute` in a run: it waits for its turn, ends the wait at once, and asks nothing twice. */
import { expect, it } from 'vitest';
import type { ConfigInput } from '../../src/config/config.js';
import { parseConfig } from '../../src/config/load.js';
import { languageModelIn } from '../../src/experiment/proposer.js';
import { assemble, closeEnvironment } from '../../src/experiment/setup/assemble.js';
import type { RunEvent } from '../../src/runs/events.js';
import { readManifest, readRun } from '../../src/runs/reader.js';
import { quick, resumeExperiment, runExperimentFrom } from '../support/experiments.js';
import { startFakeOpenAI } from '../support/fake-openai.js';

const server = await startFakeOpenAI({
  reply: ({ seed }) => Array.from({ length: 10 }, (_, i) => `params[${i}]: ${(seed! + i) % 6}`).join(', '),
});

/** Runs of one process that ask the same model share its rate, so each test asks a model of its own. */
let models = 0;

const config = (changes: Partial<ConfigInput> = {}): ConfigInput => ({
  ...quick,
  model: { provider: 'openai', name: `fake-${++models}`, baseUrl: server.url, requestsPerMinute: 3 },
  corrections: 0,
  ...changes,
});

it.each(['finish', 'abort'] as const)('%s ends a wait for the rate limit at once', async (request) => {
  server.counts.requests = 0;
  const stop = new AbortController();
  const onEvent = (event: RunEvent) => {
    if (event.kind === 'rate-limited') setTimeout(() => stop.abort(), 20);
  };
  const started = performance.now();
  const { events, path } = await runExperimentFrom(config(), { [request]: stop.signal, onEvent });
  expect(performance.now() - started).toBeLessThan(20_000);
  expect(server.counts.requests).toBe(3);
  const waits = events.filter(({ kind }) => kind === 'rate-limited');
  expect(waits).toEqual([{ kind: 'rate-limited', seconds: expect.closeTo(60, -1) as number }]);
  // What was not sent is no call, and no failure.
  expect(readRun(path).calls.map(({ iteration }) => iteration)).toEqual([1, 2, 3]);
  expect(readRun(path).calls.filter(({ outcome }) => outcome.kind === 'error')).toEqual([]);
  expect(readManifest(path)).toMatchObject({ status: 'interrupted', iterations: { done: 3 } });
  // A higher rate begins a minute of its own, and is no other experiment.
  await resumeExperiment(path, { overrides: ['model.requestsPerMinute=100'] });
  expect(readManifest(path)).toMatchObject({ status: 'completed', usage: { calls: 6, errors: 0 } });
});

it('a time limit ends a wait for the rate limit', async () => {
  const { path } = await runExperimentFrom(config({ limits: { minutes: 1 / 60 } }), {});
  expect(readManifest(path).reason).toEqual({ kind: 'limit', limit: 'minutes' });
});

it('a replay and a baseline have no rate limit', async () => {
  const { path } = await runExperimentFrom(config({ iterations: 3 }));
  for (const model of [{ provider: 'replayed', run: path }, { provider: 'hill-climb' }] as const) {
    const assembly = await assemble(parseConfig(config({ iterations: 3, model })), {});
    await closeEnvironment(assembly);
    expect(languageModelIn(assembly.model)?.rate).toBeUndefined();
  }
});
