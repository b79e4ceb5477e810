/** What tells the directory of a training: that of `finetune train` and `finetune rl`. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** Names in the directory of a training. */
export const trainingFiles = {
  /** Lineage, settings, state; its result has a copy. */
  about: 'training.json',
  metrics: 'metrics.jsonl',
  checkpoint: 'checkpoint.safetensors',
  eventFiles: 'tensorboard',
  page: 'index.html',
  lock: 'training.lock',
} as const;

/** Where trainings lie unless their configs say otherwise. */
export const trainingsFolder = 'tuned';

/** Files that tell the result of a training from its directory. */
const resultFiles = ['adapter_config.json', 'config.json', 'policy.json'];

/** Whether it is the directory of a training, rather than of its result or of something else. */
export function isTraining(path: string): boolean {
  const has = (name: string) => existsSync(join(path, name));
  if (resultFiles.some(has)) return false;
  return has(trainingFiles.about) || (has(trainingFiles.metrics) && has(trainingFiles.checkpoint));
}
