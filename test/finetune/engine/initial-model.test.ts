import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { drawWeights, initializerRange } from '../../../finetune/engine/first-values.js';
import { readDecoderConfig } from '../../../src/models/local/families/hf-config.js';
import { referenceDirectory } from '../../models/local/fixture.js';
import { familyDirectory } from '../../models/local/reference-families.js';
import { temporaryDirectory } from '../../support/experiments.js';

const place = temporaryDirectory();

const outputs = /\.(o_proj|down_proj|c_proj|output_linear|out_proj|w2)\.weight$/;

it.each([
  ['qwen2', referenceDirectory('qwen2-tied-bf16-sharded')],
  ['gpt2', familyDirectory('gpt2')],
  ['granite4', familyDirectory('granite4')],
])(
  'random %s matrices have the given standard deviation, reduced for outputs to the residual stream',
  (_, directory) => {
    const config = readDecoderConfig(directory);
    const model = drawWeights(config, 0.05, 3);
    const deviations = model
      .filter(({ shape }) => shape.length === 2)
      .map(({ name, values }) => ({
        expected: outputs.test(name) ? 0.05 / Math.sqrt(2 * config.layers.length) : 0.05,
        found: Math.sqrt(
          Float64Array.from(values).reduce((sum, value) => sum + value ** 2, 0) / values.length,
        ),
        // Four standard errors of a standard deviation.
        tolerance: 4 / Math.sqrt(2 * values.length),
      }));
    for (const { expected, found, tolerance } of deviations)
      expect(Math.abs(found / expected - 1)).toBeLessThan(tolerance);
    for (const { name, shape, values } of model)
      if (shape.length === 1)
        expect(
          values.every((value) => value === (name.endsWith('.bias') ? 0 : 1)),
          name,
        ).toBe(true);
    expect(drawWeights(config, 0.05, 3)).toEqual(model);
    expect(drawWeights(config, 0.05, 4)).not.toEqual(model);
  },
);

it('the initial standard deviation is read from config.json', () => {
  const write = (content: object) => writeFileSync(join(place, 'config.json'), JSON.stringify(content));
  write({ initializer_range: 0.05 });
  expect(initializerRange(place)).toBe(0.05);
  write({});
  expect(initializerRange(place)).toBe(0.02);
  write({ initializer_range: -1 });
  expect(() => initializerRange(place)).toThrow(/config\.json: initializer_range/);
});
