/** What a new run fills in: its config then states it, and later versions can't change it. */
import { describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { parseConfig } from '../../../src/config/load.js';
import { assemble } from '../../../src/experiment/assemble.js';
import { nothingRecorded } from '../../../src/runs/reader.js';
import { referenceDirectory } from '../../models/local/fixture.js';
import { tokenizerMetadata, writeTestGguf } from '../../models/local/gguf/gguf-writer.js';
import { architectureMetadata, decoderTensors } from '../../models/local/gguf/random-gguf.js';
import { quick, temporaryDirectory } from '../../support/experiments.js';

const taken = { ...nothingRecorded, imported: [], demonstrations: [] };
const of = async (model: object, more: object = {}, recorded?: typeof taken) =>
  (await assemble(parseConfig({ ...quick, ...more, model } as never), {}, recorded)).config;

it('a new run has the fingerprint that its config has when it is resumed', async () => {
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

  it('states how its local model samples: the whole distribution under a constraint', async () => {
    const config = await of({ provider: 'local', path, topK: 3 });
    expect(config.model).toMatchObject({ format: 'auto', temperature: 1, topP: 1, topK: 3, minP: 0 });
  });

  it('samples free text of a GGUF file at 0.7 where its family is not known', async () => {
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

  it('shows a history that takes half the context of its local model, or what the config says', async () => {
    const model = { provider: 'local', path, contextTokens: 400 };
    expect((await of(model)).memory).toMatchObject({ tokens: 200, digits: 3 });
    expect((await of(model, { memory: { tokens: 100 } })).memory).toMatchObject({ tokens: 100 });
    expect((await of(model, { memory: { best: 8, recent: 4 } })).memory).toMatchObject({ tokens: 24_000 });
    expect((await of({ provider: 'ollama', name: 'x' })).memory).toMatchObject({ tokens: 24_000 });
  });

  it('reports a model that is not there once', async () => {
    const error = await of({ provider: 'local', path: '/nowhere' }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ problems: [{ field: 'model.path' }] });
  });
});

it('a resumed run keeps what it began with, even nothing', async () => {
  const path = referenceDirectory('qwen3-fp32');
  const config = await of({ provider: 'local', path, format: 'text' }, {}, taken);
  expect(config.model).not.toHaveProperty('temperature');
  expect(config.memory).not.toHaveProperty('tokens');
  expect(config.limits).toEqual({});
});
