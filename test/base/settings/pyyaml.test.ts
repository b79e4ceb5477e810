import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { parseSource } from '../../../src/base/settings/yaml-source.js';
import { openConfig } from '../../../src/config/file.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';

const expected = z
  .array(z.tuple([z.string(), z.unknown()]))
  .parse(JSON.parse(readFileSync(path.join(import.meta.dirname, '../../fixtures/yaml/pyyaml.json'), 'utf8')));

describe('a config read by PyYAML’s rules', () => {
  it.each(expected)('parses %s as PyYAML does', (text, value) => {
    const { k } = parseSource(`k: ${text}`, 'theirs.yaml', 'pyyaml').content as { k: unknown };
    // Python's dates have no counterpart.
    if (value === 'date') expect(k).toBe(text);
    else expect(JSON.stringify(k) === 'null' && k !== null ? infinite(k) : k).toEqual(value);
  });

  const infinite = (value: unknown) => ({ float: String(value).replace('Infinity', 'inf').toLowerCase() });

  it('resolves merge keys and knows the position of each field', () => {
    const source = parseSource('a: &a {x: on, y: 020}\nb:\n  <<: *a\n  y: off\n', 'theirs.yaml', 'pyyaml');
    expect(source.content).toEqual({ a: { x: true, y: 16 }, b: { x: true, y: false } });
    expect(source.place(['b', 'y'], 'value')).toEqual({ file: 'theirs.yaml', line: 4, column: 6 });
  });
});

describe('openConfig', () => {
  const read = (text: string) => {
    const file = path.join(temporaryDirectory(), 'config.yaml');
    writeFileSync(file, text);
    return openConfig('experiment', file).content;
  };

  it('reads a config of the reference programs by PyYAML’s rules', () => {
    const theirs =
      'task: frozen_lake\ngym_env_name: FrozenLake-v1\nis_slippery: yes\nbias: off\nrank: 020\nseed: 1e3\n';
    expect(read(theirs)).toMatchObject({ is_slippery: true, bias: false, rank: 16, seed: '1e3' });
  });

  it('reads our own configs as YAML 1.2', () => {
    const ours = 'name: on\nenvironment: cartpole\niterations: 020\nmodel: {temperature: 1e0}\n';
    expect(read(ours)).toMatchObject({ name: 'on', iterations: 20, model: { temperature: 1 } });
  });
});
