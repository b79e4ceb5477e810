/** Configs of supervised trainings small enough for tests. */
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
