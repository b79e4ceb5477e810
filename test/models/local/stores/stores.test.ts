/** Models in the Hugging Face cache. */
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  hfCache,
  hfModelPath,
  listHfModels,
  parseHfReference,
} from '../../../../src/models/local/stores/hf-cache.js';
import { temporaryDirectory } from '../../../support/temporary-directory.js';
import { referenceDirectory } from '../fixture.js';

const root = temporaryDirectory();

describe('the Hugging Face cache', () => {
  const env = { HF_HOME: path.join(root, 'hf') };
  const folder = path.join(root, 'hf', 'hub', 'models--org--tiny');
  const snapshot = path.join(folder, 'snapshots', 'c0ffee');
  mkdirSync(path.join(folder, 'refs'), { recursive: true });
  writeFileSync(path.join(folder, 'refs', 'main'), 'c0ffee\n');
  cpSync(referenceDirectory('qwen3-fp32'), snapshot, { recursive: true });
  symlinkSync(path.join(snapshot, 'model.safetensors'), path.join(snapshot, 'tiny.gguf'));

  it('finds a model by repository, revision and file', () => {
    expect(hfModelPath('hf:org/tiny', env)).toBe(snapshot);
    expect(hfModelPath('hf:org/tiny@c0ffee', env)).toBe(snapshot);
    expect(hfModelPath('hf:org/tiny:tiny.gguf', env)).toBe(path.join(snapshot, 'tiny.gguf'));
    expect(hfModelPath('hf:org/tiny', { HF_HUB_CACHE: path.join(root, 'hf', 'hub') })).toBe(snapshot);
  });

  it('rejects a model that it does not contain, and an invalid name', () => {
    expect(() => hfModelPath('hf:org/other', env)).toThrow(
      /contain this model[\s\S]*models pull hf:org\/other[\s\S]*hf:org\/tiny/,
    );
    expect(() => hfModelPath('hf:org/tiny@v2', env)).toThrow(/contain this model/);
    for (const name of ['', '/tiny', 'a/b/c', '../x', '..', 'org/..', 'org/tiny@../../x', 'org/tiny:w.bin'])
      expect(() => parseHfReference(`hf:${name}`)).toThrow(/not the name of a Hugging Face model/);
  });
});

describe('the folder of the Hugging Face cache', () => {
  const home = '/home/me';
  it.each([
    [{ HF_HOME: '/hf' }, '/hf/hub'],
    [{ HF_HUB_CACHE: '/data/hub', HF_HOME: '/other' }, '/data/hub'],
    [{ XDG_CACHE_HOME: '/cache' }, '/cache/huggingface/hub'],
    [{}, '/home/me/.cache/huggingface/hub'],
  ])('for %j is %s', (env, folder) => {
    expect(hfCache({ HOME: home, ...env })).toBe(folder);
  });
});

it('a model without an organisation is listed and found by its name', () => {
  const cache = path.join(root, 'old-models');
  const place = path.join(cache, 'models--tiny');
  const snapshot = path.join(place, 'snapshots', 'c0ffee');
  mkdirSync(path.join(place, 'refs'), { recursive: true });
  writeFileSync(path.join(place, 'refs', 'main'), 'c0ffee');
  cpSync(referenceDirectory('qwen3-fp32'), snapshot, { recursive: true });
  const env = { HF_HUB_CACHE: cache };
  expect(listHfModels(env)).toEqual([{ reference: 'hf:tiny', path: snapshot }]);
  expect(hfModelPath('hf:tiny', env)).toBe(snapshot);
  expect(hfModelPath('hf:tiny@c0ffee', env)).toBe(snapshot);
  expect(parseHfReference('hf:tiny:file.gguf')).toMatchObject({ repository: 'tiny', file: 'file.gguf' });
});
