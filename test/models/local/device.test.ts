import { describe, expect, test } from 'vitest';
import { chooseDevice, usableDevices } from '../../../src/models/local/engine/device.js';
import { loadEngine } from '../../../src/models/local/engine/engine.js';
import { readReference, referenceDirectory, referenceModels } from './fixture.js';

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

// A Vulkan driver in software will do: Mesa's lavapipe, from version 25 on.
describe.skipIf(!usable.includes('webgpu'))(
  'on a GPU through WebGPU (skipped without a Vulkan driver)',
  () => {
    test.each(referenceModels)('%s: greedy ids equal the reference', async (name) => {
      const { messages, greedy_ids } = readReference(name);
      const settings = { path: referenceDirectory(name), threads: 1, contextTokens: undefined, template: {} };
      const engine = await loadEngine({ ...settings, device: 'webgpu', quantization: 'none' });
      try {
        const { answers } = await engine.generate(
          {
            messages,
            seeds: [1, 2],
            maxTokens: 24,
            sampling: { temperature: 0 },
            stop: [],
            logProbabilities: false,
          },
          { aborted: () => false },
        );
        for (const { ids } of answers) expect(ids).toEqual(greedy_ids);
      } finally {
        await engine.close();
      }
    });
  },
);
