/**
 * What only a real server shows. `npm run test:ollama`, with OLLAMA_BINARY=path of Ollama and POLICYLOOP_GGUF=path of a
 * small instructed model (SmolLM2-135M-Instruct); elsewhere it is skipped.
 */
import { cpSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { execute as exportCommand } from '../../../finetune/commands/export.js';
import type { ConfigInput } from '../../../src/config/config.js';
import { createModel } from '../../../src/experiment/proposer.js';
import type { ChatMessage, ModelError } from '../../../src/models/language-model.js';
import type { OllamaConfig } from '../../../src/models/settings.js';
import { readManifest, readRun } from '../../../src/runs/reader.js';
import { ask } from '../../support/ask.js';
import { recordingContext, runExperimentFrom, temporaryDirectory } from '../../support/experiments.js';
import { referenceDirectory } from '../local/fixture.js';
import { grammar, ollamaConfig } from '../model-configs.js';
import { type RealOllama, startRealOllama } from './real-ollama.js';

const { OLLAMA_BINARY: binary, POLICYLOOP_GGUF: gguf } = process.env;
const isGiven = binary !== undefined && gguf !== undefined;

it.skipIf(isGiven)('needs OLLAMA_BINARY=path of Ollama and POLICYLOOP_GGUF=path of a model', () => undefined);

let server: RealOllama;
beforeAll(async () => {
  if (!isGiven) return;
  server = await startRealOllama(resolve(binary));
  // Threads that spin wait for each other where other programs have work.
  await server.create('small', `FROM ${resolve(gguf)}\nPARAMETER num_thread 1\n`);
});
afterAll(() => server?.kill());

const numbers = 'params[0]: 1.5, params[1]: -0.3; ';
const prompt = (times: number): readonly ChatMessage[] => [{ role: 'user', content: numbers.repeat(times) }];
const modelOf = (changes: Partial<OllamaConfig> = {}) =>
  createModel(ollamaConfig({ name: 'small', host: server.url, concurrency: 1, ...changes }), {});

const experiment = (): ConfigInput => ({
  environment: 'CartPole-v1',
  policy: { kind: 'linear', bias: false, low: -2, high: 2, decimals: 1 },
  model: {
    ...({ provider: 'ollama', name: 'small', format: 'json' } as const),
    host: server.url,
    maxTokens: 200,
    maxRetries: 8,
    temperature: 1,
  },
  prompts: { set: 'compact' },
  warmup: 2,
  iterations: 3,
  corrections: 1,
  evaluation: { episodes: 1, maxSteps: 20 },
  confirmation: { candidates: 0 },
});

describe.runIf(isGiven)('a real Ollama', { timeout: 600_000 }, () => {
  it('completes an experiment: every reply readable, every token counted', async () => {
    const { path } = await runExperimentFrom(experiment());
    const { status, usage } = readManifest(path);
    expect(status).toBe('completed');
    expect(usage.faults ?? {}).toEqual({});
    expect(usage.unreported).toBeUndefined();
    const outcomes = readRun(path).calls.map(({ outcome }) => outcome);
    // A small model repeats itself; what it says can be read.
    const unreadable = outcomes.filter(
      (outcome) => outcome.kind === 'rejected' && !/repeat|duplicate/.test(outcome.failure.kind),
    );
    expect(unreadable).toEqual([]);
  });

  it('stops at a call limit', async () => {
    const { path } = await runExperimentFrom({ ...experiment(), iterations: 9, limits: { calls: 2 } });
    expect(readManifest(path)).toMatchObject({
      reason: { kind: 'limit', limit: 'calls' },
      usage: { calls: 2 },
    });
  });

  it('refuses a prompt that exceeds its context', async () => {
    const call = ask(modelOf({ contextTokens: 512 }), prompt(60), { seeds: [1] });
    const error = await call.then(
      () => expect.unreachable(),
      (thrown: ModelError) => thrown,
    );
    expect(error).toMatchObject({ kind: 'too-long', fatal: false });
    expect(error.message).toMatch(/memory\.tokens/);
  });

  it('ends a reply at the end of its context', async () => {
    const model = modelOf({ contextTokens: 512, maxTokens: 400, temperature: 0 });
    const { faults, finishReason, usage, warnings } = await ask(model, prompt(25), { seeds: [1] });
    expect(faults ?? []).not.toContain('prompt-cut');
    expect(usage.promptTokens! + usage.completionTokens!).toBeLessThanOrEqual(513);
    if (finishReason === 'length') expect(warnings?.[0]).toMatch(/full before the reply was complete/);
  });

  it('reports a prompt count equal to num_ctx if it truncates the prompt', async () => {
    // What they don't know, they ignore.
    const options = { num_ctx: 512, num_predict: 1 };
    const body = JSON.stringify({ model: 'small', stream: false, messages: prompt(30), options });
    const reply = await fetch(`${server.url}/api/chat`, { method: 'POST', body });
    expect(await reply.json()).toMatchObject({ prompt_eval_count: 512 });
  });

  it('reports its own context size and keeps a single context window', async () => {
    const model = modelOf({ maxTokens: 8 });
    const context = await model.context!();
    expect(context!.tokens).toBeGreaterThanOrEqual(2048);
    model.expect!(1000);
    for (const times of [1, 12]) {
      const { faults } = await ask(model, prompt(times), { seeds: [1], grammar });
      expect(faults ?? []).not.toContain('prompt-cut');
    }
    const { models } = (await (await fetch(`${server.url}/api/ps`)).json()) as {
      models: { context_length: number }[];
    };
    expect(models.map(({ context_length }) => context_length)).toContain(2048);
  });

  it('can be killed and restarted during a run', async () => {
    let restarted: Promise<void> | undefined;
    const { path } = await runExperimentFrom(experiment(), {
      onEvent({ kind }) {
        if (kind !== 'iteration-finished' || restarted !== undefined) return;
        server.kill();
        restarted = server.start();
      },
    });
    await restarted;
    expect(readManifest(path)).toMatchObject({ status: 'completed', iterations: { done: 3 } });
  });

  it.each(['llama3-rope-bf16', 'qwen2-tied-bf16-sharded'])(
    'runs an exported model, which differs from its base: %s',
    async (name) => {
      const place = temporaryDirectory();
      const { context } = recordingContext(place);
      cpSync(referenceDirectory(name), join(place, 'base'), { recursive: true });
      cpSync(join(referenceDirectory(name), 'adapter-after-12-steps'), join(place, 'tuned'), {
        recursive: true,
      });
      const gguf = { json: true, to: 'gguf', dtype: 'f32' } as const;
      await exportCommand({ ...gguf, source: 'base', out: 'base.gguf' }, context);
      await exportCommand({ ...gguf, source: 'tuned', model: 'base', out: 'merged.gguf' }, context);
      const kinds = ['base', 'merged'];
      for (const kind of kinds) await server.create(`${name}-${kind}`, join(place, `${kind}.Modelfile`));
      const [base, merged] = await Promise.all(kinds.map((kind) => firstTokens(`${name}-${kind}`)));
      expect(merged!.length).toBeGreaterThan(0);
      expect(base![0]!.logprob).not.toBeCloseTo(merged![0]!.logprob, 2);
    },
  );

  /** The likeliest tokens after a text, each given those before. */
  async function firstTokens(model: string): Promise<{ token: string; logprob: number }[]> {
    const options = { num_ctx: 256, num_predict: 4, temperature: 0, repeat_penalty: 1, num_thread: 1 };
    const body = { model, stream: false, raw: true, prompt: 'f(params): 12', logprobs: true, options };
    const reply = await fetch(`${server.url}/api/generate`, { method: 'POST', body: JSON.stringify(body) });
    return ((await reply.json()) as { logprobs?: { token: string; logprob: number }[] }).logprobs ?? [];
  }
});
