/** Models named by where other programs keep them: Ollama's store, the Hugging Face cache. */
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  hfCache,
  hfModel,
  hfModels,
  parseHfReference,
} from '../../../../src/models/local/stores/hf-cache.js';
import { ollamaModel } from '../../../../src/models/local/stores/ollama-store.js';
import { storedSampling, withStoreDefaults } from '../../../../src/models/local/stores/stored-models.js';
import { samplingOf } from '../../../../src/models/local/weights/generation-config.js';
import { temporaryDirectory } from '../../../support/temporary-directory.js';
import { referenceDirectory } from '../fixture.js';

const root = temporaryDirectory();

/** Writes a blob as Ollama does and gives its layer. */
function blob(store: string, kind: string, content: Buffer | string) {
  const bytes = Buffer.from(content);
  const hash = createHash('sha256').update(bytes).digest('hex');
  mkdirSync(path.join(store, 'blobs'), { recursive: true });
  writeFileSync(path.join(store, 'blobs', `sha256-${hash}`), bytes);
  return { mediaType: `application/vnd.ollama.image.${kind}`, digest: `sha256:${hash}`, size: bytes.length };
}

function manifest(store: string, name: string, layers: readonly object[]): void {
  const file = path.join(store, 'manifests', name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify({ schemaVersion: 2, layers }));
}

describe('Ollama’s store', () => {
  const store = path.join(root, 'ollama');
  const env = { OLLAMA_MODELS: store };
  const model = blob(store, 'model', 'GGUF?');
  const params = blob(store, 'params', JSON.stringify({ temperature: 0.3, num_ctx: 4096, stop: ['<end>'] }));
  manifest(store, 'registry.ollama.ai/library/qwen3/0.6b', [model, params]);
  manifest(store, 'registry.ollama.ai/library/qwen3/latest', [model]);
  manifest(store, 'registry.ollama.ai/someone/tuned/latest', [model]);
  manifest(store, 'hf.co/org/model-GGUF/Q4_K_M', [model]);
  manifest(store, 'registry.ollama.ai/library/with-adapter/latest', [
    model,
    { ...model, mediaType: 'application/vnd.ollama.image.adapter' },
  ]);
  manifest(store, 'registry.ollama.ai/library/cut/latest', [
    { ...model, digest: `sha256:${'0'.repeat(64)}` },
  ]);
  manifest(store, 'registry.ollama.ai/library/sly/latest', [
    { ...model, digest: 'sha256:../../../../etc/passwd' },
  ]);

  it.each(['qwen3:0.6b', 'qwen3', 'someone/tuned', 'hf.co/org/model-GGUF:Q4_K_M'])('finds %s', (name) => {
    expect(ollamaModel(name, env).file).toBe(path.join(store, 'blobs', model.digest.replace(':', '-')));
  });

  it.each([
    ['qwen4', /contain this model[\s\S]*ollama:qwen3:0\.6b[\s\S]*ollama pull qwen4/],
    ['../../etc/passwd', /contain this model/],
    ['with-adapter', /a GGUF adapter/],
    ['cut', /the blob sha256:0+ is missing/],
    ['sly', /is missing/],
  ])('refuses %s', (name, message) => {
    expect(() => ollamaModel(name, env)).toThrow(message);
  });

  it('provides the parameters that the config does not set', () => {
    const config = { path: 'ollama:qwen3:0.6b', stop: [] };
    expect(withStoreDefaults(config, env)).toMatchObject({
      temperature: 0.3,
      contextTokens: 4096,
      stop: ['<end>'],
    });
    expect(samplingOf({ eosTokens: [], topP: 0.9 }, [storedSampling(config.path, env)])).toEqual({
      temperature: 0.3,
      topP: 0.9,
      topK: 0,
      minP: 0,
      repetitionPenalty: 1,
    });
    expect(withStoreDefaults({ ...config, temperature: 1 }, env)).toMatchObject({ temperature: 1 });
  });
});

describe('the Hugging Face cache', () => {
  const env = { HF_HOME: path.join(root, 'hf') };
  const folder = path.join(root, 'hf', 'hub', 'models--org--tiny');
  const snapshot = path.join(folder, 'snapshots', 'c0ffee');
  mkdirSync(path.join(folder, 'refs'), { recursive: true });
  writeFileSync(path.join(folder, 'refs', 'main'), 'c0ffee\n');
  cpSync(referenceDirectory('qwen3-fp32'), snapshot, { recursive: true });
  symlinkSync(path.join(snapshot, 'model.safetensors'), path.join(snapshot, 'tiny.gguf'));

  it('finds a model by repository, revision and file', () => {
    expect(hfModel('org/tiny', env)).toBe(snapshot);
    expect(hfModel('org/tiny@c0ffee', env)).toBe(snapshot);
    expect(hfModel('org/tiny:tiny.gguf', env)).toBe(path.join(snapshot, 'tiny.gguf'));
    expect(hfModel('org/tiny', { HF_HUB_CACHE: path.join(root, 'hf', 'hub') })).toBe(snapshot);
  });

  it('refuses a model that it does not contain, and an invalid name', () => {
    expect(() => hfModel('org/other', env)).toThrow(
      /contain this model[\s\S]*hf:org\/tiny[\s\S]*models pull hf:org\/other/,
    );
    expect(() => hfModel('org/tiny@v2', env)).toThrow(/contain this model/);
    for (const name of [
      '',
      '/tiny',
      'a/b/c',
      '../x',
      '..',
      'org/..',
      'org/tiny@../../x',
      'org/tiny:weights.bin',
    ])
      expect(() => parseHfReference(name)).toThrow(/not the name of a Hugging Face model/);
  });
});

describe('the folder of the Hugging Face cache', () => {
  // Expected results: huggingface_hub 2.4, which expands ~ and variables.
  const home = '/home/me';
  it.each([
    [{ HF_HOME: '~/hf' }, '/home/me/hf/hub'],
    [{ HF_HOME: '~' }, '/home/me/hub'],
    [{ HF_HOME: '$HOME/hf' }, '/home/me/hf/hub'],
    [{ HF_HOME: '\u{24}{DATA}/hf', DATA: '/data' }, '/data/hf/hub'],
    [{ HF_HOME: '$NOWHERE/hf' }, '$NOWHERE/hf/hub'],
    [{ HF_HOME: 'a~/hf' }, 'a~/hf/hub'],
    [{ HF_HUB_CACHE: '~/hub' }, '/home/me/hub'],
    [{ HF_HUB_CACHE: '$DATA/hub', DATA: '/data', HF_HOME: '/other' }, '/data/hub'],
    [{ HUGGINGFACE_HUB_CACHE: '~/old' }, '/home/me/old'],
    [{ XDG_CACHE_HOME: '~/cache' }, '/home/me/cache/huggingface/hub'],
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
  expect(hfModels(env)).toEqual([{ reference: 'hf:tiny', path: snapshot }]);
  expect(hfModel('tiny', env)).toBe(snapshot);
  expect(hfModel('tiny@c0ffee', env)).toBe(snapshot);
  expect(parseHfReference('tiny:file.gguf')).toMatchObject({ repository: 'tiny', file: 'file.gguf' });
});
