/** One contract for every provider: play, caps, usage, resume, replay, and failures whose messages name the key and a hint. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packageRoot } from '../../../../src/base/package.js';
import type { ConfigInput } from '../../../../src/config/config.js';
import { parseConfig } from '../../../../src/config/load.js';
import type { ModelError } from '../../../../src/models/language-model.js';
import { answerGrammar } from '../../../../src/prompting/notation/grammar.js';
import { createModel } from '../../../../src/proposers/create-model.js';
import { readManifest, readRun } from '../../../../src/runs/reader.js';
import { ask } from '../../../support/ask.js';
import { resultsOf, resumeExperiment, runExperimentFrom } from '../../../support/experiments.js';
import { type Answer, startFakeServer } from '../../../support/fake-server.js';
import { messages, recordWaits } from '../../model-configs.js';
import type { Failure, FakeProvider, Json } from './provider.js';
import * as providers from './providers.js';

/** Failures, by provider name. */
const failures = JSON.parse(
  readFileSync(join(packageRoot(), 'test/fixtures/provider-failures.json'), 'utf8'),
) as Readonly<Record<string, Readonly<Record<string, Failure>>>>;

const start = (answer: FakeProvider['answer']) => startFakeServer({ faults: undefined, empty: {}, answer });

const experiment = (model: ConfigInput['model']): ConfigInput => ({
  environment: 'CartPole-v1',
  policy: { kind: 'linear', bias: false },
  model,
  warmup: 2,
  iterations: 2,
  candidates: 2,
  corrections: 1,
  evaluation: { episodes: 1, maxSteps: 20 },
  confirmation: { candidates: 0 },
});

const spec = { count: 8, kind: 'float', low: -6, high: 6, decimals: 1 } as const;

describe.each(Object.values(providers))('$name', (fake) => {
  const env = fake.env ?? {};

  it('completes a run of 4 accepted calls, counts prompt and reply tokens, repeats no refusal', async () => {
    const server = await start(fake.answer);
    const { path } = await runExperimentFrom(experiment(fake.model(server.url)), { env });
    const { format, status, usage } = readManifest(path);
    const { calls } = readRun(path);
    expect(status).toBe('completed');
    expect(calls.map(({ outcome }) => outcome.kind)).toEqual(Array(4).fill('accepted'));
    expect(format).toBe(fake.format);
    expect(calls.at(-1)!.completion!.format).toBe(fake.format);
    const { cachedTokens, completionTokens, promptTokens, reasoningTokens } = server.counts;
    const counted = { promptTokens, cachedTokens, completionTokens };
    expect(usage).toMatchObject({ ...counted, calls: 4, errors: 0, retries: fake.refusals });
    // Ollama's own interface and plain counts say nothing of them.
    expect([0, reasoningTokens]).toContain(usage.reasoningTokens);
    expect(usage.unreported).toBeUndefined();
    const asked = server.requests.filter(({ path: at }) => !at.endsWith('/show'));
    const answered = asked.length - fake.refusals;
    expect(answered).toBeLessThanOrEqual(4);
    const kinds = Object.entries(usage.faults ?? {}).filter(([kind]) => !/bad-request|not-found/.test(kind));
    expect(kinds).toEqual([]);
  });

  it('serves a run that stops at a call limit, resumes from there, and can be replayed', async () => {
    const server = await start(fake.answer);
    const limited = { ...experiment(fake.model(server.url)), limits: { calls: 2 } };
    const { path } = await runExperimentFrom(limited, { env });
    expect(readManifest(path)).toMatchObject({
      reason: { kind: 'limit', limit: 'calls' },
      usage: { calls: 2 },
    });
    await resumeExperiment(path, { env, overrides: ['limits.calls=4'] });
    expect(readManifest(path)).toMatchObject({ status: 'completed', usage: { calls: 4 } });
    const requests = server.requests.length;
    const replayed = await runExperimentFrom({
      ...experiment({ provider: 'replayed', run: path }),
      limits: { calls: 4 },
    });
    expect(resultsOf(replayed.path)).toEqual(resultsOf(path));
    expect(server.requests).toHaveLength(requests);
  });

  it.each(Object.entries(failures[fake.name]!))('explains in its message: %s', async (_, failure) => {
    const { status, body, headers, kind, says } = failure;
    const answer: Answer = { status, body, ...(headers && { headers }) };
    const server = await start(({ path }) =>
      path === '/api/show' ? fake.answer(server.requests[0]!) : answer,
    );
    const section = { ...(fake.model(server.url) as Json), ...failure.model, maxRetries: 1 };
    const { model } = parseConfig(experiment(section as ConfigInput['model']));
    const opened = createModel(model, env, recordWaits().wait);
    const options = { seeds: [1], grammar: answerGrammar(spec) };
    const said = await ask(opened, messages, options).then(
      (completion) => {
        expect(completion.faults).toContain(kind);
        expect(completion.usage.unreported).toBeUndefined();
        return completion.warnings!.join(' ');
      },
      (error: ModelError) => {
        expect(error.kind).toBe(kind);
        return error.message;
      },
    );
    for (const part of says) expect(said).toContain(part);
    expect(said).not.toMatch(/[{[]"/);
  });
});
