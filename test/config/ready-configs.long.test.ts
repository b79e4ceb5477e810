import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packageRoot } from '../../src/base/package.js';
import { bundledConfigs } from '../../src/config/file.js';
import { loadConfig, parseConfig, resolvedYaml } from '../../src/config/load.js';
import { assemble } from '../../src/experiment/setup/assemble.js';
import '../../src/index.js';
import { baselineNames } from '../../src/config/baselines.js';
import { referenceDirectory } from '../models/local/fixture.js';

const names = bundledConfigs();
const environments = [
  ...'acrobot blackjack cartpole cliffwalking frozenlake halfcheetah hopper'.split(' '),
  ...'inverted-double-pendulum inverted-pendulum maze-3x3 maze-5x5 mountaincar'.split(' '),
  ...'mountaincar-continuous navigation nim pendulum pong reacher swimmer taxi walker2d'.split(' '),
];
const providers = ['openai', 'ollama', 'local', 'random', 'hill-climb', 'cma-es'];

const textOf = (name: string) => readFileSync(join(packageRoot(), 'configs', `${name}.yaml`), 'utf8');

describe('the bundled configs', () => {
  it('have a numeric and a semantic variant for each of 21 environments', () => {
    for (const environment of environments) {
      for (const set of ['numeric', 'semantic']) {
        const { config } = loadConfig({ file: `${environment}-${set}` });
        expect(config.name).toBe(`${environment}-${set}`);
        expect(config.prompts.set).toBe(set);
      }
    }
  });

  it('cover the main providers', () => {
    for (const provider of providers) {
      expect(loadConfig({ file: `providers/${provider}` }).config.model.provider).toBe(provider);
    }
    const { config } = loadConfig({ file: 'providers/llama-cpp' });
    expect(config.model).toMatchObject({ provider: 'openai', baseUrl: 'http://127.0.0.1:8080/v1' });
  });

  it.each(names)('%s loads, and its resolved form loads as the same config', (name) => {
    const { config, notes } = loadConfig({ file: name });
    expect(notes).toEqual([]);
    expect(loadConfig({ file: 'resolved.yaml', readFile: () => resolvedYaml(config) }).config).toEqual(
      config,
    );
    expect(parseConfig(config)).toEqual(config);
  });

  it.each(names)('%s switches to each suitable baseline with one override', (name) => {
    const programs = name.startsWith('programs/');
    const fitting = baselineNames.filter(
      (control) => (control === 'genetic') === programs || control === 'random',
    );
    for (const control of fitting) {
      const { config } = loadConfig({ file: name, overrides: [`model.provider=${control}`] });
      expect(config.model.provider).toBe(control);
    }
  });

  it.each(names)('%s is valid; numeric policies have 10 or the stated number of parameters', async (name) => {
    // The model of this one is for the user to download.
    const overrides = name === 'providers/local' ? [`model.path=${referenceDirectory('qwen3-fp32')}`] : [];
    const written = loadConfig({ file: name, overrides }).config;
    const key = 'apiKeyEnv' in written.model ? written.model.apiKeyEnv : 'OPENAI_API_KEY';
    const { config, family } = await assemble(written, { [key]: 'none' });
    const stated = /(\d+) parameters$/m.exec(textOf(name))?.[1];
    expect(config).toMatchObject(written);
    if (written.policy?.kind === 'program') return;
    expect(family.parameters.count).toBe(stated === undefined ? 10 : Number(stated));
  });
});
