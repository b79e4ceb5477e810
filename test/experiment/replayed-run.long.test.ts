import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packageRoot } from '../../src/base/package.js';
import { execute as resumeCommand } from '../../src/commands/resume.js';
import { execute as runCommand } from '../../src/commands/run.js';
import { execute as sweepCommand } from '../../src/commands/sweep.js';
import type { ConfigInput } from '../../src/config/config.js';
import { type LanguageModel, ModelError, type ModelErrorKind } from '../../src/models/language-model.js';
import { readManifest, readRun } from '../../src/runs/reader.js';
import {
  quick,
  recordingContext,
  resultsOf,
  resumeExperiment,
  runExperimentFrom,
  seededModel,
  stopAfter,
  temporaryDirectory,
} from '../support/experiments.js';

const original = {
  ...quick,
  repeats: 'parameters',
  model: { provider: 'ollama', name: 'scripted', price: { input: 1, cachedInput: 0.1, output: 4 } },
} as const satisfies ConfigInput;

const replayOf = (run: string, more: object = {}) =>
  ({ ...original, ...more, model: { provider: 'replayed', run } }) as const satisfies ConfigInput;

/** Fails now and then, depending on the seed. */
function unreliable(model: LanguageModel, kind: ModelErrorKind = 'rate-limit'): LanguageModel {
  return {
    id: 'ollama/scripted',
    async generate(messages, options) {
      if (options.seeds[0]! % 4 === 0) throw new ModelError(kind, 'HTTP 429', { retries: 2, latencyMs: 31 });
      return model.generate(messages, options);
    },
  };
}

const costs = (path: string) => readRun(path).calls.map(({ cost }) => cost);

/** Answers to several candidates may arrive in another order. */
const timeless = (path: string) => readRun(path).calls.map(({ time: _, ...call }) => call);

function expectSame(replayed: string, recorded: string): void {
  expect(resultsOf(replayed)).toEqual(resultsOf(recorded));
  expect(costs(replayed)).toEqual(costs(recorded));
  const [is, was] = [readManifest(replayed), readManifest(recorded)];
  // Costs are added in the order in which answers arrive.
  const { cost = 0, ...usage } = was.usage;
  expect(is.usage).toEqual({
    ...usage,
    ...(was.usage.cost !== undefined && { cost: expect.closeTo(cost, 12) }),
  });
  expect(is.confirmations).toEqual(was.confirmations);
  expect(is.reason).toEqual(was.reason);
}

describe('a replayed run', () => {
  it('uses the same answer format as the recorded run', async () => {
    const json = { ...original, model: { ...original.model, format: 'json' } } as const;
    const { path } = await runExperimentFrom(json, { model: seededModel(0) });
    expect(readRun(path).calls[0]!.messages[0]!.content).toContain('"params": [<number>');
    expectSame((await runExperimentFrom(replayOf(path))).path, path);
  });

  it.each<readonly [string, Partial<ConfigInput>]>([
    ['with corrections', {}],
    ['with several candidates', { candidates: 3 }],
    ['stopped by a cap', { limits: { tokens: 30_000 } }],
    ['showing trajectories', { memory: { best: 2, recent: 2, trajectories: 'rows' } }],
  ])('%s equals the recorded run, including errors, usage and cost', async (_, more) => {
    const model = unreliable(seededModel(0.3));
    const { path } = await runExperimentFrom({ ...original, ...more }, { model });
    const kinds = readRun(path).calls.map(({ outcome }) => outcome.kind);
    expect(new Set(kinds)).toEqual(new Set(['accepted', 'rejected', 'error']));
    const replayed = await runExperimentFrom(replayOf(path, more));
    expectSame(replayed.path, path);
    expect(timeless(replayed.path)).toEqual(timeless(path));
    expect(readManifest(replayed.path).model).toBe('replayed/ollama/scripted');
    // A replay is a run like any other.
    const twice = await runExperimentFrom(replayOf(replayed.path, more));
    expectSame(twice.path, path);
    expect(readManifest(twice.path).model).toBe('replayed/ollama/scripted');
  });

  it('equals a run that was stopped within an iteration and resumed', async () => {
    const stop = new AbortController();
    const model = seededModel(0.3);
    let calls = 0;
    const stopping: LanguageModel = {
      id: 'ollama/scripted',
      async generate(messages, options) {
        if (++calls === 8) {
          stop.abort();
          throw new ModelError('aborted', 'aborted', { retries: 0, latencyMs: 0 });
        }
        return model.generate(messages, options);
      },
    };
    const config = { ...original, candidates: 2 };
    const { path } = await runExperimentFrom(config, { model: stopping, abort: stop.signal });
    expect(readManifest(path).status).toBe('interrupted');
    await resumeExperiment(path, { model });
    const replayed = await runExperimentFrom(replayOf(path, { candidates: 2 }));
    expect(resultsOf(replayed.path)).toEqual(resultsOf(path));
  });

  it('can itself be stopped and resumed', async () => {
    const { path } = await runExperimentFrom(original, { model: unreliable(seededModel(0.3)) });
    const replayed = await runExperimentFrom(replayOf(path), stopAfter(3));
    expect(readManifest(replayed.path).iterations.done).toBe(3);
    await resumeExperiment(replayed.path);
    expectSame(replayed.path, path);
  });

  it('fails where the recorded run failed', async () => {
    const model = unreliable(seededModel(0.3), 'authentication');
    const { path } = await runExperimentFrom(original, { model });
    expect(readManifest(path).reason).toEqual({ kind: 'model-error', message: 'HTTP 429' });
    expectSame((await runExperimentFrom(replayOf(path))).path, path);
  });

  it('ends with an error that names the missing call if the recorded run is shorter', async () => {
    const { path } = await runExperimentFrom({ ...original, limits: { calls: 2 } }, { model: seededModel() });
    const replayed = await runExperimentFrom(replayOf(path));
    expect(readManifest(replayed.path)).toMatchObject({
      status: 'failed',
      iterations: { done: 2 },
      reason: {
        kind: 'model-error',
        message: expect.stringContaining(
          `iteration 3, candidate 0, attempt 0: ${path} doesn't contain this call`,
        ),
      },
    });
  });
});

describe('a changed prompt', () => {
  function changedTemplates(): string {
    const set = join(temporaryDirectory(), 'set');
    cpSync(join(packageRoot(), 'prompts', 'semantic'), set, { recursive: true });
    const file = join(set, 'format-correction.hbs');
    writeFileSync(file, `${readFileSync(file, 'utf8').trimEnd()}\nTake your time.\n`);
    return set;
  }

  it('ends the replay at the first affected call, and the error shows the difference', async () => {
    const { path } = await runExperimentFrom({ ...original, seed: 2 }, { model: seededModel(0.5) });
    const first = readRun(path).calls.find(({ attempt }) => attempt > 0)!;
    const prompts = { set: changedTemplates() };
    const replayed = await runExperimentFrom(replayOf(path, { seed: 2, prompts }));
    const { reason, iterations } = readManifest(replayed.path);
    expect(iterations.done).toBe(first.iteration - 1);
    const message = reason?.kind === 'model-error' ? reason.message : '';
    expect(message).toContain(
      `iteration ${first.iteration}, candidate 0, attempt ${first.attempt}: the prompt differs from the recorded one. Message ${first.messages.length} (user), line`,
    );
    expect(message).toContain('added “Take your time.”');
    expect(message).toContain('model.onChange');
    expect(message.length).toBeLessThan(600);
  });

  it('causes only one warning with onChange: warn, and the recorded replies are used', async () => {
    const { path } = await runExperimentFrom({ ...original, seed: 2 }, { model: seededModel(0.5) });
    const set = changedTemplates();
    const replayed = await runExperimentFrom({
      ...replayOf(path, { seed: 2, prompts: { set } }),
      model: { provider: 'replayed', run: path, onChange: 'warn' },
    });
    expect(resultsOf(replayed.path)).toEqual(resultsOf(path));
    const warnings = replayed.events.flatMap((event) => (event.kind === 'warning' ? [event.message] : []));
    expect(warnings).toEqual([expect.stringContaining('added “Take your time.”')]);
  });

  it('is reported if it comes from a different evaluation result', async () => {
    const { path } = await runExperimentFrom(original, { model: seededModel() });
    const changed = { evaluation: { ...quick.evaluation, maxSteps: 20 } };
    const replayed = await runExperimentFrom(replayOf(path, changed));
    const { reason } = readManifest(replayed.path);
    expect(reason?.kind === 'model-error' && reason.message).toMatch(
      /^iteration 1, candidate 0, attempt 0: .*Message \d \(\w+\), line \d+: recorded “/,
    );
  });
});

describe('the run to replay', () => {
  const short = { ...quick, model: { provider: 'hill-climb' }, seed: 3, candidates: 2, iterations: 4 };
  const args = { runsDir: 'buffers', quiet: true, json: false } as const;
  const replayed = ['model.provider=replayed', 'model.run=recorded/config'];

  async function recorded() {
    const cwd = temporaryDirectory();
    const config = join(cwd, 'config.yaml');
    writeFileSync(config, JSON.stringify(short));
    const { context } = recordingContext(cwd);
    const sweep = (overrides: readonly string[], out: string) =>
      sweepCommand({ ...args, config, overrides, out, baselines: false, slurm: false }, context);
    const run = (overrides: readonly string[], runDir: string) =>
      runCommand({ ...args, config, overrides, runDir, dryRun: false }, context);
    expect(await sweep(['seed=3..5'], 'recorded')).toBe(0);
    return { cwd, sweep, run, context };
  }

  it('may be one of several with different seeds, which replay together or alone', async () => {
    const { cwd, sweep, run, context } = await recorded();
    expect(await sweep([...replayed, 'seed=3..5'], 'again')).toBe(0);
    for (const seed of [3, 4, 5])
      expectSame(
        join(cwd, 'again', 'config', `seed-${seed}`),
        join(cwd, 'recorded', 'config', `seed-${seed}`),
      );
    expect(await run([...replayed, 'seed=4'], 'second')).toBe(0);
    expectSame(join(cwd, 'second'), join(cwd, 'recorded', 'config', 'seed-4'));
    await expect(
      resumeCommand(
        { run: join(cwd, 'second'), overrides: [], runsDir: 'buffers', quiet: true, json: false },
        context,
      ),
    ).rejects.toThrow('complete');
  });

  it('must have the seed of the config', async () => {
    const { run } = await recorded();
    await expect(run([...replayed, 'seed=6'], 'a')).rejects.toThrow(/model\.run=.*seed 6/);
    const alone = ['model.provider=replayed', 'model.run=recorded/config/seed-3'];
    await expect(run([...alone, 'seed=9'], 'c')).rejects.toThrow(/seed=3/);
  });

  it('must exist', async () => {
    const assembling = runExperimentFrom(replayOf(join(temporaryDirectory(), 'none')));
    await expect(assembling).rejects.toThrow(/model\.run: there is no such run/);
  });
});
