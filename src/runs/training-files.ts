/** Directories of training runs (`finetune train` and `finetune rl`). */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { isAbsolute, join, relative } from 'node:path';
import { replaceFile } from '../storage/files.js';

export const trainingFiles = {
  /** Lineage, settings and state; the result contains a copy. */
  about: 'training.json',
  metrics: 'metrics.jsonl',
  checkpoint: 'checkpoint.safetensors',
  eventFiles: 'tensorboard',
  page: 'index.html',
  lock: 'training.lock',
} as const;

/** Default folder of training runs. */
export const trainingsFolder = 'tuned';

/** Notes on training runs whose output is elsewhere; one file each, so that concurrent runs don't lose notes. */
const notesIn = (cwd: string) => join(cwd, trainingsFolder, '.elsewhere');

/** Makes a training run visible to `list` and the view of `cwd`, wherever its output is. */
export function noteTraining(cwd: string, output: string): void {
  const inside = relative(join(cwd, trainingsFolder), output);
  if (!inside.startsWith('..') && !isAbsolute(inside)) return;
  const name = createHash('sha256').update(output).digest('hex').slice(0, 16);
  try {
    mkdirSync(notesIn(cwd), { recursive: true });
    replaceFile(join(notesIn(cwd), name), `${output}\n`);
  } catch {
    // The training run itself works without write access to this folder.
  }
}

/** Existing training runs started in `cwd` whose output is in another directory. */
export function trainingsElsewhere(cwd: string): readonly string[] {
  const folder = notesIn(cwd);
  if (!existsSync(folder)) return [];
  const outputs = readdirSync(folder)
    .filter((name) => /^[0-9a-f]{16}$/.test(name))
    .map((name) => readFileSync(join(folder, name), 'utf8').trimEnd());
  return outputs.filter((output) => isAbsolute(output) && isTraining(output)).toSorted();
}

/** Files that mark the result of a training run, as opposed to its directory. */
const resultFiles = ['adapter_config.json', 'config.json', 'policy.json'];

export function isTraining(path: string): boolean {
  const has = (name: string) => existsSync(join(path, name));
  if (resultFiles.some(has)) return false;
  return has(trainingFiles.about) || (has(trainingFiles.metrics) && has(trainingFiles.checkpoint));
}
