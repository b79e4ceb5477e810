import { cpSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { emitGradients } from '../../../finetune/engine/autodiff.js';
import { makeBatch, type TokenExample } from '../../../finetune/engine/batch.js';
import { initialAdapter, writeAdapter } from '../../../finetune/engine/first-values.js';
import { loadInt8Weights } from '../../../finetune/engine/int8-weights.js';
import { tensorOf, writeSafetensors } from '../../../finetune/engine/safetensors-writer.js';
import { type TrainableSpec, trainedParameters } from '../../../finetune/engine/trainable.js';
import { buildTrainingGraph } from '../../../finetune/engine/training-graph.js';
import { openTrainingSession } from '../../../finetune/engine/training-session.js';
import { sft, sftInputs } from '../../../finetune/train/objectives/supervised.js';
import { singleFamilies } from '../../../finetune/train/packing.js';
import { fineTune } from '../../../finetune/train/supervised.js';
import { createGenerator } from '../../../src/base/random/generator.js';
import { cacheShape, KeyValueCache } from '../../../src/models/local/engine/key-value-cache.js';
import { ort } from '../../../src/models/local/engine/onnx-runtime.js';
import { openSession } from '../../../src/models/local/engine/runtime.js';
import { readDecoderConfig } from '../../../src/models/local/families/hf-config.js';
import { buildGraph } from '../../../src/models/local/generation/engine.js';
import { type BuiltGraph, GraphBuilder } from '../../../src/models/local/graph/graph.js';
import { packWeights } from '../../../src/models/local/graph/packed-parameters.js';
import type { PackedWeights } from '../../../src/models/local/graph/packed-weights.js';
import { openWeights } from '../../../src/models/local/weights/gguf-tensors.js';
import { toFloat32 } from '../../../src/models/local/weights/quantization.js';
import {
  readSafetensors,
  readTensorBytes,
  type StoredTensor,
} from '../../../src/models/local/weights/safetensors.js';
import { referenceDirectory } from '../../models/local/fixture.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';
import {
  adapterValues,
  largestDifference,
  readReferenceTraining,
  relativeDistance,
  values,
} from '../reference-training.js';
import { tuning } from '../train/tuning.js';
import { exactProducts, lora, someAdapter } from './exact-products.js';
import { hasInt8 } from './int8.js';

const folder = temporaryDirectory();

/** The values [rows, columns] that codes [rows, blocks·block·bits/8] and scales [rows, blocks] represent. */
function dequantize(
  codes: Uint8Array,
  scales: Float32Array,
  rows: number,
  columns: number,
  { bits, block }: { readonly bits: number; readonly block: number },
) {
  const blocks = Math.ceil(columns / block);
  const result = new Float32Array(rows * columns);
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++) {
      const place = row * blocks * block + column;
      const code = bits === 8 ? codes[place]! : (codes[place >> 1]! >> (4 * (place & 1))) & 15;
      result[row * columns + column] =
        (code - 2 ** (bits - 1)) * scales[row * blocks + Math.floor(column / block)]!;
    }
  return result;
}

describe('the gradient of a product with quantised weights', () => {
  /** The last matrix is dequantised in several parts. */
  test.each([
    [4, 6, 64],
    [4, 5, 80],
    [8, 6, 96],
    [8, 7, 40],
    [4, 540_000, 32],
  ] as const)('is the same as with dequantised weights: %i bits, %i × %i', async (bits, rows, columns) => {
    const random = createGenerator(bits + columns);
    const blocks = Math.ceil(columns / 32);
    const codesShape = [rows, blocks, 4 * bits];
    // Any bytes are valid codes.
    const codes = Uint8Array.from({ length: rows * blocks * 4 * bits }, (_, i) => Math.imul(i, 40_503) >>> 5);
    const scales = Float32Array.from({ length: rows * blocks }, (_, i) => 0.1 + ((i * 7) % 13) / 100);
    const g = new GraphBuilder();
    const inputs = [
      g.input('x', 'float32', ['N', columns]),
      g.input('codes', 'uint8', codesShape),
      g.input('scales', 'float32', [rows, blocks]),
    ];
    const attributes = { K: columns, N: rows, bits, block_size: 32, accuracy_level: 4 };
    const product = g.addNode('MatMulNBits', inputs, 1, attributes, 'com.microsoft')[0]!;
    const weighted = g.op('Mul', [product, g.input('dy', 'float32', ['N', rows])]);
    const loss = g.op('ReduceSum', [weighted], { keepdims: 0 });
    g.output('dx', emitGradients(g, loss, ['x'], 'float32').get('x')!, 'float32', ['N', columns]);
    const session = await ort.InferenceSession.create(g.build('product').model);
    const n = rows > 1000 ? 1 : 2;
    const normal = (length: number) => Float32Array.from({ length }, () => random.normal());
    const dy = normal(n * rows);
    const { dx } = await session.run({
      x: new ort.Tensor('float32', normal(n * columns), [n, columns]),
      dy: new ort.Tensor('float32', dy, [n, rows]),
      codes: new ort.Tensor('uint8', codes, codesShape),
      scales: new ort.Tensor('float32', scales, [rows, blocks]),
    });
    await session.release();
    const matrix = dequantize(codes, scales, rows, columns, { bits, block: 32 });
    const expected = new Float64Array(n * columns);
    for (let i = 0; i < n; i++)
      for (let row = 0; row < rows; row++)
        for (let column = 0; column < columns; column++)
          expected[i * columns + column]! += dy[i * rows + row]! * matrix[row * columns + column]!;
    expect(relativeDistance(dx!.data as Float32Array, expected)).toBeLessThan(1e-5);
  });
});

function copyModel(name: string): string {
  const directory = path.join(folder, name);
  cpSync(referenceDirectory(name), directory, { recursive: true });
  return directory;
}

/** Returns the stored weights, with the dequantised values of the quantised matrices. */
function dequantizedBase(directory: string, { matrices, format }: PackedWeights) {
  const weights = new Map(openWeights(directory));
  const read = (tensor: StoredTensor) => readTensorBytes(tensor);
  const dense = [...weights.values()]
    .filter(({ name }) => matrices.has(name))
    .map(({ name, shape }) => {
      const packed = matrices.get(name)!;
      const scales = toFloat32(read(packed.scales), 'F32');
      const [rows, columns] = shape as [number, number];
      const codes = read(packed.codes);
      return tensorOf({ name, shape }, dequantize(codes, scales, rows, columns, packed));
    });
  const file = path.join(folder, `dequantized-${format}.safetensors`);
  writeSafetensors(file, dense);
  for (const tensor of readSafetensors(file).tensors) weights.set(tensor.name, tensor);
  return weights;
}

describe.each(['int4', 'int8', 'int4-block128'] as const)('a base model in %s', (quantization) => {
  // The head is untied, so that the dense graph can have a quantised head without a quantised embedding.
  const directory = copyModel('llama-untied-fp32');
  const config = readDecoderConfig(directory);
  const quantized = packWeights(directory, config, openWeights(directory), quantization)!;
  const { examples } = readReferenceTraining('llama-untied-fp32');
  const batch = makeBatch(singleFamilies(examples), sftInputs(examples));
  const step = async (base: TrainableSpec, change: (built: BuiltGraph) => BuiltGraph = (built) => built) => {
    const graph = buildTrainingGraph({
      config,
      trainable: base,
      objective: sft,
      precision: 'float32',
      purpose: 'train',
    });
    const session = await openTrainingSession(change(graph), { device: 'cpu', threads: 1, optimize: true });
    const result = await session.run(someAdapter(trainedParameters(config, base), 0.1), batch, 0);
    await session.close();
    return result;
  };
  const trainable: TrainableSpec = { kind: 'adapter', lora, base: openWeights(directory), quantized };

  it('has the loss and gradients of its dequantised weights if activations are not rounded', async () => {
    const dense = await step({ kind: 'adapter', lora, base: dequantizedBase(directory, quantized) });
    const exact = await step(trainable, exactProducts);
    expect(Math.abs(exact.loss - dense.loss)).toBeLessThan(1e-5);
    const errors = (of: typeof exact) =>
      [...of.gradients].map(([name, gradient]) => relativeDistance(gradient, dense.gradients.get(name)!));
    expect(exact.gradients.size).toBe(dense.gradients.size);
    expect(Math.max(...errors(exact))).toBeLessThan(1e-4);
    // In training, each product rounds activations to 8 bits, as in serving.
    const rounded = await step(trainable);
    expect(Math.abs(rounded.loss - dense.loss)).toBeLessThan(0.02);
    expect(Math.max(...errors(rounded))).toBeLessThan(0.15);
  });

  it.skipIf(!hasInt8)('gives a similar loss and similar gradients with int8 products', async () => {
    const exact = await step(trainable, exactProducts);
    const weights = loadInt8Weights(directory, config, openWeights(directory), quantized);
    const rounded = await step({ ...trainable, int8: weights });
    const errors = [...rounded.gradients].map(([name, gradient]) =>
      relativeDistance(gradient, exact.gradients.get(name)!),
    );
    expect(Math.abs(rounded.loss - exact.loss)).toBeLessThan(0.02);
    expect(Math.max(...errors)).toBeLessThan(0.15);
    // The difference shows that these really are int8 products.
    expect(Math.max(...errors)).toBeGreaterThan(1e-3);
  });

  it('has the same log-probabilities in serving as in training', async () => {
    const [example] = examples as [TokenExample];
    const one = makeBatch(singleFamilies([example]), ({ weight }) => ({ weights: weight }));
    const parameters = someAdapter(trainedParameters(config, trainable), 0.1);
    const graph = buildTrainingGraph({
      config,
      trainable,
      objective: sft,
      precision: 'float32',
      purpose: 'evaluate',
    });
    const training = await openTrainingSession(graph, { device: 'cpu', threads: 1, optimize: true });
    const { logp } = await training.run(parameters, one, 0);
    const expected = Float32Array.from(logp);
    await training.close();
    const adapter = path.join(folder, `adapter-${quantization}`);
    writeAdapter(adapter, parameters, lora, directory);
    const served = buildGraph({ path: directory, adapter, quantization }, config, openWeights(directory));
    const session = await openSession(served, config, { device: 'cpu', threads: 1 });
    const shape = cacheShape(config);
    const { logits } = await session.forward({
      ids: one.input_ids!.values as Int32Array,
      rows: 1,
      position: 0,
      promptCache: new KeyValueCache(shape),
      ownCache: new KeyValueCache(shape),
      logitIndices: [...one.selected!.values],
    });
    const found = [...one.targets!.values].map((target, row) => {
      const own = logits.slice(row * config.vocabulary, (row + 1) * config.vocabulary);
      const highest = own.reduce((a, b) => Math.max(a, b));
      return own[target]! - highest - Math.log(own.reduce((sum, x) => sum + Math.exp(x - highest), 0));
    });
    await session.close();
    // Where products of 8-bit numbers are not exact, the runtime rounds activations for some shapes and not for others.
    expect(largestDifference(found, expected)).toBeLessThan(hasInt8 ? 1e-3 : 0.05);
  });
});

test.each(['int4', 'int8'] as const)(
  'training over %s weights lowers the loss and changes only the adapter',
  async (quantization) => {
    const model = path.join(folder, `trained-${quantization}`);
    cpSync(referenceDirectory('qwen2-tied-bf16-sharded'), model, { recursive: true });
    const config = readDecoderConfig(model);
    const frozen = () => {
      const { file } = packWeights(model, config, openWeights(model), quantization)!;
      return [readFileSync(file), values(openWeights(model))];
    };
    const before = frozen();
    const losses: number[] = [];
    const conversations = Array.from({ length: 8 }, (_, i) => ({
      messages: [{ role: 'user' as const, content: `f(params): ${'9'.repeat(1 + (i % 4))}. Propose.` }],
      completion: `params[0]: ${i}.5`,
      weight: 1,
    }));
    const outcome = await fineTune(
      tuning({
        model,
        method: { kind: 'lora', quantization, rank: lora.rank, alpha: lora.alpha, modules: lora.modules },
        epochs: 8,
        batchTokens: 256,
        schedule: 'cosine',
        warmupSteps: 1,
        output: path.join(folder, `out-${quantization}`),
      }),
      { training: conversations, validation: [] },
      { onEvent: (event) => void (event.kind === 'step' && losses.push(event.loss!)) },
    );
    expect(outcome.ended).toBe('complete');
    expect(losses.at(-1)).toBeLessThan(losses[0]! - 0.5);
    expect(frozen()).toEqual(before);
    const trained = adapterValues(outcome.result!);
    const first = initialAdapter(trainedParameters(config, { kind: 'adapter', lora, base: new Map() }), 4);
    expect(first.map(({ name }) => name).sort()).toEqual([...trained.keys()].sort());
    for (const { name, values: start } of first)
      expect(
        start.every((value, i) => value !== trained.get(name)![i]),
        name,
      ).toBe(true);
  },
);
