/** The whole state of a training in one safetensors file: going on from it equals never having stopped. */
import { existsSync } from 'node:fs';
import { UserError } from '../src/errors.js';
import { toFloat32 } from '../src/models/local/quantization.js';
import { readSafetensors, readTensorBytes } from '../src/models/local/safetensors.js';
import type { Moments } from './adamw.js';
import { tensorOf, writeSafetensors } from './safetensors-writer.js';
import type { Numbers, Parameter } from './training-session.js';

export interface BestSoFar {
  readonly step: number;
  /** Validation loss. */
  readonly loss: number;
  /** Values of the parameters, in their order. */
  readonly values: readonly Numbers[];
}

export interface TrainingState {
  readonly parameters: readonly Parameter[];
  /** In the order of the parameters. */
  readonly moments: readonly Moments[];
  /** Updates made. */
  step: number;
  best: BestSoFar | undefined;
  evaluationsWithoutGain: number;
}

interface Progress {
  readonly fingerprint: string;
  readonly step: number;
  readonly evaluationsWithoutGain: number;
  readonly best: { readonly step: number; readonly loss: number } | null;
}

/** @param fingerprint of the settings and the data that the state belongs to */
export function writeCheckpoint(file: string, state: TrainingState, fingerprint: string): void {
  const { parameters, moments, step, best, evaluationsWithoutGain } = state;
  const named = (prefix: string, values: (index: number) => Numbers) =>
    parameters.map(({ name, shape }, index) => tensorOf({ name: `${prefix}${name}`, shape }, values(index)));
  const progress: Progress = {
    fingerprint,
    step,
    evaluationsWithoutGain,
    best: best === undefined ? null : { step: best.step, loss: best.loss },
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
 * @throws UserError when it belongs to other settings or data
 */
export function readCheckpoint(
  file: string,
  parameters: readonly Parameter[],
  fingerprint: string,
): TrainingState | undefined {
  if (!existsSync(file)) return undefined;
  const { tensors, metadata } = readSafetensors(file);
  const progress = JSON.parse(metadata.progress ?? '{}') as Partial<Progress>;
  if (progress.fingerprint !== fingerprint)
    throw new UserError({
      file,
      message: 'this checkpoint belongs to a training with other settings or other data',
      remedy: 'train with the settings and the data of then, or remove the checkpoint to begin anew',
    });
  const { step, evaluationsWithoutGain, best } = progress as Progress;
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
  };
}
