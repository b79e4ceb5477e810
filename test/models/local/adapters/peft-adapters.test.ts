/** Adapters as PEFT saved them (test/fixtures/adapters/make.py), and the logits that PEFT computed with them. */
import { cpSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { mergeAdapter } from '../../../../finetune/export/merge.js';
import { adaptedModules, adapterInputs } from '../../../../src/models/local/engine/adapter-inputs.js';
import { buildGraph } from '../../../../src/models/local/engine/engine.js';
import { KeyValueCache } from '../../../../src/models/local/engine/key-value-cache.js';
import { openSession } from '../../../../src/models/local/engine/runtime.js';
import { openAdapter } from '../../../../src/models/local/graph/adapter.js';
import type { Quantization } from '../../../../src/models/local/settings.js';
import { readDecoderConfig } from '../../../../src/models/local/weights/hf-config.js';
import { openWeights } from '../../../../src/models/local/weights/safetensors.js';
import { largestDifference } from '../../../finetune/reference-training.js';
import { temporaryDirectory } from '../../../support/temporary-directory.js';
import { readReference, referenceDirectory } from '../fixture.js';

const fixtures = fileURLToPath(new URL('../../../fixtures/adapters/', import.meta.url));
const reference = JSON.parse(readFileSync(path.join(fixtures, 'reference.json'), 'utf8')) as Record<
  string,
  { readonly model: string; readonly last_logits: readonly number[] }
>;

interface Loaded {
  /** Directory of an adapter that is part of the model. */
  readonly adapter?: string;
  /** Directories of adapters that are inputs, of which `chosen` is fed. */
  readonly adapters?: readonly string[];
  readonly chosen?: number;
  readonly quantization?: Quantization;
}

async function lastLogits(model: string, ids: readonly number[], loaded: Loaded = {}): Promise<Float32Array> {
  const { adapter, adapters = [], chosen, quantization = 'none' } = loaded;
  const config = readDecoderConfig(model);
  const weights = openWeights(model);
  const all = adapters.map((directory) => openAdapter(directory, config));
  const modules = adaptedModules(all);
  const graph = buildGraph({ path: model, adapter, quantization }, config, weights, modules);
  const session = await openSession(graph, config, { device: 'cpu', threads: 1 });
  const shape = { layers: config.layers.length, kvHeads: config.kvHeads, headDim: config.headDim };
  const { logits } = await session.forward({
    ids,
    rows: 1,
    position: 0,
    adapter: await adapterInputs(modules, weights, chosen === undefined ? undefined : all[chosen]),
    prompt: new KeyValueCache(shape),
    own: new KeyValueCache(shape),
    logitsOf: [ids.length - 1],
  });
  const copy = logits.slice();
  await session.close();
  return copy;
}

describe.each(Object.entries(reference))('%s', (name, { model: base, last_logits: theirs }) => {
  const model = referenceDirectory(base);
  const ids = readReference(base).prompt_ids;
  const adapter = path.join(fixtures, name);

  it('gives PEFT’s logits', async () => {
    expect(largestDifference(await lastLogits(model, ids, { adapter }), theirs)).toBeLessThan(1e-4);
    expect(largestDifference(await lastLogits(model, ids), theirs)).toBeGreaterThan(1);
  });

  it('gives them merged, too', async () => {
    const merged = path.join(temporaryDirectory(), 'merged');
    const { changedMatrices } = await mergeAdapter(
      model,
      openAdapter(adapter, readDecoderConfig(model)),
      merged,
      'float32',
    );
    expect(changedMatrices).toBe(openAdapter(adapter, readDecoderConfig(model)).modules.size);
    expect(largestDifference(await lastLogits(merged, ids), theirs)).toBeLessThan(1e-4);
  });

  it('gives them when it is chosen among several, and leaves the others and the base alone', async () => {
    const plain = path.join(model, 'adapter-after-12-steps');
    const adapters = [plain, adapter];
    const chosen = (index?: number) =>
      lastLogits(model, ids, { adapters, ...(index !== undefined && { chosen: index }) });
    expect(largestDifference(await chosen(1), theirs)).toBeLessThan(1e-4);
    expect(largestDifference(await chosen(0), await lastLogits(model, ids, { adapter: plain }))).toBeLessThan(
      1e-5,
    );
    expect(largestDifference(await chosen(), await lastLogits(model, ids))).toBeLessThan(1e-5);
  });
});

it('DoRA over quantised weights scales the rows that it was trained with', async () => {
  const { model: base, last_logits: theirs } = reference.dora!;
  const model = path.join(temporaryDirectory(), 'model');
  // The quantised weights are kept beside the model.
  cpSync(referenceDirectory(base), model, { recursive: true });
  const ids = readReference(base).prompt_ids;
  const adapter = path.join(fixtures, 'dora');
  const [adapted, plain] = [
    await lastLogits(model, ids, { adapter, quantization: 'int8' }),
    await lastLogits(model, ids, { quantization: 'int8' }),
  ];
  expect(largestDifference(adapted, theirs)).toBeLessThan(0.1 * largestDifference(plain, theirs));
  const swapped = await lastLogits(model, ids, { adapters: [adapter], chosen: 0, quantization: 'int8' });
  expect(largestDifference(swapped, theirs)).toBeLessThan(0.1 * largestDifference(plain, theirs));
});
