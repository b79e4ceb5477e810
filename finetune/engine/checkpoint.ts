/** Stores the complete state of a training run, so that a resumed run gives exactly the same result. */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { UserError } from '../../src/base/errors.js';
import { toFloat32 } from '../../src/models/local/weights/quantization.js';
import {
  readSafetensors,
  readTensorBytes,
  sampleRanges,
} from '../../src/models/local/weights/safetensors.js';
import { type Moments, zeroMoments } from './optimisers.js';
import { tensorOf, writeSafetensors } from './safetensors-writer.js';
import type { FloatArray, Parameter } from './training-session.js';

/** A loss from an evaluation, and the step after which it was measured. */
export type StepLoss = { readonly step: number; readonly loss: number };

export interface TrainingState {
  readonly parameters: readonly Parameter[];
  /** In the order of `parameters`. */
  readonly moments: readonly Moments[];
  /** Completed steps of the training loop. */
  step: number;
  /** Completed steps of the optimizer; in reinforcement learning, one or more per step of the loop (TRPO: none). */
  optimizerSteps: number;
  /** The last step whose evaluation is over (or was skipped for lack of data); 0 before the first. */
  evaluated: number;
  /** The lowest evaluation loss so far, with the parameter values at that step, in the order of `parameters`. */
  best: (StepLoss & { readonly values: readonly FloatArray[] }) | undefined;
  evaluationsWithoutGain: number;
  /** Serialized extra state that resuming needs, such as the runs in flight. */
  progress?: string | undefined;
}

export function initialState(parameters: readonly Parameter[]): TrainingState {
  const moments = parameters.map(zeroMoments);
  return {
    parameters,
    moments,
    step: 0,
    optimizerSteps: 0,
    evaluated: 0,
    best: undefined,
    evaluationsWithoutGain: 0,
  };
}

/** Keeps the parameters if their loss is below all earlier losses; with `keepTies`, also if it equals the lowest. */
export function keepBest(state: TrainingState, loss: number, keepTies: boolean): boolean {
  const isBest = state.best === undefined || loss < state.best.loss || (keepTies && loss === state.best.loss);
  if (isBest)
    state.best = { step: state.step, loss, values: state.parameters.map(({ values }) => values.slice()) };
  return isBest;
}

/** Returns the parameters of the best evaluation or, without evaluations, the current parameters. */
export const bestParameters = ({ best, parameters }: TrainingState): readonly Parameter[] =>
  best === undefined
    ? parameters
    : parameters.map(({ name, shape }, index) => ({ name, shape, values: best.values[index]! }));

/**
 * Hashes descriptions, such as settings and examples, and samples of the initial parameters (SHA-256). Only a run with
 * the same identity can resume from a checkpoint.
 */
export function identityOf(descriptions: Iterable<unknown>, parameters: readonly Parameter[] = []): string {
  const hash = createHash('sha256');
  for (const item of descriptions) hash.update(`${JSON.stringify(item)}\n`);
  for (const { name, shape, values } of parameters) {
    hash.update(JSON.stringify([name, shape]));
    const { buffer, byteOffset, byteLength } = values;
    for (const [start, length] of sampleRanges(byteLength))
      hash.update(new Uint8Array(buffer, byteOffset + start, length));
  }
  return hash.digest('hex');
}

export interface CheckpointOwner {
  readonly identity: string;
  readonly threads: number;
}

interface StoredProgress extends CheckpointOwner, Omit<TrainingState, 'parameters' | 'moments' | 'best'> {
  readonly best: StepLoss | null;
}

export function writeCheckpoint(file: string, state: TrainingState, owner: CheckpointOwner): void {
  const { parameters, moments, best, ...counts } = state;
  const namedTensors = (prefix: string, values: (index: number) => FloatArray) =>
    parameters.map(({ name, shape }, index) => tensorOf({ name: `${prefix}${name}`, shape }, values(index)));
  const stepLoss = best ? { step: best.step, loss: best.loss } : null;
  const progress: StoredProgress = { ...owner, ...counts, best: stepLoss };
  writeSafetensors(
    file,
    [
      ...namedTensors('value.', (index) => parameters[index]!.values),
      ...namedTensors('first.', (index) => moments[index]!.first),
      ...namedTensors('second.', (index) => moments[index]!.second),
      ...(best === undefined ? [] : namedTensors('best.', (index) => best.values[index]!)),
    ],
    { progress: JSON.stringify(progress) },
  );
}

/** Returns undefined if there is no checkpoint. @throws UserError if its `identity` differs, or the file is damaged */
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
      message: 'this checkpoint is from a training run with different settings, data or weights',
      hint: 'restore the earlier settings, choose another output, or remove the checkpoint to start over',
    });
  const { identity: _, threads: _threads, best, ...counts } = progress as StoredProgress;
  const tensorsByName = new Map(tensors.map((tensor) => [tensor.name, tensor]));
  const readValues = (prefix: string) =>
    parameters.map(({ name }) => {
      const tensor = tensorsByName.get(`${prefix}${name}`)!;
      const bytes = readTensorBytes(tensor);
      return tensor.dtype === 'F64'
        ? new Float64Array(Uint8Array.from(bytes).buffer)
        : toFloat32(bytes, tensor.dtype);
    });
  const [values, first, second] = [readValues('value.'), readValues('first.'), readValues('second.')];
  return {
    parameters: parameters.map(({ name, shape }, index) => ({ name, shape, values: values[index]! })),
    moments: parameters.map((_, index) => ({ first: first[index]!, second: second[index]! })),
    ...counts,
    best: best === null ? undefined : { ...best, values: readValues('best.') },
  };
}

/** Returns the number of threads of the run that wrote the checkpoint; undefined if there is no checkpoint. */
export function checkpointThreads(file: string): number | undefined {
  return existsSync(file) ? progressOf(readSafetensors(file).metadata).threads : undefined;
}

function progressOf(metadata: Readonly<Record<string, string>>): Partial<StoredProgress> {
  return JSON.parse(metadata.progress ?? '{}') as Partial<StoredProgress>;
}
