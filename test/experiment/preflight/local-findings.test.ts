import { expect, test } from 'vitest';
import type { ModelConfig } from '../../../src/config/model.js';
import { deviceFindings, samplingFindings } from '../../../src/experiment/preflight/check-config.js';
import { findDevices } from '../../../src/models/local/engine/find-devices.js';
import { localSchema } from '../../../src/models/local/settings.js';

test('for a local model, a finding names its device and why other devices can’t be used', async () => {
  const { auto, usable, unusable } = await findDevices();
  const [finding] = await deviceFindings(localSchema.parse({ provider: 'local' }));
  expect(finding).toMatchObject({ level: 'ok', field: 'model.device' });
  const text = finding?.message ?? '';
  expect(text.startsWith(auto)).toBe(true);
  for (const device of usable) expect(text).toContain(device);
  for (const { device, reason } of unusable) expect(text).toContain(`${device} can't be used: ${reason}`);
  expect(await deviceFindings(localSchema.parse({ provider: 'local', device: 'cpu' }))).toMatchObject([
    { message: expect.stringMatching(/^cpu/) },
  ]);
});

test('for a local model, a finding lists its sampling settings and where each comes from', () => {
  const config = localSchema.parse({ provider: 'local', format: 'text', topK: 20 });
  expect(samplingFindings(config)).toEqual([
    {
      level: 'ok',
      field: 'model.temperature',
      message:
        "samples with temperature 1 (generation_config.json); top-p 1, min-p 0, repetition penalty 1 (policyloop's default); top-k 20 (the config)",
    },
  ]);
  expect(samplingFindings({ provider: 'random' } as ModelConfig)).toEqual([]);
});

test('for other models, there is no device finding', async () => {
  expect(await deviceFindings({ provider: 'random' } as ModelConfig)).toEqual([]);
});
