import { EigenvalueDecomposition, Matrix } from 'ml-matrix';
import { largest, smallest, sum } from '../statistics/descriptive.js';

/** The covariance matrix C of a search distribution, with its square root. */
export interface Covariance {
  /** Square roots of the diagonal of C. */
  readonly deviations: readonly number[];
  /** Ratio of the longest to the shortest axis of C's ellipsoid; Infinity once C isn't positive definite. */
  readonly axisRatio: number;
  /** C^½ z, up to a rotation: transforms a standard normal z into a sample of N(0, C). */
  color(z: readonly number[]): number[];
  /** C^-½ y. */
  whiten(y: readonly number[]): number[];
  /** C ← decay · C + Σ weight · y yᵀ */
  update(decay: number, terms: readonly WeightedStep[]): void;
}

export interface WeightedStep {
  readonly weight: number;
  readonly y: readonly number[];
}

/** Stores all n² entries, to learn correlations between coordinates. An update costs O(n³). */
export function createFullCovariance(n: number): Covariance {
  const c = Matrix.eye(n);
  let axes = Matrix.eye(n);
  let lengths: readonly number[] = Array<number>(n).fill(1);
  return {
    get deviations() {
      return c.diagonal().map(Math.sqrt);
    },
    get axisRatio() {
      return ratio(lengths);
    },
    color(z) {
      const scaled = z.map((value, i) => value * lengths[i]!);
      return multiply(scaled, (row, column) => axes.get(row, column));
    },
    whiten(y) {
      const rotated = multiply(y, (row, column) => axes.get(column, row));
      const scaled = rotated.map((value, i) => value / lengths[i]!);
      return multiply(scaled, (row, column) => axes.get(row, column));
    },
    update(decay, terms) {
      for (let i = 0; i < n; i++) {
        for (let j = 0; j <= i; j++) {
          let entry = decay * c.get(i, j);
          for (const { weight, y } of terms) entry += weight * y[i]! * y[j]!;
          c.set(i, j, entry);
          c.set(j, i, entry);
        }
      }
      const decomposition = new EigenvalueDecomposition(c, { assumeSymmetric: true });
      axes = decomposition.eigenvectorMatrix;
      lengths = decomposition.realEigenvalues.map((value) => Math.sqrt(Math.max(value, 0)));
    },
  };
}

/** Stores only the diagonal, for many parameters. An update costs O(n). */
export function createDiagonalCovariance(n: number): Covariance {
  let lengths: readonly number[] = Array<number>(n).fill(1);
  return {
    get deviations() {
      return lengths;
    },
    get axisRatio() {
      return ratio(lengths);
    },
    color: (z) => z.map((value, i) => value * lengths[i]!),
    whiten: (y) => y.map((value, i) => value / lengths[i]!),
    update(decay, terms) {
      lengths = lengths.map((length, i) => {
        let entry = decay * length ** 2;
        for (const { weight, y } of terms) entry += weight * y[i]! ** 2;
        return Math.sqrt(Math.max(entry, 0));
      });
    },
  };
}

const ratio = (lengths: readonly number[]) => largest(lengths) / smallest(lengths);

/** Multiplies a square matrix by a vector; `entry` returns the matrix's entries. */
function multiply(vector: readonly number[], entry: (row: number, column: number) => number): number[] {
  return vector.map((_, row) => sum(vector.map((value, column) => entry(row, column) * value)));
}
