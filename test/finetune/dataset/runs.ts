/** Small runs for making datasets. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Example } from '../../../finetune/dataset/example.js';
import { readSourceRun, type SourceRun } from '../../../finetune/dataset/source-run.js';
import type { ConfigInput } from '../../../src/config/config.js';
import { parseParameters } from '../../../src/prompting/answer/parse.js';
import type { BufferEntry } from '../../../src/rollout/replay-buffer.js';
import type { CallRecord } from '../../../src/runs/calls.js';
import { readRun } from '../../../src/runs/reader.js';
import { type PlayOptions, quick, runExperimentFrom, temporaryDirectory } from '../../support/experiments.js';

const climb = { ...quick, model: { provider: 'hill-climb' } } as const;

/** Runs an experiment in `name` below `root` (default: a new directory), and returns the run's path. */
export async function played(
  changes: Partial<ConfigInput> = {},
  options: PlayOptions & { readonly root?: string; readonly name?: string } = {},
): Promise<string> {
  const { root = temporaryDirectory(), name = 'run', ...rest } = options;
  const { path } = await runExperimentFrom({ ...climb, ...changes }, { ...rest, path: join(root, name) });
  return path;
}

export const named = (path: string, name = 'a') => ({ path, name });

export async function playedSource(
  changes: Partial<ConfigInput> = {},
  options: PlayOptions = {},
): Promise<SourceRun> {
  return readSourceRun(await played(changes, options), 'a');
}

export function jsonLines<T>(path: string, file: string): readonly T[] {
  return readFileSync(join(path, file), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T);
}

export const evaluationsOf = (path: string) => jsonLines<BufferEntry>(path, 'evaluations.jsonl');
export const callsOf = (path: string): readonly CallRecord[] => readRun(path).calls;

/** The parameters that the parser reads from an answer, or from a compact prompt's line after its percentage. */
export function read(answer: string, run: SourceRun): readonly number[] {
  const result = parseParameters(answer.replace(/^\d+ (?=params)/, ''), run.family.parameters);
  if (!result.ok) throw new Error(`not read: ${answer}`);
  return result.value;
}

export const answerOf = (example: Example) =>
  example.kind === 'imitation' ? example.completion : example.chosen;
