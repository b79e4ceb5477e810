/** Normalizes observations for the networks to mean 0 and standard deviation 1, and clips them. */
import { UserError } from '../../../../src/base/errors.js';
import {
  dimensionsOf,
  type EnvironmentSpec,
  type Observation,
  type Space,
} from '../../../../src/environments/environment.js';
import type { Row } from '../network/network.js';

/** Normalized observations are clipped to ± this, as in the public TRPO implementation. */
const bound = 5;

/** Welford's running mean and sum of squared deviations (1962). */
export interface RunningMoments {
  count: number;
  readonly mean: Float64Array;
  readonly squares: Float64Array;
}

export function emptyMoments(width: number): RunningMoments {
  return { count: 0, mean: new Float64Array(width), squares: new Float64Array(width) };
}

/** Adds a row in place. */
export function addRow(moments: RunningMoments, row: Row): void {
  const { mean, squares } = moments;
  moments.count++;
  for (let i = 0; i < row.length; i++) {
    const before = row[i]! - mean[i]!;
    mean[i]! += before / moments.count;
    squares[i]! += before * (row[i]! - mean[i]!);
  }
}

/** (x − mean) / σ, or x if fewer than two rows have been seen; clipped in both cases. */
export function normalised({ count, mean, squares }: RunningMoments, row: Row): Row {
  return row.map((value, i) => {
    const scaled = count < 2 ? value : (value - mean[i]!) / (Math.sqrt(squares[i]! / (count - 1)) + 1e-8);
    return Math.min(bound, Math.max(-bound, scaled));
  });
}

/**
 * Length of the row that represents an observation.
 * @throws UserError for text observations
 */
export function rowWidth({ id, observationSpace: space }: EnvironmentSpec): number {
  if (space.kind === 'text')
    throw new UserError({
      field: 'environment',
      value: id,
      message: 'its observations are texts, and this policy reads numbers',
      remedy: 'give a model instead of a policy: a language model reads texts',
    });
  return space.kind === 'discrete' ? space.n : dimensionsOf(space);
}

/** Converts an observation to a row of numbers; discrete ones are one-hot encoded. */
export function rowOf(observation: Observation, space: Space): Row {
  if (space.kind !== 'discrete') return Float64Array.from(observation as readonly number[]);
  const row = new Float64Array(space.n);
  row[(observation as number) - (space.start ?? 0)] = 1;
  return row;
}
