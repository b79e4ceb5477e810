/** Directories of training runs (`finetune train` and `finetune rl`). */
import { existsSync } from 'node:fs';
import { join } from 'node:path';

export const trainingFiles = {
  /** Lineage, settings and state; the result contains a copy. */
  about: 'training.json',
  metrics: 'metrics.jsonl',
  /** Sample replies from evaluations. */
  samples: 'samples.jsonl',
  checkpoint: 'checkpoint.safetensors',
  eventFiles: 'tensorboard',
  page: 'index.html',
  lock: 'training.lock',
} as const;

/** Default folder of training runs. */
export const tunedFolder = 'tuned';

/** Files that mark the result of a training run, as opposed to its directory. */
const resultFiles = ['adapter_config.json', 'config.json', 'policy.json'];

export function hasTraining(path: string): boolean {
  const has = (name: string) => existsSync(join(path, name));
  if (resultFiles.some(has)) return false;
  return has(trainingFiles.about) || (has(trainingFiles.metrics) && has(trainingFiles.checkpoint));
}
