/** `package:…` names a directory in the package wherever the directory of a model or adapter is expected. */
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { execute as exportModel } from '../../../finetune/commands/export.js';
import { openArms } from '../../../finetune/evaluate/arms.js';
import { loadTrainConfig } from '../../../finetune/train/train-config.js';
import type { CommandContext } from '../../../src/base/context.js';
import { execute as checkModel } from '../../../src/commands/models/check.js';
import { modelDirectory } from '../../../src/models/local/settings.js';
import { referenceDirectory } from '../../models/local/fixture.js';
import { recordingContext, temporaryDirectory } from '../../support/experiments.js';

const installed = vi.hoisted(() => ({ root: '' }));
vi.mock('../../../src/base/package.js', async (original) => ({
  ...(await original<object>()),
  packageRoot: () => installed.root,
}));

const names = { model: 'package:models/base', adapter: 'package:models/adapter' };
let cwd = '';

const out = (name: string) => join(cwd, name);

beforeEach(() => {
  installed.root = temporaryDirectory();
  cwd = temporaryDirectory();
  const reference = referenceDirectory('llama3-rope-bf16');
  cpSync(reference, join(installed.root, 'models/base'), { recursive: true });
  const adapter = join(installed.root, 'models/adapter');
  cpSync(join(reference, 'adapter-after-12-steps'), adapter, { recursive: true });
  const file = join(adapter, 'adapter_config.json');
  const config = JSON.parse(readFileSync(file, 'utf8')) as object;
  writeFileSync(file, JSON.stringify({ ...config, base_model_name_or_path: names.model }));
});

const quiet = { json: true };

/** Runs a command, and returns what it printed as JSON. */
async function printed<A>(execute: (args: A, context: CommandContext) => Promise<number>, args: A) {
  const recorded = recordingContext(cwd);
  expect(await execute(args, recorded.context)).toBe(0);
  return JSON.parse(recorded.printed.at(-1)!) as Record<string, unknown>;
}

describe('a package: path', () => {
  it('works with finetune export', async () => {
    const { adapter, model } = names;
    const given = { ...quiet, source: adapter };
    await printed(exportModel, { ...quiet, source: model, to: 'gguf', out: out('a.gguf') });
    await printed(exportModel, { ...given, to: 'gguf', out: out('b.gguf') });
    await printed(exportModel, { ...given, model, to: 'gguf', out: out('c.gguf') });
    expect(readFileSync(out('c.gguf')).equals(readFileSync(out('b.gguf')))).toBe(true);
    await printed(exportModel, { ...given, to: 'merged', out: out('m') });
    await printed(exportModel, { ...given, model, to: 'merged', out: out('n') });
    expect(['m/config.json', 'n/config.json'].filter((name) => !existsSync(out(name)))).toEqual([]);
  });

  it('works for the models of finetune evaluate, and in training configs', async () => {
    const arms = openArms(names.model, names.adapter, [], cwd);
    expect(arms[1]).toMatchObject({ paths: { adapter: join(installed.root, 'models/adapter') } });
    writeFileSync(out('tune.yaml'), `model: ${names.model}\ndataset: d\n`);
    expect(loadTrainConfig(out('tune.yaml')).model).toBe(join(installed.root, 'models/base'));
    expect(loadTrainConfig(out('tune.yaml'), [`model=${names.model}`]).model).toContain(installed.root);
  });

  const nothing = 'package:models/none';
  it.each([
    ['model.path', (context) => checkModel({ directory: nothing, json: true }, context)],
    ['--base', (context) => checkModel({ directory: names.adapter, base: nothing, json: true }, context)],
    ['source', (context) => exportModel({ ...quiet, to: 'gguf', source: nothing, out: 'x.gguf' }, context)],
    ['--tuned', async () => openArms(undefined, nothing, [], cwd)],
  ] satisfies [string, (context: CommandContext) => Promise<unknown>][])(
    'that is missing causes an error that names %s',
    async (field, run) => {
      const { context } = recordingContext(cwd);
      await expect(run(context)).rejects.toThrow(
        new RegExp(`^${field}: this installation[\\s\\S]*models/none`),
      );
    },
  );

  it('never leads outside the package', () => {
    expect(() => modelDirectory('package:../..')).toThrow('contain this model');
    expect(() => modelDirectory('package:')).toThrow('contain this model');
    expect(modelDirectory('a/b', '/c')).toBe('/c/a/b');
  });
});
