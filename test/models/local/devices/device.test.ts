import process from 'node:process';
import { expect, test } from 'vitest';
import { chooseDevice, surveyDevices, unusableDevice } from '../../../../src/models/local/engine/device.js';

const { usable } = await surveyDevices();

test('the CPU is usable, and `auto` chooses a usable device', async () => {
  expect(usable).toContain('cpu');
  expect(await chooseDevice('cpu')).toBe('cpu');
  expect(usable).toContain(await chooseDevice('auto'));
});

test.each((['cuda', 'webgpu', 'dml', 'coreml'] as const).filter((device) => !usable.includes(device)))(
  'the device %s is rejected if unavailable, with the available devices and a hint',
  async (device) => {
    await expect(chooseDevice(device)).rejects.toThrow(
      new RegExp(`model\\.device.*\\n  hint: .+\\n.*"${device}"\\n.*cpu`),
    );
  },
);

test("the reason why a device is unusable does not quote the runtime's source code", async () => {
  const { unusable: others } = await surveyDevices();
  for (const { reason } of others) expect(reason).not.toMatch(/onnxruntime_src|0x|::/);
  const thrown = new Error(
    '/src/webgpu_context.cc:136 f() x was false. Failed to get a WebGPU adapter: No supported adapters',
  );
  expect(unusableDevice('webgpu', thrown).reason).toMatch(/^no graphics card with a .* driver was found$/);
  expect(unusableDevice('webgpu', new Error('device lost\nstack')).reason).toBe('device lost');
  expect(unusableDevice('dml').reason).toBe(
    `the runtime for ${process.platform} ${process.arch} doesn't include dml`,
  );
  // Installing a driver wouldn't add a device to the runtime.
  expect(unusableDevice('cuda').hint).toMatch(/^use auto/);
  expect(unusableDevice('cuda', new Error('no driver')).hint).toMatch(/^install an NVIDIA driver/);
});
