import { expect, it } from 'vitest';
import { readComparedRuns } from '../../../src/comparison/compared-runs.js';
import type { ConfigInput } from '../../../src/config/config.js';
import { parseConfig } from '../../../src/config/load.js';
import { createGenerator } from '../../../src/random/generator.js';
import { runText } from '../../../src/report/run-text.js';
import { readWholeRun } from '../../../src/runs/open-run.js';
import { readRun } from '../../../src/runs/reader.js';
import { quick, readRunFile, resumeExperiment, runExperimentFrom } from '../../support/experiments.js';
import { createScriptedModel } from '../../support/scripted-model.js';

const config = {
  ...quick,
  candidates: 6,
  iterations: 5,
  screening: { evaluate: 2 },
  model: { provider: 'ollama', name: 'scripted' },
} as const satisfies ConfigInput;

/** Answers anywhere, by the seed alone; one in four says nothing that can be read. */
const anywhere = (unreadable = true) =>
  createScriptedModel(({ options }) => {
    const seed = options.seeds[0]!;
    if (unreadable && seed % 4 === 0) return 'I would rather not.';
    const random = createGenerator(seed);
    return Array.from({ length: 10 }, (_, i) => {
      return `params[${i}]: ${((random.integers(0, 121) - 60) / 10).toFixed(1)}`;
    }).join(', ');
  });

it('screening evaluates the set number of proposals, and resumed and replayed runs are identical', async () => {
  const { path } = await runExperimentFrom(config, { model: anywhere() });
  const { calls, entries } = readRun(path);
  for (let iteration = 1; iteration <= 5; iteration++) {
    const accepted = calls.filter((call) => call.iteration === iteration && call.outcome.kind === 'accepted');
    const evaluated = entries.filter((entry) => entry.iteration === iteration);
    expect(accepted.length).toBeGreaterThanOrEqual(2);
    expect(evaluated).toHaveLength(2);
    for (const { candidate, parameters } of evaluated)
      expect(accepted.find((call) => call.candidate === candidate)?.outcome).toMatchObject({ parameters });
  }
  // Two are enough: those that can't be read are not asked again.
  expect(calls.some(({ outcome }) => outcome.kind === 'rejected')).toBe(true);
  expect(calls.every(({ attempt }) => attempt === 0)).toBe(true);
  // It is no choice of the first ones.
  expect(entries.some(({ candidate, iteration }) => iteration > 0 && candidate > 1)).toBe(true);

  const [compared] = readComparedRuns([path]).runs;
  const best = entries.map((_, i) => Math.max(...entries.slice(0, i + 1).map(({ score }) => score)));
  expect(compared?.curve).toEqual(best);

  const stop = new AbortController();
  const stopped = await runExperimentFrom(config, {
    model: anywhere(),
    finish: stop.signal,
    onEvent: (event) => event.kind === 'iteration-finished' && event.iteration === 2 && stop.abort(),
  });
  await resumeExperiment(stopped.path, { model: anywhere() });
  expect(readRunFile(stopped.path, 'evaluations')).toBe(readRunFile(path, 'evaluations'));
  const replayed = await runExperimentFrom({ ...config, model: { provider: 'replayed', run: path } });
  expect(readRunFile(replayed.path, 'evaluations')).toBe(readRunFile(path, 'evaluations'));

  expect(runText(await readWholeRun(path), { top: 1, cwd: '/' })).toMatch(
    /screening 10 of \d\d proposals selected/,
  );
});

it('screening asks for corrections if too few replies are readable', async () => {
  const mute = createScriptedModel(({ messages, options }) =>
    messages.some(({ role }) => role === 'assistant')
      ? Array.from({ length: 10 }, (_, i) => `params[${i}]: ${(options.seeds[0]! + i) % 7}.0`).join(', ')
      : 'No.',
  );
  const { path } = await runExperimentFrom({ ...config, iterations: 1 }, { model: mute });
  const { calls, entries } = readRun(path);
  expect(calls.filter(({ attempt }) => attempt === 1)).toHaveLength(6);
  expect(entries.filter(({ iteration }) => iteration === 1)).toHaveLength(2);
});

it.each([
  [{ candidates: 2 }, /screening\.evaluate[\s\S]*2 candidates/],
  [{ screening: { evaluate: 0 } }, /screening\.evaluate/],
  [{ evaluation: { episodes: 20, racing: {} } }, /evaluation\.racing[\s\S]*screening/],
] as const)('screening is rejected with %j', (change, message) => {
  expect(() => parseConfig({ ...config, ...change } as never)).toThrow(message);
});
