/** Adapters as PEFT saved them (test/fixtures/adapters/make.py), and the logits that PEFT computed with them. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
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

  it("gives PEFT's logits", async () => {
    expect(largestDifference(await lastLogits(model, ids, { adapter }), theirs)).toBeLessThan(1e-4);
    expect(largestDifference(await lastLogits(model, ids), theirs)).toBeGreaterThan(1);
  });

  it("gives PEFT's logits even after merging", async () => {
    const merged = path.join(temporaryDirectory(), 'merged');
    const { changedMatrices } = await mergeAdapter(
      model,
      openAdapter(adapter, readDecoderConfig(model)),
      merged,
      'f32',
    );
    expect(changedMatrices).toBe(openAdapter(adapter, readDecoderConfig(model)).modules.size);
    expect(largestDifference(await lastLogits(merged, ids), theirs)).toBeLessThan(1e-4);
  });
});
