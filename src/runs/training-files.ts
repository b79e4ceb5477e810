/** Directories of training runs (`finetune train` and `finetune rl`). */
import { closeSync, constants, existsSync, lstatSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { isAbsolute, join, normalize } from 'node:path';
import { jsonIn } from '../base/files/json-depth.js';
import { readRegularFile } from '../base/files/regular-file.js';

export const trainingFiles = {
  /** Lineage, settings and state; the result contains a copy. */
  about: 'training.json',
  metrics: 'metrics.jsonl',
  /** Sample replies of the model at evaluations. */
  samples: 'samples.jsonl',
  checkpoint: 'checkpoint.safetensors',
  eventFiles: 'tensorboard',
  page: 'index.html',
  lock: 'training.lock',
} as const;

/** Default folder of training runs. */
export const trainingsFolder = 'tuned';

/** File in the runs directory that lists the output paths of training runs, one JSON object per line. */
const registryFile = 'trainings.jsonl';

/** Maximum size of this file in bytes, and maximum number of paths read from its end. */
const [largestRegistry, mostRegistered] = [2 ** 24, 1000];

/**
 * Makes a training run visible to `list`, `show` and `view`, wherever its output is.
 * @param runs the directory of runs
 */
export function registerTraining(runs: string, output: string): void {
  const known = registryText(runs);
  if (pathsIn(known).includes(output)) return;
  // Don't append to an incomplete last line. Write only once, so concurrent training runs don't mix their lines.
  const line = `${/[^\n]$/.test(known) ? '\n' : ''}${JSON.stringify({ path: output })}\n`;
  const { O_APPEND, O_CREAT, O_NOFOLLOW = 0, O_NONBLOCK = 0, O_WRONLY } = constants;
  try {
    mkdirSync(runs, { recursive: true });
    const flags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK;
    const descriptor = openSync(join(runs, registryFile), flags);
    try {
      writeSync(descriptor, line);
    } finally {
      closeSync(descriptor);
    }
  } catch {
    // The training run works without this entry, so don't fail if the directory isn't writable.
  }
}

/** Registered training runs that still exist, sorted by path. Skips invalid lines. */
export const registeredTrainings = (runs: string): readonly string[] =>
  [...new Set(pathsIn(registryText(runs)))].filter(isOwnTraining).toSorted();

function registryText(runs: string): string {
  try {
    return readRegularFile(join(runs, registryFile), largestRegistry, 'refuse').toString('utf8');
  } catch {
    return '';
  }
}

const pathsIn = (registry: string): readonly string[] =>
  registry
    .split('\n')
    .map((line) => (jsonIn(line) as { readonly path?: unknown } | null | undefined)?.path)
    .filter((path) => typeof path === 'string' && isAbsolute(path) && normalize(path) === path)
    .slice(-mostRegistered) as readonly string[];

function isOwnTraining(path: string): boolean {
  try {
    return lstatSync(path).isDirectory() && isTraining(path);
  } catch {
    return false;
  }
}

/** Files that mark the result of a training run, as opposed to its directory. */
const resultFiles = ['adapter_config.json', 'config.json', 'policy.json'];

export function isTraining(path: string): boolean {
  const has = (name: string) => existsSync(join(path, name));
  if (resultFiles.some(has)) return false;
  return has(trainingFiles.about) || (has(trainingFiles.metrics) && has(trainingFiles.checkpoint));
}
