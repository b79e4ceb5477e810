import { Matrix, QrDecomposition } from 'ml-matrix';
import type { ProjectionConfig } from '../config.js';
import { UserError } from '../errors.js';
import { createGenerator } from '../random.js';
import type { ParameterVector, PolicyDescription } from './policy.js';

/** Few parameters in the place of many weights: weights = scale · B · parameters. */
export interface Projection {
  readonly seed: number;
  /** Number of parameters. */
  readonly rank: number;
  /**
   * √(weights / rank): the root mean square of the weights is then that of the parameters, so that a range means the
   * same for both.
   */
  readonly scale: number;
  /** B, a row for each weight; its columns are orthonormal. */
  readonly basis: readonly ParameterVector[];
}

/**
 * A random subspace of the space of all weights, as in "Measuring the Intrinsic Dimension of Objective Landscapes"
 * (Li et al. 2018, arXiv:1804.08838), through the origin. The same seed gives the same one.
 * @param weights how many there are
 * @throws UserError where the rank is above that
 */
export function createProjection({ rank, seed }: ProjectionConfig, weights: number): Projection {
  if (rank > weights) {
    throw new UserError({
      field: 'policy.projection.rank',
      message: `this policy has ${weights} weights, so that no more parameters than that can make them`,
      value: rank,
      remedy: `use a rank of at most ${weights}, or leave policy.projection out: every weight is then a parameter`,
    });
  }
  return { seed, rank, scale: Math.sqrt(weights / rank), basis: orthonormalBasis(weights, rank, seed) };
}

/**
 * Q of a Gaussian matrix's QR decomposition, with R's diagonal made positive: then all subspaces, and all bases of
 * one, are equally likely (Mezzadri 2007, "How to generate random matrices from the classical compact groups").
 */
function orthonormalBasis(rows: number, columns: number, seed: number): readonly ParameterVector[] {
  const random = createGenerator(seed);
  const gaussian = Array.from({ length: rows }, () => Array.from({ length: columns }, () => random.normal()));
  const decomposition = new QrDecomposition(new Matrix(gaussian));
  const signs = decomposition.upperTriangularMatrix.diagonal().map((value) => (value < 0 ? -1 : 1));
  return decomposition.orthogonalMatrix.to2DArray().map((row) => row.map((value, j) => value * signs[j]!));
}

/** The weights that these parameters stand for. */
export function project({ basis, scale }: Projection, parameters: ParameterVector): ParameterVector {
  return basis.map((row) => scale * row.reduce((sum, value, j) => sum + value * parameters[j]!, 0));
}

/** The weights of a linear policy: its parameters, or what a projection makes of them. */
export function linearWeights(
  { projection }: Extract<PolicyDescription, { kind: 'linear' }>,
  parameters: ParameterVector,
): ParameterVector {
  return projection === undefined ? parameters : project(projection, parameters);
}
