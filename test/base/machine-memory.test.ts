import { expect, it } from 'vitest';
import { machineMemory } from '../../src/base/machine-memory.js';

it('knows the memory of the machine', () => {
  const { total, free } = machineMemory();
  expect(total).toBeGreaterThan(2 ** 28);
  expect(free).toBeGreaterThan(0);
  expect(free).toBeLessThanOrEqual(total);
});
