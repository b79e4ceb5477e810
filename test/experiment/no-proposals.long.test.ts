/** A run without an accepted proposal fails, and reports why. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ConfigInput } from '../../src/config/config.js';
import { parseConfig } from '../../src/config/load.js';
import { createModel } from '../../src/proposers/create-model.js';
import { scanItems } from '../../src/runs/listing/scan.js';
import { readManifest, readRun } from '../../src/runs/reader.js';
import { commandLine } from '../commands/json/command-line.js';
import {
  quick,
  readRunFile,
  resumeExperiment,
  runExperimentFrom,
  stopAfter,
  temporaryDirectory,
} from '../support/experiments.js';
import { startFakeOpenAI } from '../support/fake-openai.js';
import { createScriptedModel } from '../support/scripted-model.js';

const nonsense =
  'I would lower the first weight and raise the third one, then look at what happens to the pole.';
const answerOf = (value: number) =>
  Array.from({ length: 10 }, (_, i) => `params[${i}]: ${(value + i / 10).toFixed(1)}`).join(', ');
const base = { ...quick, model: { provider: 'ollama', name: 'fake' } } as const satisfies ConfigInput;

/** A model that replies with nonsense, except to some calls (by their number from 0). */
const scripted = (accepted: (call: number) => boolean = () => false) =>
  createScriptedModel((_, call) => (accepted(call) ? answerOf(call % 5) : nonsense));

const play = (more: Partial<ConfigInput> = {}, model = scripted()) =>
  runExperimentFrom({ ...base, ...more }, { model });
const outcomes = (path: string) => readRun(path).calls.map(({ outcome }) => outcome.kind);

describe('a run without an accepted proposal', () => {
  it('fails after its last iteration and reports the first reason', async () => {
    const { events, path } = await play({ iterations: 2, corrections: 1 });
    const manifest = readManifest(path);
    expect(manifest).toMatchObject({ status: 'failed', iterations: { done: 2, of: 2 }, confirmations: [] });
    expect(manifest.reason).toEqual({
      kind: 'no-proposals',
      message: expect.stringMatching(/^The reply .*\. It begins: “I would lower the first weight.* …”$/),
    });
    expect(events.at(-1)).toMatchObject({ kind: 'run-finished', reason: { kind: 'no-proposals' } });
    expect(events.some(({ kind }) => kind === 'confirmation-started')).toBe(false);
    const report = readRunFile(path, 'report');
    expect(report).toContain('Proposals accepted');
    expect(report).toContain('0 proposals accepted; first reason: The reply');
    expect(report).not.toContain('Confirmed mean return');
  });

  it('fails when it reaches a limit', async () => {
    const { path } = await play({ corrections: 1, limits: { calls: 3 } });
    const reason = { kind: 'no-proposals', limit: 'calls' };
    expect(readManifest(path)).toMatchObject({ status: 'failed', reason });
  });

  it('reports that a reply is empty', async () => {
    const model = createScriptedModel(() => ({ text: '', finishReason: 'length' }));
    const { path } = await play({ iterations: 1, corrections: 0 }, model);
    expect(readManifest(path).reason).toMatchObject({ message: expect.stringMatching(/It is empty\.$/) });
  });

  it('does not fail if one was accepted before it was resumed', async () => {
    const model = scripted((call) => call === 0);
    const accepting = await play({ iterations: 2, corrections: 0 }, model);
    expect(readManifest(accepting.path).status).toBe('completed');
    await resumeExperiment(accepting.path, { overrides: ['iterations=4'], model: scripted() });
    const completed = { status: 'completed', iterations: { done: 4 }, reason: { kind: 'iterations' } };
    expect(readManifest(accepting.path)).toMatchObject(completed);
  });

  it('is marked as interrupted, not failed, if the user stops it', async () => {
    const options = { model: scripted(), ...stopAfter(1) };
    const { path } = await runExperimentFrom({ ...base, corrections: 0 }, options);
    expect(readManifest(path)).toMatchObject({ status: 'interrupted', reason: { kind: 'interrupted' } });
  });

  it('does not occur with the random baseline', async () => {
    const { path } = await runExperimentFrom({ ...quick, iterations: 2, model: { provider: 'random' } });
    expect(readManifest(path).status).toBe('completed');
  });

  it('can be resumed with more iterations and then completes', async () => {
    const { path } = await play({ iterations: 2, corrections: 0 });
    const more = { overrides: ['iterations=3'], model: scripted(() => true) };
    const { events } = await resumeExperiment(path, more);
    expect(readManifest(path)).toMatchObject({ status: 'completed', iterations: { done: 3 } });
    expect(events.some(({ kind }) => kind === 'confirmed')).toBe(true);
  });
});

describe('the limit on rejected replies', () => {
  it('is 10, and ends the run before the next call', async () => {
    const model = scripted();
    const { events, path } = await runExperimentFrom(base, { model });
    expect(model.calls).toHaveLength(10);
    expect(readManifest(path)).toMatchObject({
      status: 'failed',
      iterations: { done: 3, of: 6 },
      reason: { kind: 'no-proposals', limit: 'rejections' },
    });
    expect(events.filter(({ kind }) => kind === 'iteration-finished')).toHaveLength(3);
  });

  it('counts nothing after the first accepted proposal', async () => {
    const model = scripted((call) => call === 5);
    const { path } = await runExperimentFrom(base, { model });
    expect(model.calls.length).toBeGreaterThan(20);
    expect(readManifest(path).status).toBe('completed');
  });

  it('counts the replies of all candidates of an iteration', async () => {
    const model = scripted();
    const { path } = await play({ candidates: 4 }, model);
    // Those in flight can't be stopped.
    expect(model.calls.length).toBeLessThanOrEqual(13);
    expect(readManifest(path)).toMatchObject({ iterations: { done: 1 }, status: 'failed' });
    const rescued = await play(
      { candidates: 4, iterations: 1 },
      scripted((call) => call === 9),
    );
    expect(readManifest(rescued.path)).toMatchObject({ status: 'completed', reason: { kind: 'iterations' } });
  });

  it('holds across iterations, and in a replay', async () => {
    const config = { ...base, corrections: 1 } as const;
    const server = await startFakeOpenAI({ reply: () => nonsense });
    const model = { provider: 'openai', name: 'fake', baseUrl: server.url } as const;
    const { path } = await runExperimentFrom(
      { ...config, model },
      { model: createModel(parseConfig({ ...config, model }).model, {}, () => Promise.resolve()) },
    );
    expect(readManifest(path)).toMatchObject({
      status: 'failed',
      iterations: { done: 5 },
      reason: { kind: 'no-proposals', limit: 'rejections' },
    });
    const replayed = await runExperimentFrom({ ...config, model: { provider: 'replayed', run: path } });
    const failed = { status: 'failed', iterations: { done: 5 }, reason: readManifest(path).reason };
    expect(readManifest(replayed.path)).toMatchObject(failed);
  });

  it('leads to the same calls and the same end with or without an interruption', async () => {
    const whole = await runExperimentFrom(base, { model: scripted() });
    const stop = new AbortController();
    const killed = await runExperimentFrom(base, {
      model: scripted(),
      finish: stop.signal,
      onEvent: (event) => {
        if (event.kind === 'call-finished' && event.call.iteration === 2 && event.call.attempt === 1)
          stop.abort();
      },
    });
    expect(readManifest(killed.path).status).toBe('interrupted');
    await resumeExperiment(killed.path, { model: scripted() });
    expect(readManifest(killed.path).reason).toEqual(readManifest(whole.path).reason);
    expect(outcomes(killed.path)).toEqual(outcomes(whole.path));
  });
});

describe('a run with a portfolio', () => {
  const portfolio = {
    ...quick,
    iterations: 3,
    corrections: 0,
    model: {
      provider: 'portfolio',
      members: [{ provider: 'openai', name: 'fake', baseUrl: '' }, { provider: 'random' }],
    },
  } as const;

  it('completes with a warning if only proposals of a baseline were accepted', async () => {
    const server = await startFakeOpenAI({ reply: () => nonsense });
    const [model, control] = portfolio.model.members;
    const members = [{ ...model, baseUrl: server.url }, control] as const;
    const { events, path } = await runExperimentFrom({
      ...portfolio,
      model: { ...portfolio.model, members: [...members] },
    });
    expect(readManifest(path).status).toBe('completed');
    expect(events).toContainEqual({
      kind: 'warning',
      message: expect.stringMatching(
        /^the language model contributed nothing: all 2 of its replies were rejected, and every accepted proposal is a baseline's; first reason: The reply/,
      ),
    });
    const replayed = await runExperimentFrom({ ...portfolio, model: { provider: 'replayed', run: path } });
    expect(readManifest(replayed.path).status).toBe('completed');
    expect(replayed.events.filter(({ kind }) => kind === 'warning')).toHaveLength(1);
  });
});

describe('commands', () => {
  it('report that no proposal was accepted and why; run exits with 1, and resume rejects the run', async () => {
    const server = await startFakeOpenAI({ reply: () => nonsense });
    const cwd = temporaryDirectory();
    const model = { provider: 'openai', name: 'fake', baseUrl: server.url };
    writeFileSync(join(cwd, 'mine.yaml'), JSON.stringify({ ...quick, model }));
    const call = async (...words: readonly string[]) => {
      const { code, printed } = await commandLine(cwd, words);
      return { code, text: printed.join('\n') };
    };
    const run = await call('run', 'mine.yaml', '--run-dir', 'buffers/mine', '--quiet');
    expect(run.code).toBe(1);
    expect(run.text).toContain('0 proposals accepted (stopped after 10 rejected replies)');
    expect(run.text).toMatch(/^because {5}The reply .* It begins: “I would lower/m);
    expect(server.requests).toHaveLength(10);

    expect((await call('show', 'mine')).text).toMatch(/0 proposals accepted \(.*\); first reason: The reply/);
    expect((await call('list')).text).toContain('failed: 0 proposals accepted');
    const items = scanItems([{ path: join(cwd, 'buffers'), prefix: '' }]);
    expect([...items.values()].map(({ item }) => item)).toEqual([
      expect.objectContaining({ status: 'failed', failure: expect.stringMatching(/^0 proposals accepted/) }),
    ]);

    await expect(call('resume', 'mine', '--quiet')).rejects.toThrow(
      /this run has ended after \d+ iterations?: 0 proposals accepted.*start a new run with another model or prompt/s,
    );
    expect(server.requests).toHaveLength(10);
  });
});
