/** Stores the whole state of a training in one safetensors file: going on from it equals never having stopped. */
import { existsSync } from 'node:fs';
import { UserError } from '../../src/base/errors.js';
import { toFloat32 } from '../../src/models/local/weights/quantization.js';
import { readSafetensors, readTensorBytes } from '../../src/models/local/weights/safetensors.js';
import type { Moments } from './optimisers.js';
import { tensorOf, writeSafetensors } from './safetensors-writer.js';
import type { Numbers, Parameter } from './training-session.js';

/** A validation loss, and the step after which it was measured. */
export type StepLoss = { readonly step: number; readonly loss: number };

export interface TrainingState {
  readonly parameters: readonly Parameter[];
  /** In the order of the parameters. */
  readonly moments: readonly Moments[];
  /** Updates made. */
  step: number;
  /** The lowest validation loss, and the values of the parameters then, in their order. */
  best: (StepLoss & { readonly values: readonly Numbers[] }) | undefined;
  evaluationsWithoutGain: number;
  /** What else the training goes on from, such as runs under way. */
  progress?: string | undefined;
}

export interface CheckpointOwner {
  /** `trainingIdentity` */
  readonly identity: string;
  /** Threads of the processor. */
  readonly threads: number;
}

interface Progress extends CheckpointOwner {
  readonly step: number;
  readonly evaluationsWithoutGain: number;
  readonly best: StepLoss | null;
  /** That of the state. */
  readonly progress?: string | undefined;
}

export function writeCheckpoint(file: string, state: TrainingState, owner: CheckpointOwner): void {
  const { parameters, moments, step, best, evaluationsWithoutGain } = state;
  const named = (prefix: string, values: (index: number) => Numbers) =>
    parameters.map(({ name, shape }, index) => tensorOf({ name: `${prefix}${name}`, shape }, values(index)));
  const progress: Progress = {
    ...owner,
    step,
    evaluationsWithoutGain,
    best: best ? { step: best.step, loss: best.loss } : null,
    ...(state.progress !== undefined && { progress: state.progress }),
  };
  writeSafetensors(
    file,
    [
      ...named('value.', (index) => parameters[index]!.values),
      ...named('first.', (index) => moments[index]!.first),
      ...named('second.', (index) => moments[index]!.second),
      ...(best === undefined ? [] : named('best.', (index) => best.values[index]!)),
    ],
    { progress: JSON.stringify(progress) },
  );
}

/**
 * @param parameters names and shapes that are expected
 * @returns undefined where there is no such file
 * @throws UserError when it belongs to another training
 */
export function readCheckpoint(
  file: string,
  parameters: readonly Parameter[],
  identity: string,
): TrainingState | undefined {
  if (!existsSync(file)) return undefined;
  const { tensors, metadata } = readSafetensors(file);
  const progress = progressOf(metadata);
  if (progress.identity !== identity)
    throw new UserError({
      file,
      message: 'this checkpoint belongs to a training with other settings, other data or other weights',
      remedy: 'train with those of then, name another output, or remove the checkpoint to begin anew',
    });
  const { step, evaluationsWithoutGain, best, progress: elsewhere } = progress as Progress;
  const byName = new Map(tensors.map((tensor) => [tensor.name, tensor]));
  const read = (prefix: string) =>
    parameters.map(({ name }) => {
      const tensor = byName.get(`${prefix}${name}`)!;
      return toFloat32(readTensorBytes(tensor), tensor.dtype);
    });
  const [values, first, second] = [read('value.'), read('first.'), read('second.')];
  return {
    parameters: parameters.map(({ name, shape }, index) => ({ name, shape, values: values[index]! })),
    moments: parameters.map((_, index) => ({ first: first[index]!, second: second[index]! })),
    step,
    best: best === null ? undefined : { ...best, values: read('best.') },
    evaluationsWithoutGain,
    ...(elsewhere !== undefined && { progress: elsewhere }),
  };
}

/** Threads that the training was computed with so far; undefined where there is no such file. */
export function checkpointThreads(file: string): number | undefined {
  return existsSync(file) ? progressOf(readSafetensors(file).metadata).threads : undefined;
}

function progressOf(metadata: Readonly<Record<string, string>>): Partial<Progress> {
  return JSON.parse(metadata.progress ?? '{}') as Partial<Progress>;
}
