import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { chooseDevice, findDevicesHere } from '../../../../src/models/local/engine/device.js';
import { cudaLack, unusable } from '../../../../src/models/local/engine/device-failure.js';
import { temporaryDirectory } from '../../../support/temporary-directory.js';

const { usable } = await findDevicesHere();

test('the processor can always be used, and `auto` finds something usable', async () => {
  expect(usable).toContain('cpu');
  expect(await chooseDevice('cpu')).toBe('cpu');
  expect(usable).toContain(await chooseDevice('auto'));
});

test.each((['cuda', 'webgpu', 'dml', 'coreml'] as const).filter((device) => !usable.includes(device)))(
  '%s, which is not there, is refused with what is and with a remedy',
  async (device) => {
    await expect(chooseDevice(device)).rejects.toThrow(
      new RegExp(`model\\.device[\\s\\S]*"${device}"[\\s\\S]*cpu[\\s\\S]*remedy: .+`),
    );
  },
);

describe.skipIf(process.platform !== 'linux')('what CUDA lacks on Linux is named', () => {
  const driver = fileURLToPath(import.meta.url);
  const libraries = ['shared', 'cuda'].map((name) => `libonnxruntime_providers_${name}.so`);

  test('a library of the runtime, a driver, both', () => {
    const folder = temporaryDirectory();
    expect(cudaLack(folder, [driver])).toBe(`${libraries[0]} is not installed`);
    expect(cudaLack(folder, [path.join(folder, 'none')])).toMatch(/is not installed, and no NVIDIA driver/);
    for (const library of libraries) writeFileSync(path.join(folder, library), '');
    expect(cudaLack(folder, [path.join(folder, 'none')])).toBe('no NVIDIA driver is there');
    // What else the runtime says is told as it says it.
    expect(cudaLack(folder, [driver])).toBeUndefined();
    rmSync(folder, { recursive: true });
  });
});

test('why a device can’t be used is told in words of the system, not of the runtime’s source', async () => {
  const { unusable: others } = await findDevicesHere();
  for (const { reason } of others) expect(reason).not.toMatch(/onnxruntime_src|0x|::/);
  const thrown = new Error(
    '/src/webgpu_context.cc:136 f() x was false. Failed to get a WebGPU adapter: No supported adapters',
  );
  expect(unusable('webgpu', thrown).reason).toMatch(/^no graphics card with a .* driver was found$/);
  expect(unusable('webgpu', new Error('device lost\nstack')).reason).toBe('device lost');
  expect(unusable('dml').reason).toBe(`the runtime for ${process.platform} ${process.arch} has no dml in it`);
});
