/** A run that is continued with the config that it was started with, as plans and programs do. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { ConfigInput } from '../../src/config/config.js';
import { loadConfig, parseConfig } from '../../src/config/load.js';
import { readManifest } from '../../src/runs/reader.js';
import { reopenRun } from '../../src/studies/resume.js';
import { quick, recordingContext, runExperimentFrom, stopAfter } from '../support/experiments.js';
import { createScriptedModel } from '../support/scripted-model.js';

const nonsense = () => createScriptedModel(() => 'No idea.');

it.each<[string, ConfigInput['model']]>([
  ['a hosted model', { provider: 'openai', name: 'm', baseUrl: 'http://127.0.0.1:9/v1' }],
  ['a local model', { provider: 'local', device: 'cpu' }],
  [
    'a portfolio',
    { provider: 'portfolio', members: [{ provider: 'local', device: 'cpu' }, { provider: 'random' }] },
  ],
])('a reopened run keeps the defaults that were filled in at its start: %s', async (_, model) => {
  const input: ConfigInput = { ...quick, model };
  const { path } = await runExperimentFrom(input, { model: nonsense(), ...stopAfter(1) });
  expect(readManifest(path).status).toBe('interrupted');
  const file = join(path, 'config.yaml');
  const began = loadConfig({ file, asWritten: true }).config;
  const { context } = recordingContext(path);
  const opened = await reopenRun(path, parseConfig(input), context, {
    own: { model: { ...nonsense(), id: 'scripted/model' } },
  });
  if (typeof opened === 'string') throw new Error(opened);
  await opened.directory.close();
  expect(loadConfig({ file, asWritten: true }).config).toEqual(began);
});
