/**
 * The contract of `providers/` against real servers: `npm run test:servers`. Each server is skipped unless its variables give
 * an address and a model, e.g. LLAMA_URL=http://127.0.0.1:8080/v1 LLAMA_MODEL=any.
 */
import { describe, expect, it } from 'vitest';
import type { ConfigInput } from '../../../src/config/config.js';
import { parseConfig } from '../../../src/config/load.js';
import type { AnswerFormat, ModelErrorKind } from '../../../src/models/language-model.js';
import { createModel } from '../../../src/proposers/create-model.js';
import { readManifest, readRun } from '../../../src/runs/reader.js';
import { ask } from '../../support/ask.js';
import { resultsOf, resumeExperiment, runExperimentFrom } from '../../support/experiments.js';
import { failureOf, grammar } from '../model-configs.js';

interface RealServer {
  readonly name: string;
  /** Begins the names of its variables. */
  readonly variable: string;
  readonly provider: 'ollama' | 'openai';
  /** How it can hold answers to their form. */
  readonly formats: readonly AnswerFormat[];
  /** Settings that it refuses, with the kind of the error and what that says. */
  readonly refuses: readonly (readonly [settings: object, kind: ModelErrorKind, says: RegExp])[];
  /** Whether it refuses a prompt that is too long. */
  readonly refusesLength: boolean;
}

const unknownModel = [{ name: 'no-such-model' }, 'not-found', /no-such-model/] as const;

const servers: readonly RealServer[] = [
  {
    name: 'Ollama',
    variable: 'OLLAMA',
    provider: 'ollama',
    formats: ['json_schema'],
    refuses: [unknownModel, [{ think: true }, 'bad-request', /model\.think/]],
    refusesLength: true,
  },
  {
    name: "llama.cpp's server",
    variable: 'LLAMA',
    provider: 'openai',
    formats: ['json_schema'],
    refuses: [[{ extra: { top_k: 'many' } }, 'bad-request', /model\.extra\.top_k/]],
    refusesLength: true,
  },
  {
    name: 'transformers serve',
    variable: 'TRANSFORMERS',
    provider: 'openai',
    formats: ['text'],
    refuses: [[{ extra: { top_k: 20 } }, 'bad-request', /model\.extra\.top_k/]],
    refusesLength: false,
  },
  {
    name: 'LiteLLM',
    variable: 'LITELLM',
    provider: 'openai',
    formats: ['json_schema', 'json_object', 'text'],
    refuses: [[{ name: 'no-such-model' }, 'bad-request', /no-such-model/]],
    refusesLength: false,
  },
];

describe.each(servers)('$name', (server) => {
  const url = process.env[`${server.variable}_URL`];
  const name = process.env[`${server.variable}_MODEL`] ?? 'any';
  const env = { OPENAI_API_KEY: process.env[`${server.variable}_KEY`] ?? 'none' };
  if (url === undefined) {
    it.skip(`needs ${server.variable}_URL=address and ${server.variable}_MODEL=name`, () => undefined);
    return;
  }

  const section = (more: object = {}) => ({
    provider: server.provider,
    name,
    maxTokens: 200,
    temperature: 1,
    maxRetries: 1,
    concurrency: 1,
    ...(server.provider === 'ollama' ? { host: url } : { baseUrl: url }),
    ...more,
  });
  const experiment = (model: object = section()): ConfigInput => ({
    environment: 'CartPole-v1',
    policy: { kind: 'linear', bias: false, low: -2, high: 2, decimals: 1 },
    model: model as ConfigInput['model'],
    prompts: { set: 'numeric' },
    warmup: 2,
    iterations: 2,
    corrections: 1,
    evaluation: { episodes: 1, maxSteps: 20 },
    confirmation: { candidates: 0 },
  });
  const modelOf = (more: object = {}) => createModel(parseConfig(experiment(section(more))).model, env);

  describe('as a provider', { timeout: 900_000 }, () => {
    it('completes a run in which every call is answered and counted, and every complete reply under a schema is readable', async () => {
      const { path } = await runExperimentFrom(experiment(), { env });
      const { format, usage } = readManifest(path);
      const { calls } = readRun(path);
      expect(server.formats).toContain(format);
      expect(usage).toMatchObject({ errors: 0, calls: calls.length });
      expect(usage.promptTokens).toBeGreaterThan(100);
      expect(usage.completionTokens).toBeGreaterThan(0);
      expect(usage.unreported).toBeUndefined();
      const unreadable = calls.filter(
        ({ completion, outcome }) =>
          completion?.format === 'json_schema' &&
          outcome.kind === 'rejected' &&
          !['repeated', 'truncated', 'range', 'decimals'].includes(outcome.failure.kind),
      );
      expect(unreadable).toEqual([]);
    });

    it('serves a run that stops at a call limit, resumes from there, and can be replayed', async () => {
      const { path } = await runExperimentFrom({ ...experiment(), limits: { calls: 1 } }, { env });
      expect(readManifest(path)).toMatchObject({
        // A small model that is free may have proposed nothing.
        reason: { limit: 'calls' },
        usage: { calls: 1 },
      });
      await resumeExperiment(path, { env, overrides: ['limits.calls=9'] });
      expect(readManifest(path).iterations.done).toBe(2);
      const replayed = await runExperimentFrom({
        ...experiment({ provider: 'replayed', run: path }),
        limits: { calls: 9 },
      });
      expect(resultsOf(replayed.path)).toEqual(resultsOf(path));
    });

    it('keeps replies within maxTokens', async () => {
      const { finishReason, usage } = await ask(
        modelOf({ maxTokens: 8 }),
        [{ role: 'user', content: 'Count from 1 to 200.' }],
        { seeds: [1] },
      );
      expect(finishReason).toBe('length');
      expect(usage.completionTokens).toBeLessThanOrEqual(8);
    });

    it.each(server.refuses)('reports clearly that %j is refused', async (settings, kind, says) => {
      const error = await failureOn(modelOf(settings), 'Hello');
      expect(error.kind).toBe(kind);
      expect(error.message).toMatch(says);
      expect(error.message).not.toMatch(/[{[]"/);
    });

    it.runIf(server.refusesLength)('suggests memory.tokens for a prompt that is too long', async () => {
      const window = server.provider === 'ollama' ? { contextTokens: 512 } : {};
      const error = await failureOn(modelOf(window), 'params[0]: 1.5; '.repeat(30_000));
      expect(error).toMatchObject({ kind: 'too-long', fatal: false });
      expect(error.message).toMatch(/memory\.tokens/);
    });
  });
});

const failureOn = (model: ReturnType<typeof createModel>, content: string) =>
  failureOf(ask(model, [{ role: 'user', content }], { seeds: [1], grammar }));
