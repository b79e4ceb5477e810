import { existsSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { expect, it, test } from 'vitest';
import { loadTrainConfig } from '../../../finetune/train/train-config.js';
import { makeDirectory } from '../../../src/base/files/files.js';
import { loadConfig, parseConfig } from '../../../src/config/load.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';

const model = (path: string) => `environment: CartPole-v1\nmodel: {provider: local, path: "${path}"}\n`;
const load = (text: string, ...overrides: readonly string[]) =>
  loadConfig({ file: 'my.yaml', overrides, readFile: () => text }).config;

test.each(['~', '$HOME', `\${HOME}`])('%s at the start of a path is the home directory', (home) => {
  const path = join(homedir(), 'models/a.gguf');
  expect(load(model(`${home}/models/a.gguf`)).model).toMatchObject({ path });
  expect(load(model('a.gguf'), `model.path=${home}/models/a.gguf`).model).toMatchObject({ path });
  expect(parseConfig({ environment: 'bandit', model: { provider: 'local', path } }).model).toMatchObject({
    path,
  });
  const config = load(
    `environment: {id: "${home}/env.mjs", python: "${home}/venv/bin/python"}
model: {provider: "${home}/my-model.mjs"}
prompts: {set: "${home}/prompts", description: "${home}/d.hbs"}
`,
  );
  expect(config.environment).toMatchObject({
    id: join(homedir(), 'env.mjs'),
    python: join(homedir(), 'venv/bin/python'),
  });
  expect(config.model).toMatchObject({ provider: 'module', path: join(homedir(), 'my-model.mjs') });
  expect(config.prompts).toMatchObject({
    set: join(homedir(), 'prompts'),
    description: join(homedir(), 'd.hbs'),
  });
  const cwd = temporaryDirectory();
  writeFileSync(join(cwd, 't.yaml'), `model: ${home}/m\ndataset: ${home}/d\noutput: ${home}/o\n`);
  expect(loadTrainConfig('t.yaml', [], cwd)).toMatchObject({
    model: join(homedir(), 'm'),
    dataset: join(homedir(), 'd'),
    output: join(homedir(), 'o'),
  });
});

test.each(['~bob/a.gguf', '$SCRATCH/a.gguf', `\${SCRATCH}/a.gguf`, 'x/~/a.gguf', '/data/$HOME/a.gguf'])(
  'the path %s is rejected',
  (path) => {
    expect(() => load(model(path))).toThrow(
      /model\.path: (\S+ isn't expanded|contains \S+)[\s\S]*hint: write the path out; only `~\/` and `\$HOME\/`/,
    );
  },
);

it('~ and $ within the name of a file are left unchanged', () => {
  for (const name of ['a~1.gguf', 'costs$5.gguf', './~a.gguf'])
    expect(load(model(name)).model).toMatchObject({ path: join(process.cwd(), name) });
});

it('makeDirectory creates no folder named ~', () => {
  const cwd = temporaryDirectory();
  expect(() => makeDirectory(join(cwd, '~', 'runs'))).toThrow(/contains ~/);
  expect(existsSync(join(cwd, '~'))).toBe(false);
});
