import { cpSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { afterEach, expect, test, vi } from 'vitest';
import { createGenerator } from '../../../src/base/random/generator.js';
import { ort } from '../../../src/models/local/engine/onnx-runtime.js';
import { readDecoderConfig } from '../../../src/models/local/families/hf-config.js';
import { GraphBuilder } from '../../../src/models/local/graph/graph.js';
import { packWeights } from '../../../src/models/local/graph/packed-parameters.js';
import { openWeights } from '../../../src/models/local/weights/gguf-tensors.js';
import { quantizeRows, toFloat32 } from '../../../src/models/local/weights/quantization.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';
import { referenceDirectory } from './fixture.js';

afterEach(() => vi.unstubAllEnvs());

function copyModel(name: string): string {
  const directory = temporaryDirectory();
  // What another test has quantised beside it stays there.
  const filter = (file: string) => path.basename(file) !== '.policyloop';
  cpSync(referenceDirectory(name), directory, { recursive: true, filter });
  return directory;
}

/** The matrix that codes and scales represent. */
function dequantize(
  { codes, scales }: ReturnType<typeof quantizeRows>,
  columns: number,
  bits: 4 | 8,
): Float32Array {
  const blocks = Math.ceil(columns / 32);
  const rows = scales.length / blocks;
  return Float32Array.from({ length: rows * columns }, (_, i) => {
    const [row, column] = [Math.floor(i / columns), i % columns];
    const block = row * blocks + Math.floor(column / 32);
    const within = column % 32;
    const code =
      bits === 8
        ? codes[block * 32 + within]!
        : (codes[block * 16 + (within >> 1)]! >> (4 * (within & 1))) & 15;
    return (code - 2 ** (bits - 1)) * scales[block]!;
  });
}

/** The definition of a block's codes, step by step. */
function codesOf(block: readonly number[], middle: number): { levels: number[]; scale: number } {
  const largest = Math.max(...block.map(Math.abs));
  const extreme = block.find((weight) => Math.abs(weight) === largest)!;
  if (extreme === 0) return { levels: block.map(() => 0), scale: 0 };
  const levels = block.map((weight) => Math.min(Math.round(weight / (-extreme / middle)), middle - 1));
  const product = block.reduce((sum, weight, i) => sum + weight * levels[i]!, 0);
  const square = levels.reduce((sum, level) => sum + level * level, 0);
  return { levels, scale: Math.fround(product / square) };
}

test.each([4, 8] as const)('%i-bit codes equal their definition, including rounding of halves', (bits) => {
  const weight = fc.oneof(
    fc.integer({ min: -256, max: 256 }).map((step) => step / 32),
    fc.float({ min: -2, max: 2, noNaN: true }),
    fc.constantFrom(0, 1e-45, -1e-40, 3e38).map(Math.fround),
  );
  fc.assert(
    fc.property(fc.array(weight, { minLength: 1, maxLength: 70 }), (numbers) => {
      const quantized = quantizeRows(Float32Array.from(numbers), numbers.length, { bits, block: 32 });
      const middle = 2 ** (bits - 1);
      const stored =
        bits === 8 ? [...quantized.codes] : [...quantized.codes].flatMap((b) => [b & 15, b >> 4]);
      const blocks = Array.from({ length: quantized.scales.length }, (_, b) =>
        numbers.slice(32 * b, 32 * b + 32),
      );
      const wanted = blocks.map((block) => codesOf(block, middle));
      expect([...quantized.scales]).toEqual(wanted.map(({ scale }) => scale));
      const padded = wanted.flatMap(({ levels }) => [
        ...levels,
        ...new Array<number>(32 - levels.length).fill(0),
      ]);
      expect(stored).toEqual(padded.map((level) => level + middle));
    }),
  );
});

test.each([4, 8] as const)('the runtime multiplies by %i-bit codes as they are defined', async (bits) => {
  const random = createGenerator(2);
  const [rows, columns] = [6, 64];
  const weights = Float32Array.from({ length: rows * columns }, () => random.normal());
  const quantized = quantizeRows(weights, columns, { bits, block: 32 });
  const g = new GraphBuilder();
  const inputs = [
    g.input('x', 'float32', [1, columns]),
    g.input('codes', 'uint8', [rows, columns / 32, 4 * bits]),
    g.input('scales', 'float32', [rows, columns / 32]),
  ];
  const attributes = { K: columns, N: rows, bits, block_size: 32, accuracy_level: 4 };
  g.output('y', g.addNode('MatMulNBits', inputs, 1, attributes, 'com.microsoft')[0]!, 'float32', [1, rows]);
  const session = await ort.InferenceSession.create(g.build('product').model);
  const x = Float32Array.from({ length: columns }, () => random.normal());
  const { y } = await session.run({
    x: new ort.Tensor('float32', x, [1, columns]),
    codes: new ort.Tensor('uint8', quantized.codes, [rows, columns / 32, 4 * bits]),
    scales: new ort.Tensor('float32', quantized.scales, [rows, columns / 32]),
  });
  const matrix = dequantize(quantized, columns, bits);
  for (let row = 0; row < rows; row++) {
    const expected = x.reduce((sum, value, i) => sum + value * matrix[row * columns + i]!, 0);
    // Activations are rounded to 8 bits within the product.
    expect(Math.abs((y!.data[row] as number) - expected)).toBeLessThan(0.2);
  }
  await session.release();
});

test('stored F16 and BF16 numbers decode to the right floats', () => {
  const values = [0, 1, -2.5, 0.000061035, 65504, -0.15625];
  const half = Buffer.from(Uint16Array.of(0, 0x3c00, 0xc100, 0x0400, 0x7bff, 0xb100).buffer);
  expect([...toFloat32(half, 'F16')]).toEqual(values.map((value) => expect.closeTo(value, 8)));
  expect([...toFloat32(Buffer.from(Uint16Array.of(0x3fc0, 0xc000).buffer), 'BF16')]).toEqual([1.5, -2]);
});

test('every float16 decodes to its IEEE 754 value', () => {
  const halves = Uint16Array.from({ length: 1 << 16 }, (_, half) => half);
  const floats = toFloat32(Buffer.from(halves.buffer), 'F16');
  for (const [half, found] of floats.entries()) {
    const [sign, exponent, fraction] = [half >> 15 ? -1 : 1, (half >> 10) & 31, half & 1023];
    const special = fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
    const normal = sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
    const value = exponent === 31 ? special : exponent === 0 ? sign * fraction * 2 ** -24 : normal;
    if (!Object.is(found, value)) expect.fail(`${half}: ${found} instead of ${value}`);
  }
});

test('weights are quantised only once, even if the modification time of the model changes', () => {
  const directory = copyModel('qwen3-fp32');
  const config = readDecoderConfig(directory);
  const first = packWeights(directory, config, openWeights(directory), 'int4')!;
  const made = statSync(first.file).mtimeMs;
  expect(packWeights(directory, config, openWeights(directory), 'int4')!).toEqual(first);
  // Another time alone makes no other weights; what does is tested with the damaged files.
  utimesSync(path.join(directory, 'model.safetensors'), 1, 1);
  expect(packWeights(directory, config, openWeights(directory), 'int4')!.file).toBe(first.file);
  expect(statSync(first.file).mtimeMs).toBe(made);
  expect(readdirSync(path.dirname(first.file)).filter((name) => name.endsWith('.tmp'))).toEqual([]);
});

test("quantised weights go to the home directory if the model directory can't hold them", () => {
  const directory = copyModel('qwen3-fp32');
  const home = temporaryDirectory();
  vi.stubEnv('HOME', home);
  vi.stubEnv('USERPROFILE', home);
  writeFileSync(path.join(directory, '.policyloop'), 'a file in the way');
  const { file } = packWeights(directory, readDecoderConfig(directory), openWeights(directory), 'int8')!;
  expect(path.dirname(file)).toBe(path.join(home, '.cache', 'policyloop'));
});
