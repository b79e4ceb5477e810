import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createGenerator } from '../../src/base/random/generator.js';
import type { ConfigInput } from '../../src/config/config.js';
import { parseConfig } from '../../src/config/load.js';
import type { ChatMessage } from '../../src/models/language-model.js';
import { createModel } from '../../src/proposers/create-model.js';
import { readManifest, readRun } from '../../src/runs/reader.js';
import { quick, runExperimentFrom } from '../support/experiments.js';
import { startFakeOpenAI } from '../support/fake-openai.js';
import type { FakeServer } from '../support/fake-server.js';

const key = 'sk-canary-9f8e7d6c5b4a';

/** Answers like a mediocre model: a function of the prompt and of `salt`. */
function reply(messages: readonly ChatMessage[], salt: number): string {
  const random = createGenerator(salt, [messages.length, messages.at(-1)!.content.length]);
  const value = () => random.uniform(-6, 6).toFixed(1);
  const answer = Array.from({ length: 10 }, (_, i) => `params[${i}]: ${value()}`).join(', ');
  const kind = random.random();
  if (kind < 0.1) return 'I would need more information to answer.';
  if (kind < 0.2) return answer.split(', ').slice(0, 4).join(', ');
  if (kind < 0.3) return `<think>The third weight seems too low.</think>\n${answer}`;
  return `${answer}\nI moved away from the worst of the recent evaluations.`;
}

const experiment = {
  ...quick,
  iterations: 25,
  candidates: 2,
  evaluation: { episodes: 2, maxSteps: 30 },
} as const;

/** Ends every wait at once; the back-off has its own tests. */
const noWaiting = () => Promise.resolve();

async function run(config: ConfigInput, server: FakeServer) {
  const model = createModel(parseConfig(config).model, { OPENAI_API_KEY: key }, noWaiting);
  const { path } = await runExperimentFrom(config, { model, env: { OPENAI_API_KEY: key } });
  return { path, manifest: readManifest(path), counts: server.counts };
}

/** Compares the ledger with the counts of the server. */
function expectRightLedger({ path, manifest, counts }: Awaited<ReturnType<typeof run>>): void {
  expect(manifest).toMatchObject({ status: 'completed', iterations: { done: 25, of: 25 } });
  const { usage } = manifest;
  expect(usage.promptTokens).toBe(counts.promptTokens);
  expect(usage.completionTokens).toBe(counts.completionTokens);
  expect(usage.reasoningTokens).toBe(counts.reasoningTokens);
  // Every request was the first try of a call or a retry of one.
  const faults = Object.values(counts.faults).reduce((sum, n) => sum + n, 0) - counts.faults.slow;
  expect(faults).toBeGreaterThan(0.2 * counts.requests);
  expect(counts.requests).toBe(counts.succeeded + faults);
  const recorded = readRun(path);
  expect(recorded.calls).toHaveLength(usage.calls);
  const completed = recorded.calls.filter(({ completion }) => completion !== undefined);
  expect(completed).toHaveLength(usage.calls - usage.errors);
  const accepted = recorded.calls.filter(({ outcome }) => outcome.kind === 'accepted');
  const proposals = recorded.entries.filter(({ source }) => source === 'proposal');
  expect(proposals.map(({ parameters }) => parameters)).toEqual(
    accepted
      .toSorted((a, b) => a.iteration - b.iteration || a.candidate - b.candidate)
      .map(({ outcome }) => outcome.kind === 'accepted' && outcome.parameters),
  );
  expect(accepted.length).toBeGreaterThan(30);
}

it('a run ends at once if the server asks it to wait for a day', async () => {
  const server = await startFakeOpenAI({
    reply: () => 'ok',
    faults: { script: [{ kind: 'rate-limit', retryAfter: '86400' }] },
  });
  const model = { provider: 'openai', name: 'm', baseUrl: server.url } as const;
  const { manifest, counts } = await run({ ...experiment, candidates: 1, model }, server);
  expect(counts.requests).toBe(1);
  expect(manifest).toMatchObject({
    status: 'failed',
    reason: {
      kind: 'model-error',
      message: expect.stringMatching(/Continue later with `policyloop resume/) as string,
    },
    usage: { calls: 1, faults: { quota: 1 } },
  });
});

it('replies without choices count no tokens', async () => {
  const server = await startFakeOpenAI({
    reply: () => 'ok',
    faults: { rate: 1, seed: 0, kinds: [{ kind: 'empty' }] },
  });
  const model = { provider: 'openai', name: 'm', baseUrl: server.url, maxTokens: 4000 } as const;
  const { manifest } = await run({ ...experiment, iterations: 2, model }, server);
  expect(manifest).toMatchObject({ status: 'failed', usage: { promptTokens: 0, completionTokens: 0 } });
  expect(manifest.usage.unreported).toBeUndefined();
});

describe('an experiment in which 30 % of the requests fail', () => {
  it('completes with the openai client and a correct ledger', async () => {
    const server = await startFakeOpenAI({
      apiKey: key,
      reply: ({ messages, choice, seed }) => reply(messages, (seed ?? 0) + choice),
      faults: { rate: 0.3, seed: 11 },
    });
    const result = await run(
      { ...experiment, model: { provider: 'openai', name: 'fake', baseUrl: server.url, maxRetries: 8 } },
      server,
    );
    expectRightLedger(result);
    for (const file of readdirSync(result.path)) {
      expect(readFileSync(join(result.path, file), 'utf8').includes(key), file).toBe(false);
    }
    expect(existsSync(join(result.path, 'report.html'))).toBe(true);
  });

  it('continues after calls that fail for good, and counts them', async () => {
    const server = await startFakeOpenAI({
      reply: ({ messages, seed }) => reply(messages, seed ?? 0),
      faults: { rate: 0.3, seed: 13, kinds: [{ kind: 'status' }, { kind: 'drop' }] },
    });
    const config = {
      ...experiment,
      candidates: 1,
      corrections: 0,
      model: { provider: 'openai', name: 'fake', baseUrl: server.url, maxRetries: 0 },
    } as const;
    const { manifest, path } = await run(config, server);
    expect(manifest.status).toBe('completed');
    expect(manifest.usage.errors).toBe(server.counts.faults.status + server.counts.faults.drop);
    const failed = readRun(path).calls.filter(({ outcome }) => outcome.kind === 'error');
    expect(new Set(failed.map(({ outcome }) => outcome.kind === 'error' && outcome.error))).toEqual(
      new Set(['server', 'cut']),
    );
  });
});

describe('a server that rejects the API key', () => {
  it('ends the run at once and reports the error', async () => {
    const server = await startFakeOpenAI({ apiKey: 'another', reply: () => '' });
    const config = {
      ...experiment,
      model: { provider: 'openai', name: 'fake', baseUrl: server.url },
    } as const;
    const { manifest } = await run(config, server);
    expect(manifest).toMatchObject({ status: 'failed', reason: { kind: 'model-error' } });
    expect(manifest.reason?.kind === 'model-error' && manifest.reason.message).toMatch(/401/);
    expect(server.requests).toHaveLength(1);
  });
});
