import { Matrix, SingularValueDecomposition } from 'ml-matrix';
import { expect, it } from 'vitest';
import { isMuonMatrix, openMuon } from '../../../finetune/engine/optimisers.js';
import { createGenerator } from '../../../src/base/random/generator.js';

it.each([
  [6, 10],
  [10, 6],
])('a %d × %d Muon step keeps singular vectors and evens out singular values', async (rows, columns) => {
  const random = createGenerator(2);
  const gradient = Float32Array.from({ length: rows * columns }, () => random.normal());
  const values = new Float32Array(rows * columns);
  const muon = await openMuon({ momentum: 0, weightDecay: 0 }, 1);
  const moments = { first: new Float32Array(values.length), second: new Float32Array(values.length) };
  const parameter = { name: 'model.layers.0.mlp.up_proj.weight', shape: [rows, columns], values };
  await muon.step(parameter, gradient, moments, 1, 1);
  await muon.close();
  const svd = new SingularValueDecomposition(Matrix.from1DArray(rows, columns, gradient), {
    autoTranspose: true,
  });
  const step = Matrix.from1DArray(rows, columns, values).mul(-1 / (0.2 * Math.sqrt(10)));
  const turned = svd.leftSingularVectors.transpose().mmul(step).mmul(svd.rightSingularVectors);
  for (let i = 0; i < 6; i++)
    for (let j = 0; j < 6; j++) {
      if (i === j) expect(Math.abs(turned.get(i, j) - 0.95)).toBeLessThan(0.35);
      else expect(Math.abs(turned.get(i, j))).toBeLessThan(1e-4);
    }
});

it('Muon decays the weights and averages the gradients', async () => {
  const muon = await openMuon({ momentum: 0.95, weightDecay: 0.01 }, 1);
  const values = Float32Array.of(1, 0, 0, 1);
  const moments = { first: new Float32Array(4), second: new Float32Array(4) };
  const parameter = { name: 'model.layers.0.mlp.up_proj.weight', shape: [2, 2], values };
  await muon.step(parameter, new Float32Array(4), moments, 0.1, 1);
  expect(values[0]).toBeCloseTo(0.999, 6);
  await muon.step(parameter, Float32Array.of(2, 0, 0, 0), moments, 0.1, 0.5);
  expect(moments.first[0]).toBeCloseTo(0.05, 6);
  await muon.close();
});

it('Muon applies only to the weight matrices of the layers', () => {
  const one = (name: string, shape: number[]) => isMuonMatrix({ name, shape, values: new Float32Array() });
  expect(one('model.layers.1.self_attn.q_proj.weight', [4, 4])).toBe(true);
  expect(one('transformer.h.1.attn.c_attn.weight', [4, 4])).toBe(true);
  expect(one('transformer.wte.weight', [9, 4])).toBe(false);
  expect(one('model.layers.1.input_layernorm.weight', [4])).toBe(false);
  expect(one('model.embed_tokens.weight', [9, 4])).toBe(false);
  expect(one('model.layers.1.self_attn.q_proj.lora_A.weight', [2, 4])).toBe(false);
});
