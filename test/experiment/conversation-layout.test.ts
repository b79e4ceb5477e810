/** `prompts.layout: conversation` shows evaluated policies as turns. */
import { expect, it } from 'vitest';
import { parseConfig } from '../../src/config/load.js';
import { readRun } from '../../src/runs/reader.js';
import {
  quick,
  readRunFile,
  resumeExperiment,
  runExperimentFrom,
  seededModel,
} from '../support/experiments.js';

const config = {
  ...quick,
  iterations: 4,
  model: { provider: 'ollama', name: 'fake', format: 'json' },
  prompts: { layout: 'conversation', set: 'numeric' },
  memory: { recent: 3 },
} as const;

it('the conversation layout shows evaluations as answers followed by scores, and the latest evaluation last', async () => {
  const { path } = await runExperimentFrom(config, { model: seededModel() });
  const { calls, entries } = readRun(path);
  const { messages } = calls.at(-1)!;
  expect(messages.map(({ role }) => role)).toEqual([
    'system',
    ...['user', 'assistant', 'user', 'assistant', 'user', 'assistant', 'user'],
  ]);
  const shown = entries.slice(-4, -1);
  shown.forEach(({ parameters, score }, i) => {
    const answer = messages[2 + 2 * i]!.content;
    expect(JSON.parse(answer)).toMatchObject({ params: parameters });
    expect(messages[3 + 2 * i]!.content).toContain(`f(params): ${score.toFixed(2)}`);
  });
  expect(messages.at(-1)!.content).toMatch(/This is iteration 4 of 4\.[\s\S]*Propose new parameters/);
});

it('in the conversation layout, the second prompt keeps all messages of the first but the last', async () => {
  const { path } = await runExperimentFrom({ ...config, memory: {} }, { model: seededModel() });
  const [first, second] = readRun(path).calls.map(({ messages }) => messages);
  expect(second!.slice(0, first!.length - 1)).toEqual(first!.slice(0, -1));
});

it('a run with the conversation layout gives the same evaluations when resumed or replayed', async () => {
  const whole = await runExperimentFrom(config, { model: seededModel(0.3) });
  const part = await runExperimentFrom({ ...config, iterations: 2 }, { model: seededModel(0.3) });
  await resumeExperiment(part.path, { model: seededModel(0.3), overrides: ['iterations=4'] });
  expect(readRunFile(part.path, 'evaluations')).toBe(readRunFile(whole.path, 'evaluations'));
  const replayed = await runExperimentFrom({ ...config, model: { provider: 'replayed', run: whole.path } });
  expect(readRunFile(replayed.path, 'evaluations')).toBe(readRunFile(whole.path, 'evaluations'));
});

it('the conversation layout is rejected with the compact prompt set', () => {
  expect(() => parseConfig({ ...config, prompts: { ...config.prompts, set: 'compact' } })).toThrow(
    /compact, whose prompts list the evaluations/,
  );
});
