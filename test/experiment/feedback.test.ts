import { expect, it } from 'vitest';
import type { ConfigInput } from '../../src/config/config.js';
import { readManifest, readRun } from '../../src/runs/reader.js';
import {
  quick,
  readRunFile,
  resumeExperiment,
  runExperimentFrom,
  seededModel,
} from '../support/experiments.js';
import { createScriptedModel } from '../support/scripted-model.js';

const config = {
  ...quick,
  model: { provider: 'ollama', name: 'scripted' },
  feedback: { from: 'person', every: 2 },
} as const satisfies ConfigInput;

it('asks on the median episode of the best candidate', async () => {
  const person = createScriptedModel(['4: too jerky', '', 'the cart drifts']);
  const { path, events } = await runExperimentFrom(config, { model: seededModel(), feedback: person });
  const { calls, entries } = readRun(path);
  console.log(events.filter((e) => e.kind.startsWith('feedback')));
  console.log(calls.filter((c) => c.purpose === 'feedback'));
  console.log(entries.map((e) => e.feedback));
  console.log(calls.findLast((c) => c.purpose === undefined)!.messages[1]!.content.slice(-2500));
  expect(1).toBe(1);
  const replayed = await runExperimentFrom({ ...config, model: { provider: 'replayed', run: path } });
  expect(readRunFile(replayed.path, 'evaluations')).toBe(readRunFile(path, 'evaluations'));
  expect(readManifest(replayed.path).usage).toEqual(readManifest(path).usage);
  void resumeExperiment;
});
