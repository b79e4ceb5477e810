/** What tells the directory of a training: that of `finetune train` and `finetune rl`. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { isAbsolute, join, relative } from 'node:path';
import { replaceFile } from '../storage/files.js';

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

/** Notes of trainings whose output lies elsewhere: a file each, so that several can begin at once and none is lost. */
const notesIn = (cwd: string) => join(cwd, trainingsFolder, '.elsewhere');

/** Lets `list` and the view find a training that was begun in `cwd`, wherever its output lies. */
export function noteTraining(cwd: string, output: string): void {
  const inside = relative(join(cwd, trainingsFolder), output);
  if (!inside.startsWith('..') && !isAbsolute(inside)) return;
  const name = createHash('sha256').update(output).digest('hex').slice(0, 16);
  try {
    mkdirSync(notesIn(cwd), { recursive: true });
    replaceFile(join(notesIn(cwd), name), `${output}\n`);
  } catch {
    // Where nothing can be written, a training elsewhere still can.
  }
}

/** The trainings that were begun in `cwd` and lie elsewhere, but for those that are gone. */
export function trainingsElsewhere(cwd: string): readonly string[] {
  const folder = notesIn(cwd);
  if (!existsSync(folder)) return [];
  const outputs = readdirSync(folder)
    .filter((name) => /^[0-9a-f]{16}$/.test(name))
    .map((name) => readFileSync(join(folder, name), 'utf8').trimEnd());
  return outputs.filter((output) => isAbsolute(output) && isTraining(output)).toSorted();
}

/** Files that tell the result of a training from its directory. */
const resultFiles = ['adapter_config.json', 'config.json', 'policy.json'];

/** Whether it is the directory of a training, rather than of its result or of something else. */
export function isTraining(path: string): boolean {
  const has = (name: string) => existsSync(join(path, name));
  if (resultFiles.some(has)) return false;
  return has(trainingFiles.about) || (has(trainingFiles.metrics) && has(trainingFiles.checkpoint));
}
