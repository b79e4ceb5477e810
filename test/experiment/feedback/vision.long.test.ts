import { describe, expect, it } from 'vitest';
import type { ConfigInput } from '../../../src/config/config.js';
import { parseConfig } from '../../../src/config/load.js';
import { assemble } from '../../../src/experiment/assemble.js';
import { ModelError } from '../../../src/models/language-model.js';
import { askModel } from '../../../src/preflight/ask-model.js';
import { preflight } from '../../../src/preflight/preflight.js';
import { forecastPrompts } from '../../../src/preflight/prompt-forecast.js';
import { readManifest, readRun } from '../../../src/runs/reader.js';
import { readPng } from '../../render/png-reader.js';
import {
  quick,
  readRunFile,
  resumeExperiment,
  runExperimentFrom,
  seededModel,
} from '../../support/experiments.js';
import { startFakeOllama } from '../../support/fake-ollama.js';
import { startFakeOpenAI } from '../../support/fake-openai.js';
import { createScriptedModel } from '../../support/scripted-model.js';

import { asking as config, feedbackCalls } from './asking.js';

const png = { seesImages: true } as const;

const env = { OPENAI_API_KEY: 'k' };

describe('a vision model', () => {
  const looking = {
    ...quick,
    model: { provider: 'ollama', name: 'scripted' },
    feedback: {
      ...{ from: 'vision', every: 3, frames: 4 },
      model: { provider: 'openai', name: 'seer', price: { input: 2, output: 8 } },
    },
  } as const satisfies ConfigInput;
  const reply = 'rating: 2\nremark: The pole falls to the left.';

  it('gets the frames as PNG pictures after the text, in the format of OpenAI-compatible servers', async () => {
    const server = await startFakeOpenAI({ reply: () => reply });
    const feedback = { ...looking.feedback, model: { ...looking.feedback.model, baseUrl: server.url } };
    const { path } = await runExperimentFrom({ ...looking, feedback }, { model: seededModel(), env });
    expect(server.requests).toHaveLength(2);
    for (const [i, { body }] of server.requests.entries()) {
      const { messages } = body as {
        messages: {
          role: string;
          content: string | { type: string; text: string; image_url: { url: string } }[];
        }[];
      };
      expect(typeof messages[0]!.content).toBe('string');
      const [text, ...pictures] = messages[1]!.content as Exclude<(typeof messages)[0]['content'], string>;
      const call = feedbackCalls(path)[i]!;
      expect(text).toEqual({ type: 'text', text: call.messages[1]!.content });
      expect(pictures).toHaveLength(4);
      const steps = [...text!.text.matchAll(/^- picture (\d): (?:after step (\d+)|the start)$/gm)];
      expect(steps.map(([, number]) => number)).toEqual(['1', '2', '3', '4']);
      const seen = pictures.map(({ image_url, type }) => {
        expect(type).toBe('image_url');
        const [, data] = /^data:image\/png;base64,(.*)$/.exec(image_url.url)!;
        return readPng(Buffer.from(data!, 'base64'));
      });
      expect(seen[0]).toMatchObject({ width: 320 });
      expect(new Set(seen.map(({ pixels }) => Buffer.from(pixels).toString('base64'))).size).toBe(4);
    }
    const [said] = readRun(path).entries.filter(({ feedback: told }) => told !== undefined);
    expect(said!.feedback).toMatchObject({
      from: 'vision',
      rating: 2,
      remark: 'The pole falls to the left.',
    });
    // Pictures are in no log: they follow from the policy and the seed.
    expect(readRunFile(path, 'calls')).not.toContain('base64');
    for (const { completion, cost } of feedbackCalls(path)) {
      const { promptTokens = 0, completionTokens = 0 } = completion!.usage;
      expect(cost).toBeCloseTo((2 * promptTokens + 8 * completionTokens) / 1e6, 12);
      expect(completion!.faults).toBeUndefined();
    }
    const replayed = await runExperimentFrom({
      ...looking,
      feedback,
      model: { provider: 'replayed', run: path },
    });
    expect(server.requests).toHaveLength(2);
    expect(readRunFile(replayed.path, 'evaluations')).toBe(readRunFile(path, 'evaluations'));
    expect(readManifest(replayed.path).usage).toEqual(readManifest(path).usage);
  });

  it('gets the frames as PNG pictures in the format of Ollama', async () => {
    const server = await startFakeOllama({ reply: () => reply });
    const model = { provider: 'ollama', name: 'seer', host: server.url } as const;
    const { path } = await runExperimentFrom(
      { ...looking, iterations: 3, feedback: { ...looking.feedback, model } },
      { model: seededModel() },
    );
    const { messages } = server.requests.at(-1)!.body as {
      messages: { content: string; images?: string[] }[];
    };
    expect(messages.map(({ images }) => images?.length)).toEqual([undefined, 4]);
    for (const image of messages[1]!.images!) readPng(Buffer.from(image, 'base64'));
    expect(feedbackCalls(path)[0]).toMatchObject({ outcome: { kind: 'accepted' } });
  });

  it('is corrected after an unusable reply, and skipped if the corrections fail', async () => {
    const seer = {
      ...createScriptedModel(['It looks fine.', reply, ...Array(4).fill('I can’t say.')]),
      ...png,
    };
    const { path, events } = await runExperimentFrom(looking, { model: seededModel(), feedback: seer, env });
    expect(events.flatMap((event) => (event.kind === 'feedback' ? event.result : []))).toEqual([
      'given',
      'unusable',
    ]);
    const asked = feedbackCalls(path);
    expect(asked.map(({ outcome }) => outcome.kind)).toEqual([
      'rejected',
      'accepted',
      ...Array(4).fill('rejected'),
    ]);
    expect(asked[1]!.messages.at(-1)!.content).toMatch(/^Your answer holds neither a rating/);
    expect(seer.calls.every(({ options }) => options.images?.length === 4)).toBe(true);
    expect(readRun(path).entries.filter(({ feedback }) => feedback !== undefined)).toHaveLength(1);
    expect(readManifest(path)).toMatchObject({ status: 'completed', iterations: { done: 6 } });
  });

  it('is skipped after a temporary error; a permanent one ends the run, which can be resumed', async () => {
    const failure = (kind: 'server' | 'bad-request') =>
      new ModelError(kind, `no: ${kind}`, { retries: 0, latencyMs: 0 });
    const ill = { ...createScriptedModel(() => failure('server')), ...png };
    const lost = await runExperimentFrom(looking, { model: seededModel(), feedback: ill, env });
    expect(lost.events.filter((event) => event.kind === 'warning')).toMatchObject([
      { message: 'no feedback received: no: server' },
    ]);
    const well = { ...createScriptedModel(() => reply), ...png };
    const whole = await runExperimentFrom(looking, { model: seededModel(), feedback: well, env });
    const blind = { ...createScriptedModel([failure('bad-request')]), ...png };
    const { path } = await runExperimentFrom(looking, { model: seededModel(), feedback: blind, env });
    expect(readManifest(path)).toMatchObject({
      status: 'failed',
      reason: { kind: 'model-error', message: 'no: bad-request' },
      iterations: { done: 2 },
    });
    await resumeExperiment(path, { model: seededModel(), feedback: well, env });
    expect(readRunFile(path, 'evaluations')).toBe(readRunFile(whole.path, 'evaluations'));
  });

  it.each(['finish', 'abort'] as const)(
    'is not called again on resume after %s during feedback',
    async (how) => {
      const seer = () => ({ ...createScriptedModel(() => reply), ...png });
      const whole = await runExperimentFrom(looking, { model: seededModel(), feedback: seer(), env });
      const stop = new AbortController();
      const [before, after] = [seer(), seer()];
      const { path } = await runExperimentFrom(looking, {
        ...{ model: seededModel(), feedback: before, [how]: stop.signal, env },
        onEvent: (event) =>
          event.kind === 'call-finished' && event.call.purpose === 'feedback' && stop.abort(),
      });
      await resumeExperiment(path, { model: seededModel(), feedback: after, env });
      expect(readRunFile(path, 'evaluations')).toBe(readRunFile(whole.path, 'evaluations'));
      expect(before.calls.length + after.calls.length).toBe(2);
    },
  );

  it('counts towards limits: the run ends before the call that could exceed one', async () => {
    const seer = { ...createScriptedModel(() => reply), ...png };
    const calls = await runExperimentFrom(
      { ...looking, limits: { calls: 5 } },
      { model: seededModel(), feedback: seer, env },
    );
    expect(readManifest(calls.path)).toMatchObject({
      reason: { kind: 'limit', limit: 'calls' },
      usage: { calls: 5 },
      iterations: { done: 4 },
    });
    // Four pictures may take 6,000 tokens: there is no room for a call, though its text is short.
    const few = { ...createScriptedModel(() => reply), ...png };
    const tokens = await runExperimentFrom(
      { ...looking, limits: { perCall: { promptTokens: 6000 } } },
      { model: seededModel(), feedback: few, env },
    );
    expect(readManifest(tokens.path).reason).toEqual({ kind: 'limit', limit: 'perCall.promptTokens' });
    expect(few.calls).toEqual([]);
  });

  it('is tested with a picture by check', async () => {
    const server = await startFakeOpenAI({ reply: () => 'params[0]: 1' });
    const model = { ...looking.feedback.model, baseUrl: server.url };
    const own = parseConfig({ ...looking, model, feedback: { ...looking.feedback, model } });
    const findings = await askModel(await assemble(own, env), env, new AbortController().signal);
    expect(findings.map(({ field }) => field)).toEqual(['model', 'feedback.model']);
    const pictures = server.requests.map(
      ({ body }) => JSON.stringify(body).split('data:image/png').length - 1,
    );
    expect(pictures).toEqual([0, 1]);
    const same = parseConfig({ ...looking, model, feedback: { from: 'vision', every: 3 } });
    await askModel(await assemble(same, env), env, new AbortController().signal);
    expect(JSON.stringify(server.requests.at(-1)!.body)).toContain('data:image/png');
    const blind = await startFakeOpenAI({ reply: () => 'x', refuses: ['messages'], hint: 'image input' });
    const refused = parseConfig({
      ...looking,
      feedback: { ...looking.feedback, model: { ...model, baseUrl: blind.url } },
    });
    const [, finding] = await askModel(
      await assemble(refused, env, undefined, { model: seededModel() }),
      env,
      new AbortController().signal,
    );
    expect(finding).toMatchObject({ level: 'error', field: 'feedback.model' });
    expect(finding!.message).toContain('contains pictures');
  });

  it('is included in the estimates of check', async () => {
    const parts = await assemble(parseConfig(looking), env);
    const { feedback } = forecastPrompts(parts);
    expect(feedback!.tokens.most).toBeGreaterThan(4 * 1500);
    const estimate = preflight(parts).find((finding) => 'estimate' in finding);
    expect(estimate).toMatchObject({ estimate: { calls: { expected: 8, most: 32 } } });
    expect(estimate).toHaveProperty('estimate.cost');
    const long = forecastPrompts(await assemble(parseConfig(config), {}));
    const short = forecastPrompts(await assemble(parseConfig({ ...config, feedback: undefined }), {}));
    expect(long.longest.bound).toBeGreaterThan(short.longest.bound + 200);
  });
});
