import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { architectureMetadata, contextLength } from '../../../finetune/export/gguf/architecture.js';
import { ggufParts, ggufValue } from '../../../finetune/export/gguf/format.js';
import { fileTensors, ggufArchitecture } from '../../../finetune/export/gguf/tensors.js';
import { createRoundingMeter } from '../../../finetune/export/merged/rounding.js';
import { readDecoderConfig } from '../../../src/models/local/families/hf-config.js';
import type { DecoderConfig } from '../../../src/models/local/weights/decoder-config.js';
import { openWeights } from '../../../src/models/local/weights/gguf-tensors.js';
import { familyDirectory, readFamily } from '../../models/local/reference-families.js';
import { lastLogits } from '../../support/last-logits.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';

/** Writes a file without a tokenizer, which the reference models lack. */
function written(name: string, change: Partial<DecoderConfig> = {}): string {
  const directory = familyDirectory(name);
  const config = { ...readDecoderConfig(directory), ...change };
  const file = path.join(temporaryDirectory(), `${name}.gguf`);
  const sources = { model: directory, config, weights: openWeights(directory), changes: new Map() };
  const tensors = fileTensors({ ...sources, type: 'F32', roundingMeter: createRoundingMeter() });
  const metadata = [
    ['general.architecture', ggufValue.string(ggufArchitecture(config))] as const,
    ...architectureMetadata(config, tensors),
  ];
  writeFileSync(file, Buffer.concat([...ggufParts(metadata, tensors)]));
  return file;
}

it.each(['qwen2-yarn', 'smollm3', 'granite', 'ministral3', 'gpt2'])(
  '%s: the exported file gives the same logits as Transformers',
  async (name) => {
    const file = written(name);
    for (const { ids, last_logits } of readFamily(name).prompts) {
      const logits = await lastLogits(file, ids);
      expect(Math.max(...last_logits.map((value, i) => Math.abs(value - logits[i]!)))).toBeLessThan(1e-4);
    }
  },
);

it('exporting phi3 with longrope keeps both lists of factors and the rotary width', () => {
  const [file, directory] = [
    readDecoderConfig(written('phi3-longrope')),
    readDecoderConfig(familyDirectory('phi3-longrope')),
  ];
  const [stored, own] = [file.layers[0]!.rope!, directory.layers[0]!.rope!];
  expect(file.rotaryWidth).toBe(directory.rotaryWidth);
  if (stored.scaling !== 'longrope' || own.scaling !== 'longrope') return expect.unreachable();
  expect(stored.originalContext).toBe(32);
  expect(stored.attentionFactor).toBeCloseTo(own.attentionFactor, 6);
  for (const key of ['shortFactors', 'longFactors'] as const)
    expect(stored[key]).toEqual(own[key].map(Math.fround));
});

describe("a model that llama.cpp or the export doesn't support", () => {
  const layersOf = (name: string) => readDecoderConfig(familyDirectory(name)).layers;
  it.each([
    ['qwen3-yarn', {}, /qwen3 doesn't support these layers'/],
    ['gemma2', {}, /gemma2 doesn't support this value of scoreScale/],
    ['gemma3', { scoreScale: 0.25 }, /gemma3 doesn't support these layers'/],
    [
      'smollm3',
      {
        layers: layersOf('qwen2-yarn').map(() => ({
          rope: { theta: 1, scaling: 'none' } as const,
          window: undefined,
        })),
      },
      /smollm3 doesn't support these layers'/,
    ],
    ['qwen35', {}, /can't be exported to GGUF/],
    ['granite4', {}, /can't be exported to GGUF/],
    ['ministral', {}, /can't be exported to GGUF/],
  ])('is rejected: %s %j', (name, change, message) => {
    expect(() => written(name, change as Partial<DecoderConfig>)).toThrow(message);
  });
});

it("contextLength returns the window size if llama.cpp doesn't support the model's sliding windows", () => {
  expect(contextLength(readDecoderConfig(familyDirectory('phi3-window')))).toBe(8);
});
