import { expect, it } from 'vitest';
import { machineMemory } from '../../src/base/machine-memory.js';

it('machineMemory returns plausible total and free memory', () => {
  const { total, free } = machineMemory();
  expect(total).toBeGreaterThan(2 ** 28);
  expect(free).toBeGreaterThan(0);
  expect(free).toBeLessThanOrEqual(total);
});
