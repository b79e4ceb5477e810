/** Adapters as PEFT saved them (test/fixtures/adapters/make.py), and the logits that PEFT computed with them. */
import { cpSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { writeGguf } from '../../../../finetune/export/gguf/gguf.js';
import { mergeAdapter } from '../../../../finetune/export/merged/merge.js';
import { readDecoderConfig } from '../../../../src/models/local/families/hf-config.js';
import { openAdapter } from '../../../../src/models/local/graph/adapter.js';
import { largestDifference } from '../../../finetune/reference-training.js';
import { lastLogits } from '../../../support/last-logits.js';
import { temporaryDirectory } from '../../../support/temporary-directory.js';
import { readReference, referenceDirectory } from '../fixture.js';

const fixtures = fileURLToPath(new URL('../../../fixtures/adapters/', import.meta.url));
const reference = JSON.parse(readFileSync(path.join(fixtures, 'reference.json'), 'utf8')) as Record<
  string,
  { readonly model: string; readonly last_logits: readonly number[] }
>;

describe.each(Object.entries(reference))('%s', (name, { model: base, last_logits: theirs }) => {
  const model = referenceDirectory(base);
  const ids = readReference(base).prompt_ids;
  const adapter = path.join(fixtures, name);

  it('gives PEFT’s logits', async () => {
    expect(largestDifference(await lastLogits(model, ids, { adapter }), theirs)).toBeLessThan(1e-4);
    expect(largestDifference(await lastLogits(model, ids), theirs)).toBeGreaterThan(1);
  });

  it('gives PEFT’s logits after merging, too', async () => {
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
});

it('DoRA over int8 weights gives logits close to PEFT’s', async () => {
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
});

describe('DoRA on a GGUF file', () => {
  const { model: base } = reference['dora-patterns']!;
  const adapter = path.join(fixtures, 'dora-patterns');
  const written = async (type: 'F32' | 'Q8_0') => {
    const file = path.join(temporaryDirectory(), `${type}.gguf`);
    await writeGguf(referenceDirectory(base), undefined, file, type);
    return file;
  };

  it('scales the right rows, although the file orders them differently', async () => {
    const ids = readReference(base).prompt_ids;
    const expected = await lastLogits(referenceDirectory(base), ids, { adapter });
    const found = await lastLogits(await written('F32'), ids, { adapter });
    expect(largestDifference(found, expected)).toBeLessThan(1e-4);
  });

  it('is refused with quantised blocks', async () => {
    const ids = readReference(base).prompt_ids;
    await expect(lastLogits(await written('Q8_0'), ids, { adapter })).rejects.toThrow(
      /DoRA needs unquantised weights, but .* has Q8_0 blocks/,
    );
  });
});
