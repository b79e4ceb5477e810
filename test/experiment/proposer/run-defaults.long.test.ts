/** Defaults that a new run stores in its config, so that later versions can't change them. */
import { describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { parseConfig } from '../../../src/config/load.js';
import { withDefaultsOf } from '../../../src/config/resolve.js';
import { assemble, type UserParts } from '../../../src/experiment/setup/assemble.js';
import type { ParameterVector } from '../../../src/policies/policy.js';
import { referenceDirectory } from '../../models/local/fixture.js';
import { tokenizerMetadata, writeTestGguf } from '../../models/local/gguf/gguf-writer.js';
import { architectureMetadata, decoderTensors } from '../../models/local/gguf/random-gguf.js';
import { quick, temporaryDirectory } from '../../support/experiments.js';
import { startFakeOllama } from '../../support/fake-ollama.js';
import { startFakeOpenAI } from '../../support/fake-openai.js';

const taken: readonly ParameterVector[] = [];
const of = async (model: object, more: object = {}, recorded?: readonly ParameterVector[], own?: UserParts) =>
  (await assemble(parseConfig({ ...quick, ...more, model } as never), {}, recorded, own)).config;

it('a new run has the same fingerprint as its stored config on resume', async () => {
  const model = { provider: 'local', path: referenceDirectory('qwen3-fp32') };
  const members = [{ ...model, weight: 2 }, { provider: 'gp' }];
  for (const section of [model, { provider: 'portfolio', members }]) {
    const made = await assemble(parseConfig({ ...quick, model: section } as never), {});
    const read = await assemble(parseConfig(parse(stringify(made.config))), {}, taken);
    expect(read.fingerprint).toBe(made.fingerprint);
  }
});

describe('a new run', () => {
  const path = referenceDirectory('qwen3-fp32');

  it('stores the sampling defaults of its local model, which do not truncate the distribution', async () => {
    const config = await of({ provider: 'local', path, topK: 3 });
    expect(config.model).toMatchObject({ format: 'auto', temperature: 1, topP: 1, topK: 3, minP: 0 });
  });

  it('stores the number of threads, which a resumed run keeps, unless runs share a process', async () => {
    const model = { provider: 'local', path };
    expect((await of(model)).model).toHaveProperty('threads', expect.any(Number));
    const began = await of({ ...model, threads: 7 });
    expect(withDefaultsOf(began, parseConfig({ ...quick, model } as never)).model).toHaveProperty(
      'threads',
      7,
    );
    expect((await of({ ...model, batch: 2 })).model).not.toHaveProperty('threads', expect.any(Number));
  });

  it('samples free text from a GGUF model of unknown family at temperature 0.7', async () => {
    const file = writeTestGguf(
      `${temporaryDirectory()}/model.gguf`,
      { ...architectureMetadata(), ...tokenizerMetadata() },
      decoderTensors('Q4_0'),
    );
    expect((await of({ provider: 'local', path: file, format: 'text' })).model).toMatchObject({
      temperature: 0.7,
    });
    expect((await of({ provider: 'local', path: file })).model).toMatchObject({ temperature: 1 });
  });

  it('limits the history to half the context of a local model unless `memory` limits it', async () => {
    const model = { provider: 'local', path, contextTokens: 400 };
    expect((await of(model)).memory).toMatchObject({ tokens: 200 });
    expect((await of(model, { memory: { tokens: 100 } })).memory).toMatchObject({ tokens: 100 });
    expect((await of(model, { memory: { best: 8, recent: 4 } })).memory).toMatchObject({ tokens: 24_000 });
    expect((await of({ provider: 'ollama', name: 'x' })).memory).toMatchObject({ tokens: 24_000 });
  });

  const ofServer = (facts: Readonly<Record<string, unknown>>) => ({ facts, reply: () => '' });
  const list = (...data: readonly object[]) => ({ '/v1/models': { object: 'list', data } });
  const asked = { ask: new AbortController().signal };

  it.each([
    ['vLLM', list({ id: 'other', max_model_len: 512 }, { id: 'tiny', max_model_len: 4096 }), 2048],
    ['OpenRouter', list({ id: 'tiny', context_length: 9000, top_provider: { context_length: 8000 } }), 4000],
    ['Groq', list({ id: 'tiny', context_window: 131_072 }), 24_000],
    ['Mistral', list({ id: 'tiny', max_context_length: 16_384 }), 8192],
    ["llama.cpp's server", list({ id: 'x.gguf', meta: { n_ctx: 4096, n_ctx_train: 8192 } }), 2048],
    ['OpenAI', list({ id: 'tiny', object: 'model' }, { id: 'other', context_length: 100 }), 24_000],
    ['one that reports nonsense', list({ id: 'tiny', max_model_len: -1, context_length: '4k' }), 24_000],
    ['one without a list', {}, 24_000],
  ])('derives the history limit from the context if a server reports it: %s', async (_, facts, tokens) => {
    const server = await startFakeOpenAI(ofServer(facts));
    for (const baseUrl of [server.url, server.url.replace('/v1', '')]) {
      const model = { provider: 'openai', name: 'tiny', baseUrl };
      expect((await of(model, {}, undefined, asked)).memory).toMatchObject({ tokens });
      // A dry run, say, asks no server.
      expect((await of(model)).memory).toMatchObject({ tokens: 24_000 });
      const stated = { memory: { tokens: 30_000 } };
      expect((await of(model, stated, undefined, asked)).memory).toMatchObject({ tokens: 30_000 });
    }
  });

  it.each([
    [{}, true, 4096],
    [{ contextTokens: 2000 }, true, 1000],
    [{ contextTokens: 2000 }, false, 1000],
    [{ name: 'missing' }, true, 24_000],
    [{ name: 'missing', contextTokens: 2000 }, true, 1000],
  ])(
    "derives the history limit from Ollama's context: %j, server asked: %s",
    async (more, isAsked, tokens) => {
      const server = await startFakeOllama({ reply: () => '', models: ['tiny'], contextTokens: 8192 });
      const model = {
        provider: 'ollama',
        name: 'tiny',
        host: server.url,
        maxRetries: 0,
        maxTokens: 100,
        ...more,
      };
      const { memory } = await of(model, {}, undefined, isAsked ? asked : {});
      expect(memory).toMatchObject({ tokens });
    },
  );

  it('reports a missing model only once', async () => {
    const error = await of({ provider: 'local', path: '/nowhere' }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ problems: [{ field: 'model.path' }] });
  });
});

it('a resumed run gets no defaults for settings that it started without', async () => {
  const path = referenceDirectory('qwen3-fp32');
  const config = await of({ provider: 'local', path, format: 'text' }, {}, taken);
  expect(config.model).not.toHaveProperty('temperature');
  expect(config.limits).toEqual({});
});
