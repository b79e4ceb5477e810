import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test, vi } from 'vitest';
import { execute as checkModelCommand } from '../../../src/commands/models/check.js';
import { loadConfig, parseConfig, resolvedYaml } from '../../../src/config/load.js';
import { modelDirectory } from '../../../src/models/local/settings.js';
import { createModel } from '../../../src/proposers/create-model.js';
import { recordingContext, temporaryDirectory } from '../../support/experiments.js';
import { referenceDirectory } from './fixture.js';

/** The assumed location of the package. */
const installed = vi.hoisted(() => ({ root: '' }));
vi.mock('../../../src/base/package.js', () => ({ packageRoot: () => installed.root }));
beforeEach(() => {
  installed.root = temporaryDirectory();
});

const install = () =>
  cpSync(referenceDirectory('llama3-rope-bf16'), join(installed.root, 'models/tiny-improver'), {
    recursive: true,
  });
const config = () => parseConfig({ environment: 'CartPole-v1', model: { provider: 'local' } });

test('a config without a path selects the embedded model, and is saved without a machine-specific path', async () => {
  install();
  const { model } = config();
  expect(model).toMatchObject({ provider: 'local', path: 'package:models/tiny-improver' });
  const yaml = resolvedYaml(config());
  expect(yaml).not.toContain(installed.root);
  expect(loadConfig({ file: 'config.yaml', readFile: () => yaml }).config).toEqual(config());
  const opened = createModel(model, {});
  expect(opened.id).toBe('local/tiny-improver');
  await opened.close?.();
});

test('only paths that begin with package: are resolved inside the package', () => {
  install();
  expect(modelDirectory('package:models/tiny-improver')).toBe(join(installed.root, 'models/tiny-improver'));
  for (const path of ['models/tiny-improver', '/models/package:a', './package:models'])
    expect(modelDirectory(path)).toBe(path);
});

test('models check describes the embedded model if no directory is given', async () => {
  install();
  const { context, printed } = recordingContext(temporaryDirectory());
  expect(await checkModelCommand({ json: false }, context)).toBe(0);
  expect(printed.join('\n')).toMatch(/^.*models.tiny-improver\n[\s\S]*verdict +can run/);
});

test('an error gives a hint if the package lacks the model', async () => {
  const message =
    /model\.path: this installation .*models.tiny-improver\n {2}hint: reinstall.*\n.*package:models/;
  expect(() => createModel(config().model, {})).toThrow(message);
  const { context } = recordingContext(temporaryDirectory());
  await expect(checkModelCommand({ json: false }, context)).rejects.toThrow(message);
});
