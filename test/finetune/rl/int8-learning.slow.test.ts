import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packageRoot } from '../../../src/base/package.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';
import { hasInt8 } from '../engine/int8.js';
import { learned, tinyConfig } from './tiny-learning.js';

/** Uses a copy of the embedded model, because the codes of its weights are stored next to it. */
function written(compute: 'float32' | 'int8', more: object = {}) {
  const folder = temporaryDirectory();
  cpSync(join(packageRoot(), 'models/tiny-improver'), join(folder, 'improver'), { recursive: true });
  const config = {
    model: './improver',
    method: { kind: 'lora', rank: 4, compute },
    learningRate: 1e-3,
    environment: 'bandit',
    updates: 3,
    groups: 2,
    groupSize: 8,
    agent: { maxTokens: 8 },
    checkpointEvery: 1,
    evaluation: { every: 100, episodes: 8 },
    ...more,
  };
  return { folder, config };
}

describe.skipIf(!hasInt8)('reinforcement learning with int8 products', () => {
  it('samples with the arithmetic that it trains with, close to but different from float32', async () => {
    const [exact, rounded] = [written('float32'), written('int8')];
    const inFloat = await learned(tinyConfig(exact.config, exact.folder));
    const inInt8 = await learned(tinyConfig(rounded.config, rounded.folder));
    for (const { largestMismatch, mismatch } of inInt8.steps) {
      expect(mismatch).toBeLessThan(1e-3);
      expect(largestMismatch).toBeLessThan(0.3);
    }
    expect(inInt8.steps[0]!.entropy).not.toBe(inFloat.steps[0]!.entropy);
    expect(inInt8.steps[0]!.entropy).toBeCloseTo(inFloat.steps[0]!.entropy, 1);
  });
});
