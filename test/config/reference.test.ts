import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { trainingKind } from '../../finetune/train/train-config.js';
import { configReference, configSummary, withReference } from '../../scripts/reference.js';
import { packageRoot } from '../../src/base/package.js';
import { experimentKind } from '../../src/config/config.js';
import { bundledConfigs } from '../../src/config/file.js';
import { loadConfig, parseConfig } from '../../src/config/load.js';

const file = (path: string) => join(packageRoot(), path);
const read = (path: string) => readFileSync(file(path), 'utf8');

describe('documentation generated from the schema (npm run generate)', () => {
  it.each([['training', 'training', configReference(trainingKind.json)]])(
    'is up to date in docs/reference/%s.md',
    (page, marker, reference) => {
      const text = read(`docs/reference/${page}.md`);
      expect(text).toContain(reference);
      expect(text).toBe(withReference(text, reference, marker));
    },
  );

  it('has a section for every part of a config on the experiment pages', () => {
    const text = ['experiment', 'model'].map((page) => read(`docs/reference/${page}.md`)).join('');
    for (const section of configReference(experimentKind.json).split(/\n\n(?=### )/))
      expect(text).toContain(section);
  });

  it('is up to date in README.md, if that file has the markers', () => {
    const text = existsSync(file('README.md')) ? read('README.md') : '';
    expect(text).toBe(withReference(text, configSummary(experimentKind.json)));
  });
});

describe('configs/schema.json, as an editor uses it', () => {
  const schema = z.fromJSONSchema(JSON.parse(read('configs/schema.json')));

  it('accepts every bundled config', () => {
    for (const name of bundledConfigs()) {
      expect(schema.safeParse(parse(read(`configs/${name}.yaml`))).success, name).toBe(true);
    }
  });

  it('accepts shorthands and long forms, and a resolved config', () => {
    const long = {
      $schema: './schema.json',
      environment: { id: 'FrozenLake-v1', options: { is_slippery: false } },
      model: { provider: 'cma-es' },
      target: { return: 0.7 },
      warmup: { policies: 3 },
      memory: { best: 3 },
    };
    for (const config of [long, { ...long, target: 1, warmup: 3, memory: 'none' }, parseConfig(long)]) {
      expect(schema.safeParse(JSON.parse(JSON.stringify(config))).success).toBe(true);
    }
  });

  it('rejects configs with missing, unknown or invalid settings', () => {
    const good = { environment: 'CartPole-v1', model: { provider: 'random' } };
    for (const bad of [
      {},
      { ...good, iteration: 3 },
      { ...good, iterations: 0 },
      { ...good, model: { provider: 'cma' } },
      { ...good, model: { provider: 'random', sigma: 1 } },
      { ...good, memory: 'some' },
    ]) {
      expect(schema.safeParse(bad).success, JSON.stringify(bad)).toBe(false);
    }
  });
});

describe('configReference', () => {
  const reference = configReference(experimentKind.json);

  it('gives the type, default and meaning of a key', () => {
    expect(reference).toContain('| `evaluation.episodes` | integer ≥ 1 | `20` | Episodes');
    expect(reference).toContain('| `model.topP` | number > 0, ≤ 1 |');
    expect(reference).toContain('| `environment` | text, mapping | required |');
  });

  it('explains every key', () => {
    const rows = reference.split('\n').filter((line) => line.startsWith('| `'));
    expect(rows.length).toBeGreaterThan(60);
    for (const row of rows) expect(row).toMatch(/\| [^|]+ \|$/);
  });
});

describe('docs/how-to/configs.md', () => {
  it('shows configs that load', () => {
    const examples = [...read('docs/how-to/configs.md').matchAll(/```yaml\n(.*?)```/gs)].map(
      ([, yaml]) => yaml!,
    );
    const configs = examples.filter((yaml) => yaml.includes('environment:'));
    expect(configs).toHaveLength(2);
    for (const yaml of configs)
      expect(() => loadConfig({ file: 'example.yaml', readFile: () => yaml })).not.toThrow();
  });
});
