import { cpSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { type FineTuning, fineTune } from '../../../finetune/train/sft.js';
import { referenceDirectory } from '../../models/local/fixture.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';
import { hasInt8 } from '../engine/int8.js';

/** Holds a copy of the model: the codes are kept beside it. */
function workplace(): string {
  const folder = temporaryDirectory();
  cpSync(referenceDirectory('qwen3-fp32'), path.join(folder, 'model'), { recursive: true });
  return folder;
}

function job(folder: string, output: string, compute: 'float32' | 'int8'): FineTuning {
  const lora = { rank: 4, alpha: 8, dropout: 0, rankStabilized: false, modules: ['q_proj'] } as const;
  return {
    model: path.join(folder, 'model'),
    method: { kind: 'lora', lora, compute },
    training: Array.from({ length: 8 }, (_, i) => ({
      messages: [{ role: 'user', content: `f(params): ${i}. Propose.` }],
      completion: `params[0]: ${i}.5`,
      weight: 1,
    })),
    validation: [],
    settings: {
      seed: 4,
      epochs: 2,
      batchExamples: 4,
      batchTokens: 256,
      packing: 'rows',
      learningRate: 0.01,
      schedule: 'constant',
      warmupSteps: 0,
      learningRateFloor: 0,
      adamw: { betas: [0.9, 0.999], epsilon: 1e-8, weightDecay: 0.01 },
      maxGradientNorm: 1,
      evaluateEvery: 10,
      patience: undefined,
      checkpointEvery: 1,
    },
    template: {},
    output: path.join(folder, output),
    device: 'cpu',
    threads: 1,
  };
}

const stopAfter = (steps: number) => {
  let made = 0;
  return { stop: () => ++made >= steps };
};

describe.skipIf(!hasInt8)('training with int8 products', () => {
  it('resumes from a checkpoint bit for bit', async () => {
    const folder = workplace();
    const whole = await fineTune(job(folder, 'whole', 'int8'));
    await fineTune(job(folder, 'cut', 'int8'), stopAfter(2));
    const resumed = await fineTune(job(folder, 'cut', 'int8'));
    expect(resumed.step).toBe(whole.step);
    expect(resumed.parameters).toEqual(whole.parameters);
  });

  it('ends close to float32 training, which refuses to resume from its checkpoint', async () => {
    const folder = workplace();
    const exact = await fineTune(job(folder, 'exact', 'float32'));
    const rounded = await fineTune(job(folder, 'rounded', 'int8'));
    const flat = (outcome: typeof exact) => outcome.parameters.flatMap(({ values }) => [...values]);
    const [a, b] = [flat(exact), flat(rounded)];
    const norm = (values: readonly number[]) => Math.hypot(...values);
    const distance = norm(a.map((value, i) => value - b[i]!)) / norm(a);
    expect(distance).toBeGreaterThan(0);
    expect(distance).toBeLessThan(0.3);
    await fineTune(job(folder, 'mixed', 'int8'), stopAfter(1));
    await expect(fineTune(job(folder, 'mixed', 'float32'))).rejects.toThrow(
      /a training run with different settings/,
    );
  });
});
