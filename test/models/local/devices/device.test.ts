import { expect, test } from 'vitest';
import { chooseDevice, usableDevices } from '../../../../src/models/local/engine/device.js';

const usable = await usableDevices();

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
