import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { argmax } from '../../../../src/models/local/constraint/sampling.js';
import {
  chooseDevice,
  cudaLack,
  findDevicesHere,
  requireFloat16,
  unusable,
} from '../../../../src/models/local/engine/device.js';
import { openSession } from '../../../../src/models/local/engine/runtime.js';
import { readDecoderConfig } from '../../../../src/models/local/families/hf-config.js';
import { buildGraph } from '../../../../src/models/local/generation/engine.js';
import { openWeights } from '../../../../src/models/local/weights/gguf-tensors.js';
import type { Quantization } from '../../../../src/models/local/weights/quantization.js';
import { temporaryDirectory } from '../../../support/temporary-directory.js';
import { readReference, referenceDirectory } from '../fixture.js';

const { usable } = await findDevicesHere();

test('the CPU is always usable, and `auto` chooses a usable device', async () => {
  expect(usable).toContain('cpu');
  expect(await chooseDevice('cpu')).toBe('cpu');
  expect(usable).toContain(await chooseDevice('auto'));
});

test.each((['cuda', 'webgpu', 'dml', 'coreml'] as const).filter((device) => !usable.includes(device)))(
  'an unavailable %s is refused with the available devices and a hint',
  async (device) => {
    await expect(chooseDevice(device)).rejects.toThrow(
      new RegExp(`model\\.device[\\s\\S]*"${device}"[\\s\\S]*cpu[\\s\\S]*hint: .+`),
    );
  },
);

describe.skipIf(process.platform !== 'linux')('cudaLack on Linux', () => {
  const driver = fileURLToPath(import.meta.url);
  const libraries = ['shared', 'cuda'].map((name) => `libonnxruntime_providers_${name}.so`);

  test('names a missing runtime library, a missing driver, or both', () => {
    const folder = temporaryDirectory();
    expect(cudaLack(folder, [driver])).toBe(`${libraries[0]} is not installed`);
    expect(cudaLack(folder, [path.join(folder, 'none')])).toMatch(/is not installed, and no NVIDIA driver/);
    for (const library of libraries) writeFileSync(path.join(folder, library), '');
    expect(cudaLack(folder, [path.join(folder, 'none')])).toBe('no NVIDIA driver was found');
    // What else the runtime says is told as it says it.
    expect(cudaLack(folder, [driver])).toBeUndefined();
    rmSync(folder, { recursive: true });
  });
});

test('the reason why a device is unusable does not quote the runtime’s source code', async () => {
  const { unusable: others } = await findDevicesHere();
  for (const { reason } of others) expect(reason).not.toMatch(/onnxruntime_src|0x|::/);
  const thrown = new Error(
    '/src/webgpu_context.cc:136 f() x was false. Failed to get a WebGPU adapter: No supported adapters',
  );
  expect(unusable('webgpu', thrown).reason).toMatch(/^no graphics card with a .* driver was found$/);
  expect(unusable('webgpu', new Error('device lost\nstack')).reason).toBe('device lost');
  expect(unusable('dml').reason).toBe(
    `the runtime for ${process.platform} ${process.arch} doesn't include dml`,
  );
  // Installing a driver wouldn't add a device to the runtime.
  expect(unusable('cuda').hint).toMatch(/^use auto/);
  expect(unusable('cuda', new Error('no driver')).hint).toMatch(/^install an NVIDIA driver/);
});

test('float16 is refused on the CPU, with int8 and int4 as alternatives', async () => {
  await expect(requireFloat16('cpu')).rejects.toThrow(
    /model\.quantization[\s\S]*cpu can't multiply in float16[\s\S]*int8, int4/,
  );
});

test('float16 matrices leave the most likely token unchanged at every position', async () => {
  const name = 'qwen3-fp32';
  const directory = referenceDirectory(name);
  const config = readDecoderConfig(directory);
  const ids = readReference(name).prompt_ids;
  const logits = async (quantization: Quantization) => {
    const graph = buildGraph({ path: directory, quantization }, config, openWeights(directory));
    const session = await openSession(graph, config, { device: 'cpu', threads: 1 });
    const common = { rows: 1, position: 0, prompt: session.newCache(), own: session.newCache() };
    const output = await session.forward({ ...common, ids, logitsOf: ids.map((_, row) => row) });
    await session.close();
    return output.logits;
  };
  const [exact, halved] = [await logits('none'), await logits('float16')];
  expect(halved).not.toEqual(exact);
  const rows = (all: Float32Array) =>
    ids.map((_, row) => argmax(all.subarray(row * config.vocabulary, (row + 1) * config.vocabulary)));
  expect(rows(halved)).toEqual(rows(exact));
});
