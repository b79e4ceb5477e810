/** What goes wrong between us and a server, through the real clients of both providers. */

import { afterEach, describe, expect, it } from 'vitest';
import { createModel } from '../../src/experiment/proposer.js';
import { type Call, type Wait, waitOnClock } from '../../src/models/hosted/retry.js';
import { type LanguageModel, ModelError } from '../../src/models/language-model.js';
import { ask } from '../support/ask.js';
import { startFakeOllama } from '../support/fake-ollama.js';
import { startFakeOpenAI } from '../support/fake-openai.js';
import type { FakeServer, FaultPlan } from '../support/fake-server.js';
import { messages, ollamaConfig, openaiConfig, options, recordWaits } from './model-configs.js';

interface Setup {
  readonly faults: FaultPlan;
  readonly policy?: Partial<Call<unknown>['policy']>;
  readonly wait?: Wait;
  readonly onRequest?: () => void;
}

interface Provider {
  readonly name: string;
  readonly open: (setup: Setup) => Promise<{ server: FakeServer; model: LanguageModel }>;
}

const answer = 'params[0]: 1.0, params[1]: 2.0';

const replyWith = (onRequest?: () => void) => () => {
  onRequest?.();
  return answer;
};

const providers: readonly Provider[] = [
  {
    name: 'openai',
    open: async ({ faults, policy, wait, onRequest }) => {
      const server = await startFakeOpenAI({ reply: replyWith(onRequest), faults });
      return { server, model: createModel(openaiConfig({ baseUrl: server.url, ...policy }), {}, wait) };
    },
  },
  {
    name: 'ollama',
    open: async ({ faults, policy, wait, onRequest }) => {
      const server = await startFakeOllama({ reply: replyWith(onRequest), faults });
      return { server, model: createModel(ollamaConfig({ host: server.url, ...policy }), {}, wait) };
    },
  },
];

async function failureOf(call: Promise<unknown>): Promise<ModelError> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(ModelError);
  return error as ModelError;
}

describe.each(providers)('$name', ({ open }) => {
  const servers: FakeServer[] = [];
  afterEach(() => Promise.all(servers.splice(0).map((server) => server.close())));
  const start = async (setup: Setup) => {
    const opened = await open(setup);
    servers.push(opened.server);
    return opened;
  };

  it('reports the title of a web page received instead of an answer', async () => {
    const { model } = await start({ faults: { script: [{ kind: 'html' }] }, policy: { maxRetries: 0 } });
    const error = await failureOf(ask(model, messages, options));
    expect(error.message).toContain('an HTML page (“Sign in”)');
  });

  it.each([
    [400, 'bad-request', true],
    [401, 'authentication', true],
    [402, 'authentication', true],
    [403, 'authentication', true],
    [404, 'not-found', true],
    [413, 'too-long', false],
    [422, 'bad-request', true],
  ])('does not retry after HTTP %i: %s', async (status, kind, fatal) => {
    const { wait, waits } = recordWaits();
    const { server, model } = await start({
      faults: { script: [{ kind: 'status', status, message: 'the server says why' }] },
      wait,
    });
    const error = await failureOf(ask(model, messages, options));
    expect(error).toMatchObject({ kind, fatal, retries: 0 });
    expect(error.message).toContain(`HTTP ${status}: the server says why`);
    expect(waits).toEqual([]);
    expect(server.counts.requests).toBe(1);
  });

  it('does not retry if the account has no quota left', async () => {
    const { server, model } = await start({
      faults: { script: [{ kind: 'rate-limit', code: 'insufficient_quota' }] },
    });
    const error = await failureOf(ask(model, messages, options));
    expect(error).toMatchObject({ kind: 'authentication', fatal: true });
    expect(server.counts.requests).toBe(1);
  });

  it('waits as long as the server asks, and reports the longer waits', async () => {
    const { wait, waits } = recordWaits();
    const told: number[] = [];
    const asked = ['3', '0.5', '20'].map((retryAfter) => ({ kind: 'rate-limit', retryAfter }) as const);
    const { model } = await start({
      faults: { script: asked },
      policy: { maxRetryAfterSeconds: 20 },
      wait,
    });
    const onWait = (milliseconds: number) => void told.push(milliseconds);
    expect(await ask(model, messages, { ...options, attempts: { onWait } })).toMatchObject({ retries: 3 });
    expect(waits).toEqual([3000, 500, 20_000]);
    expect(told).toEqual([3000, 20_000]);
  });

  it('backs off exponentially, with the same waits for the same seed', async () => {
    const runs = await Promise.all(
      [1, 1, 2].map(async (seed) => {
        const { wait, waits } = recordWaits();
        const { model } = await start({
          faults: { rate: 1, seed: 0, kinds: [{ kind: 'status' }] },
          policy: { maxRetries: 6 },
          wait,
        });
        await failureOf(ask(model, messages, { ...options, seeds: [seed] }));
        return waits;
      }),
    );
    const longest = [500, 1000, 2000, 4000, 8000, 8000];
    for (const [i, milliseconds] of runs[0]!.entries()) {
      expect(milliseconds).toBeLessThanOrEqual(longest[i]!);
      expect(milliseconds).toBeGreaterThanOrEqual(longest[i]! * 0.75);
    }
    expect(runs[1]).toEqual(runs[0]);
    expect(runs[2]).not.toEqual(runs[0]);
  });

  it('gives up at once when the next try would come after the deadline', async () => {
    const { model } = await start({
      faults: { script: [{ kind: 'rate-limit', retryAfter: '50' }] },
      policy: { timeoutSeconds: 40 },
    });
    const error = await failureOf(ask(model, messages, options));
    expect(error).toMatchObject({ kind: 'rate-limit', retries: 0 });
    expect(error.message).toContain('after the deadline of 40 s');
  });

  it('ends a call that takes longer than the deadline', async () => {
    const { model } = await start({
      faults: { script: [{ kind: 'status' }, { kind: 'silent' }] },
      policy: { timeoutSeconds: 1.5 },
      wait: recordWaits().wait,
    });
    const error = await failureOf(ask(model, messages, options));
    expect(error).toMatchObject({ kind: 'timeout', retries: 1, fatal: false });
    expect(error.message).toMatch(/no answer within 1\.5 s \(model\.timeoutSeconds\); before that: HTTP 500/);
  });

  it('accepts a slow answer that arrives before the deadline', async () => {
    const { model } = await start({ faults: { script: [{ kind: 'slow', milliseconds: 50 }] } });
    const completion = await ask(model, messages, options);
    expect(completion).toMatchObject({ text: answer, retries: 0 });
  });

  it('ends at once when aborted while waiting for an answer', async () => {
    const abort = new AbortController();
    const { model } = await start({
      faults: { script: [{ kind: 'silent' }] },
      onRequest: () => abort.abort(),
    });
    const error = await failureOf(ask(model, messages, { ...options, signal: abort.signal }));
    expect(error).toMatchObject({ kind: 'aborted', retries: 0, fatal: false });
  });

  it('ends at once when aborted during a back-off', async () => {
    const abort = new AbortController();
    const { server, model } = await start({
      faults: { script: [{ kind: 'rate-limit', retryAfter: '50' }] },
      wait: (milliseconds, signal) => {
        abort.abort();
        return waitOnClock(milliseconds, signal);
      },
    });
    const error = await failureOf(ask(model, messages, { ...options, signal: abort.signal }));
    expect(error).toMatchObject({ kind: 'aborted', retries: 0 });
    expect(server.counts.requests).toBe(1);
  });

  it('counts the same tokens and retries as the server when three calls in ten fail', async () => {
    const { server, model } = await start({
      faults: { rate: 0.3, seed: 5 },
      policy: { maxRetries: 10 },
      wait: async () => {},
    });
    const totals = { promptTokens: 0, completionTokens: 0, retries: 0 };
    for (let seed = 0; seed < 60; seed++) {
      const { usage, retries } = await ask(model, messages, { ...options, seeds: [seed] });
      totals.promptTokens += usage.promptTokens!;
      totals.completionTokens += usage.completionTokens!;
      totals.retries += retries;
    }
    const { faults, ...counts } = server.counts;
    const retried = Object.values(faults).reduce((sum, count) => sum + count, 0) - faults.slow;
    expect(retried).toBeGreaterThan(8);
    expect(counts.succeeded).toBe(60);
    expect(counts.requests).toBe(60 + retried);
    expect(totals).toEqual({
      promptTokens: counts.promptTokens,
      completionTokens: counts.completionTokens,
      retries: retried,
    });
  });
});
