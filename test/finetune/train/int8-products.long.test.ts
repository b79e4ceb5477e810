import { cpSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { TrainingHooks } from '../../../finetune/train/loop.js';
import { referenceDirectory } from '../../models/local/fixture.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';
import { hasInt8 } from '../engine/int8.js';
import { tuneBriefly } from './tuning.js';

/** Makes a directory with a copy of the model, because the codes are stored next to it. */
function workplace(): string {
  const folder = temporaryDirectory();
  cpSync(referenceDirectory('qwen3-fp32'), path.join(folder, 'model'), { recursive: true });
  return folder;
}

const tune = (folder: string, output: string, compute: 'float32' | 'int8', hooks: TrainingHooks = {}) => {
  const method = { kind: 'lora', rank: 4, alpha: 8, modules: ['q_proj'], compute };
  const model = path.join(folder, 'model');
  return tuneBriefly({ model, method, batchTokens: 256, output: path.join(folder, output) }, hooks);
};

const stopAfter = (steps: number) => {
  let made = 0;
  return { stop: () => ++made >= steps };
};

describe.skipIf(!hasInt8)('training with int8 products', () => {
  it('ends close to float32 training, which rejects its checkpoint', async () => {
    const folder = workplace();
    const exact = await tune(folder, 'exact', 'float32');
    const rounded = await tune(folder, 'rounded', 'int8');
    const flat = (outcome: typeof exact) => outcome.parameters.flatMap(({ values }) => [...values]);
    const [a, b] = [flat(exact), flat(rounded)];
    const norm = (values: readonly number[]) => Math.hypot(...values);
    const distance = norm(a.map((value, i) => value - b[i]!)) / norm(a);
    expect(distance).toBeGreaterThan(0);
    expect(distance).toBeLessThan(0.3);
    await tune(folder, 'mixed', 'int8', stopAfter(1));
    await expect(tune(folder, 'mixed', 'float32')).rejects.toThrow(/a training run with different settings/);
  });
});
