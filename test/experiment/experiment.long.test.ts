import { cpSync, existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { confirmationSeeds, evaluationSeeds } from '../../src/base/random/seeds.js';
import { baselineNames } from '../../src/config/baselines.js';
import type { ConfigInput } from '../../src/config/config.js';
import { targetStreak } from '../../src/experiment/stopping.js';
import { type LanguageModel, ModelError } from '../../src/models/language-model.js';
import type { CallRecord } from '../../src/runs/calls.js';
import type { RunEvent } from '../../src/runs/events.js';
import { readManifest, readRun, statusOf } from '../../src/runs/reader.js';
import {
  quick,
  readRunFile,
  resumeExperiment,
  runExperimentFrom,
  seededModel,
  stopAfter,
  temporaryDirectory,
} from '../support/experiments.js';
import { entryOf } from '../support/records.js';
import { createScriptedModel } from '../support/scripted-model.js';

const scripted = { ...quick, model: { provider: 'ollama', name: 'scripted' } } as const satisfies ConfigInput;
const kinds = (events: readonly RunEvent[]) => events.map(({ kind }) => kind);
const calls = (path: string): readonly CallRecord[] => readRun(path).calls;
const play = (more: Partial<ConfigInput> = {}, model: LanguageModel = seededModel()) =>
  runExperimentFrom({ ...scripted, ...more }, { model });

describe('the outer loop', () => {
  it('warms up, then proposes, evaluates and records, then confirms', async () => {
    const ones = Array.from({ length: 9 }, (_, i) => `params[${i + 1}]: 1`).join(', ');
    const model = createScriptedModel((_call, index) =>
      index === 2 ? 'I am not sure.' : `params[0]: ${index / 10}, ${ones}`,
    );
    const config = { ...scripted, iterations: 3, warmup: 2, repeats: 'parameters' } as const;
    const { events, path } = await runExperimentFrom(config, { model });
    expect(kinds(events)).toEqual([
      ...'run-started warmup-evaluated warmup-evaluated call-finished candidate-evaluated'.split(' '),
      ...'iteration-finished call-finished candidate-evaluated iteration-finished call-finished'.split(' '),
      ...'call-finished candidate-evaluated iteration-finished noise-measured'.split(' '),
      ...'confirmation-started confirmed confirmed confirmed run-finished'.split(' '),
    ]);
    expect(readManifest(path)).toMatchObject({
      status: 'completed',
      reason: { kind: 'iterations' },
      iterations: { done: 3, of: 3 },
      usage: { calls: 4 },
    });
  });

  it('records every candidate of a group', async () => {
    const { path } = await play({ candidates: 3, iterations: 2 });
    const proposals = readRun(path).entries.filter(({ source }) => source === 'proposal');
    const places = proposals.map(({ iteration, group, candidate }) => [iteration, group, candidate]);
    expect(places.map(String)).toEqual(['1,1,0', '1,1,1', '1,1,2', '2,2,0', '2,2,1', '2,2,2']);
  });

  it('evaluates nothing for a proposal that is still invalid after corrections', async () => {
    const model = createScriptedModel(() => 'no');
    const { events, path } = await play({ iterations: 2, corrections: 1 }, model);
    expect(kinds(events).filter((kind) => kind === 'proposal-rejected')).toHaveLength(2);
    expect(readRun(path).entries.every(({ source }) => source === 'warm-up')).toBe(true);
    expect(readManifest(path).iterations.done).toBe(2);
  });

  it('evaluates all candidates on the same episodes and confirms on fresh ones', async () => {
    const config = { ...scripted, evaluation: { episodes: 3, maxSteps: 9 }, record: 'all' } as const;
    const { path, events } = await runExperimentFrom(config, { model: seededModel() });
    const { episodes } = readRun(path);
    const used = new Set(episodes.map(({ seed }) => seed));
    expect([...used]).toEqual(evaluationSeeds(0, 3));
    for (const stage of ['selection', 'final', 'inspection'] as const) {
      for (const seed of confirmationSeeds(0, stage, 500)) expect(used.has(seed)).toBe(false);
    }
    const confirmations = events.flatMap((event) => (event.kind === 'confirmed' ? [event.confirmation] : []));
    const stages = confirmations.map(({ stage, episodes: n }) => [stage, n]);
    expect(stages.map(String)).toEqual(['selection,7', 'selection,7', 'final,5']);
  });

  it('uses new episodes in the next iteration with evaluation.seeds: fresh', async () => {
    const evaluation = { ...quick.evaluation, seeds: 'fresh' } as const;
    const { path } = await play({ evaluation, record: 'all' });
    const { episodes } = readRun(path);
    const seeds = (iteration: number) =>
      episodes.filter((e) => e.iteration === iteration).map(({ seed }) => seed);
    expect(seeds(1)).toEqual(evaluationSeeds(0, 3, 1));
    expect(seeds(2)).not.toEqual(seeds(1));
  });

  it('imports the policies of an earlier run and evaluates them on its own episodes', async () => {
    const earlier = await runExperimentFrom(scripted, { model: seededModel() });
    const config = { ...scripted, seed: 1, warmup: { from: earlier.path }, iterations: 2 };
    const { path } = await runExperimentFrom(config, { model: seededModel() });
    const [before, after] = [readRun(earlier.path).entries, readRun(path).entries];
    expect(after.slice(0, before.length).map(({ parameters }) => parameters)).toEqual(
      before.map(({ parameters }) => parameters),
    );
    const sources = after.map(({ source }) => source);
    expect(sources).toEqual([...before.map(() => 'imported'), 'proposal', 'proposal']);
    const [old, own] = [before[0]!, after[0]!];
    const seeds = (run: string) => readRun(run).episodes.find(({ candidate }) => candidate === 0)!.seed;
    expect(seeds(path)).not.toBe(seeds(earlier.path));
    expect(own.returns).not.toEqual(old.returns);

    // The earlier run is not needed any more, and what became of it doesn't matter.
    rmSync(earlier.path, { recursive: true });
    await resumeExperiment(path, { model: seededModel(), overrides: ['iterations=4'] });
    expect(readRun(path).entries).toHaveLength(before.length + 4);
  });
});

describe('a run ends', () => {
  it('when the target has been held for enough iterations', async () => {
    const { path } = await play({ iterations: 50, target: { return: 8, hold: 3 } });
    const reason = { kind: 'target', return: 8 };
    expect(readManifest(path)).toMatchObject({ reason, iterations: { done: 3 } });
  });

  it('at a limit on calls, before the call that would exceed it', async () => {
    const model = seededModel(0.5);
    const { path } = await play({ iterations: 50, limits: { calls: 9 } }, model);
    expect(model.calls.length).toBeLessThanOrEqual(9);
    const reason = { kind: 'limit', limit: 'calls' };
    expect(readManifest(path)).toMatchObject({ status: 'completed', reason });
  });

  it('at a limit on minutes', async () => {
    // The test's clock ticks a second whenever it is looked at.
    const { path } = await play({ iterations: 5000, limits: { minutes: 1 } });
    const { reason, iterations } = readManifest(path);
    expect(reason).toEqual({ kind: 'limit', limit: 'minutes' });
    expect(iterations.done).toBeLessThan(60);
  });

  it('at once on a permanent model error, and can be resumed', async () => {
    const error = new ModelError('authentication', 'bad key', { retries: 0, latencyMs: 1 });
    const { path } = await play({}, createScriptedModel([error]));
    expect(readManifest(path)).toMatchObject({
      status: 'failed',
      reason: { kind: 'model-error', message: 'bad key' },
      iterations: { done: 0 },
      usage: { calls: 1, errors: 1 },
    });
    await resumeExperiment(path, { model: seededModel() });
    expect(readManifest(path)).toMatchObject({ status: 'completed', iterations: { done: 6 } });
  });

  it('after three iterations in a row without any reply', async () => {
    const model = createScriptedModel(() => new ModelError('server', 'down', { retries: 4, latencyMs: 1 }));
    const { path } = await play({ corrections: 0 }, model);
    expect(model.calls).toHaveLength(3);
    const reason = { kind: 'model-error', message: 'down' };
    expect(readManifest(path)).toMatchObject({ status: 'failed', reason });
  });

  it('after the current iteration on a finish signal, at once on an abort signal', async () => {
    const finish = new AbortController();
    const first = await runExperimentFrom(scripted, {
      model: seededModel(),
      finish: finish.signal,
      onEvent: (event) => event.kind === 'call-finished' && event.call.iteration === 2 && finish.abort(),
    });
    expect(readManifest(first.path)).toMatchObject({ status: 'interrupted', iterations: { done: 2 } });

    const abort = new AbortController();
    const model = createScriptedModel((call) => {
      if (call.options.callId?.startsWith('iteration 2,')) abort.abort();
      return '';
    });
    const generate: typeof model.generate = async (messages, options) => {
      await model.generate(messages, options);
      options.signal?.throwIfAborted();
      return seededModel().generate(messages, options);
    };
    const second = await runExperimentFrom(scripted, { model: { ...model, generate }, abort: abort.signal });
    expect(readManifest(second.path)).toMatchObject({ status: 'interrupted', iterations: { done: 1 } });
  });
});

describe('targetStreak', () => {
  it('counts the last iterations in a row that reached the target', () => {
    const scores = [9, 9, 1, 8, 3].map((score, iteration) => entryOf(iteration, score));
    const entries = [...scores, entryOf(4, 9)];
    expect(targetStreak(entries, 8, 4)).toBe(2);
    expect(targetStreak(entries, 9, 4)).toBe(1);
    expect(targetStreak(entries, 10, 4)).toBe(0);
  });
});

const climb = { ...quick, iterations: 12, model: { provider: 'hill-climb' } } as const;
const clumsy = () => seededModel(0.4);
const configs: readonly (readonly [string, ConfigInput, (() => LanguageModel) | undefined])[] = [
  // Genetic programming is slower; programs.slow.test.ts has it.
  ...baselineNames
    .filter((provider) => provider !== 'genetic')
    .map((provider) => [provider, { ...climb, model: { provider } }, undefined] as const),
  ['scripted model', { ...scripted, iterations: 24 }, clumsy],
  ['hill climbing, groups', { ...climb, candidates: 4, memory: { best: 3, recent: 2 } }, undefined],
  ['scripted model, groups', { ...scripted, iterations: 12, candidates: 3 }, clumsy],
  [
    'scripted model, trajectories',
    { ...scripted, iterations: 12, memory: { best: 3, recent: 2, trajectories: 'rows' } },
    clumsy,
  ],
];

describe.each(configs)('the same seed gives equal evaluations and episodes: %s', (_name, config, model) => {
  const options = () => (model === undefined ? {} : { model: model() });
  const withoutTimes = (path: string) =>
    calls(path).map(({ time: _time, completion: _completion, ...call }) => call);

  it('in two runs', async () => {
    const [first, second] = [
      await runExperimentFrom(config, options()),
      await runExperimentFrom(config, options()),
    ];
    expectSame(second.path, first.path);
    const other = await runExperimentFrom({ ...config, seed: 1 }, options());
    expect(readRunFile(other.path, 'evaluations')).not.toBe(readRunFile(first.path, 'evaluations'));
  });

  it('in a run that was interrupted and resumed', async () => {
    const whole = await runExperimentFrom(config, options());
    for (const at of [1, 5, 11]) {
      const part = await runExperimentFrom(config, { ...options(), ...stopAfter(at) });
      expect(readManifest(part.path).iterations.done).toBe(at);
      await resumeExperiment(part.path, options());
      expectSame(part.path, whole.path);
      expect(withoutTimes(part.path)).toEqual(withoutTimes(whole.path));
    }
  });

  it('in a run that is resumed after a crash in the middle of a write', async () => {
    const whole = await runExperimentFrom(config, options());
    const files = ['evaluations', 'events', 'episodes', 'calls'] as const;
    for (const [n, share] of [0.02, 0.3, 0.55, 0.8, 0.99].entries()) {
      const path = join(temporaryDirectory(), 'run');
      cpSync(whole.path, path, { recursive: true });
      for (const [i, file] of files.entries()) {
        // Files are written in step, but a crash may find each of them at another point.
        const iteration = Math.floor(share * config.iterations!) + ((n + i) % 3 === 2 ? 1 : 0);
        truncateSync(join(path, fileName(file)), bytesInto(readRunFile(path, file), iteration));
      }
      const manifest = JSON.parse(readRunFile(path, 'manifest')) as object;
      writeFileSync(join(path, 'manifest.json'), JSON.stringify({ ...manifest, status: 'running' }));
      expect(statusOf(path, readManifest(path))).toBe('crashed');
      await resumeExperiment(path, options());
      expectSame(path, whole.path);
    }
  });
});

/** Bytes up to the middle of the first line behind an iteration. */
function bytesInto(text: string, iteration: number): number {
  let bytes = 0;
  for (const line of text.split('\n')) {
    const length = Buffer.byteLength(line);
    if (Number(/"iteration":(\d+)/.exec(line)?.[1] ?? 0) > iteration) return bytes + Math.floor(length / 2);
    bytes += length + 1;
  }
  return Buffer.byteLength(text);
}

/** Booleans, for the files are long. */
function expectSame(path: string, other: string): void {
  expect(readRunFile(path, 'evaluations')).toBe(readRunFile(other, 'evaluations'));
  expect(readRunFile(path, 'episodes') === readRunFile(other, 'episodes')).toBe(true);
}

const fileName = (file: string) => `${file}.jsonl`;

describe('resuming', () => {
  it('does not pay again for the calls of the unfinished iteration', async () => {
    const config = { ...scripted, candidates: 2 };
    const whole = await runExperimentFrom(config, { model: seededModel() });
    const path = join(temporaryDirectory(), 'run');
    cpSync(whole.path, path, { recursive: true });
    const events = readRunFile(path, 'events').split('\n');
    const lastIteration = events.findLastIndex((line) => line.includes('"iteration-finished"'));
    writeFileSync(join(path, 'events.jsonl'), `${events.slice(0, lastIteration).join('\n')}\n`);
    const model = seededModel();
    await resumeExperiment(path, { model });
    expect(model.calls).toHaveLength(0);
    expect(readManifest(path).usage.calls).toBe(readManifest(whole.path).usage.calls);
    expect(readRunFile(path, 'evaluations')).toBe(readRunFile(whole.path, 'evaluations'));
  });

  it('corrects a manifest that a crash left out of date', async () => {
    const config = { ...quick, model: { provider: 'hill-climb' } } as const;
    const whole = await runExperimentFrom(config);
    const path = join(temporaryDirectory(), 'run');
    cpSync(whole.path, path, { recursive: true });
    const { best: _best, reason: _reason, ...rest } = readManifest(path);
    const stale = { ...rest, status: 'running', iterations: { done: 1, of: 6 }, confirmations: [] };
    writeFileSync(join(path, 'manifest.json'), JSON.stringify(stale));
    await resumeExperiment(path);
    const { best, iterations, usage } = readManifest(path);
    const expected = readManifest(whole.path);
    const figures = { best: expected.best, iterations: expected.iterations, calls: expected.usage.calls };
    expect({ best, iterations, calls: usage.calls }).toEqual(figures);
  });

  it('works even if the run stopped before its first evaluation', async () => {
    const abort = new AbortController();
    abort.abort();
    const config = { ...quick, model: { provider: 'random' } } as const;
    const { path } = await runExperimentFrom(config, { abort: abort.signal });
    expect(existsSync(join(path, 'evaluations.jsonl'))).toBe(false);
    await resumeExperiment(path);
    expect(readManifest(path)).toMatchObject({ status: 'completed', iterations: { done: 6 } });
  });

  it('repeats an aborted call with the same seed', async () => {
    const whole = await runExperimentFrom(scripted, { model: seededModel() });
    const abort = new AbortController();
    const model = seededModel();
    const generate: typeof model.generate = (messages, options) => {
      if (!options.callId?.startsWith('iteration 3,')) return model.generate(messages, options);
      abort.abort();
      return Promise.reject(new ModelError('aborted', 'aborted', { retries: 0, latencyMs: 1 }));
    };
    const { path } = await runExperimentFrom(scripted, {
      model: { ...model, generate },
      abort: abort.signal,
    });
    expect(calls(path).at(-1)!.outcome.kind).toBe('error');
    await resumeExperiment(path, { model: seededModel() });
    expect(readRunFile(path, 'evaluations')).toBe(readRunFile(whole.path, 'evaluations'));
  });

  it('completes confirmations that an abort cut short', async () => {
    const confirmation = { candidates: 4, episodes: 6 };
    const config = { ...quick, confirmation, evaluation: { episodes: 2, maxSteps: 9 }, iterations: 20 };
    const given = { ...config, model: { provider: 'random' } } as const;
    const whole = readManifest((await runExperimentFrom(given)).path);
    const stages = whole.confirmations.map(({ stage, episodes }) => `${stage} ${episodes}`);
    expect(stages).toEqual(['selection 2', 'selection 2', 'selection 6', 'selection 6', 'final 6']);
    for (const at of [1, 3, 4]) {
      const abort = new AbortController();
      let seen = 0;
      const onEvent = ({ kind }: RunEvent) => kind === 'confirmed' && ++seen === at && abort.abort();
      const { path } = await runExperimentFrom(given, { abort: abort.signal, onEvent });
      expect(readManifest(path)).toMatchObject({ status: 'interrupted', iterations: { done: 20 } });
      await resumeExperiment(path);
      const { confirmations, noise } = readManifest(path);
      expect({ confirmations, noise }).toEqual({ confirmations: whole.confirmations, noise: whole.noise });
    }
  });

  it('with more iterations gives the same evaluations as a run that had them from the start', async () => {
    const config = { ...quick, model: { provider: 'cma-es' } } as const;
    const whole = await runExperimentFrom({ ...config, iterations: 10 });
    const part = await runExperimentFrom({ ...config, iterations: 4 });
    await resumeExperiment(part.path, { overrides: ['iterations=10'] });
    expect(readRunFile(part.path, 'evaluations')).toBe(readRunFile(whole.path, 'evaluations'));
  });

  it('rejects a log that is damaged in the middle, and names the file and line', async () => {
    const { path } = await runExperimentFrom(scripted, { model: seededModel() });
    const lines = readRunFile(path, 'evaluations').split('\n');
    writeFileSync(join(path, 'evaluations.jsonl'), lines.toSpliced(2, 0, '{"torn').join('\n'));
    await expect(resumeExperiment(path)).rejects.toThrow('evaluations.jsonl:3: this line is not valid JSON');
    expect(readFileSync(join(path, 'evaluations.jsonl'), 'utf8')).toContain('{"torn');
  });
});
