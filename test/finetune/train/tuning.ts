/** Configs for supervised training that are small enough for tests. */
import type { TrainingHooks } from '../../../finetune/train/loop.js';
import { fineTune } from '../../../finetune/train/supervised.js';
import { type TrainConfig, trainConfigSchema } from '../../../finetune/train/train-config.js';
import { referenceDirectory } from '../../models/local/fixture.js';

export function tuning(written: object): TrainConfig {
  const config = trainConfigSchema.parse({
    model: referenceDirectory('qwen2-tied-bf16-sharded'),
    dataset: 'unused',
    seed: 4,
    batchExamples: 4,
    learningRate: 0.01,
    schedule: 'constant',
    warmupSteps: 0,
    samples: 0,
    threads: 1,
    ...written,
  });
  return { ...config, output: config.output! };
}

/** Two epochs over eight examples, for which a checkpoint is written after each of four steps. */
export const tuneBriefly = (written: object, hooks: TrainingHooks = {}) =>
  fineTune(tuning({ epochs: 2, checkpointEvery: 1, ...written }), eightExamples, hooks);

const eightExamples = {
  training: Array.from({ length: 8 }, (_, i) => ({
    messages: [{ role: 'user' as const, content: `f(params): ${i}. Propose.` }],
    completion: `params[0]: ${i}.5`,
    weight: 1,
  })),
  validation: [],
};
