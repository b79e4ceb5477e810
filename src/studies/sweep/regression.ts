/** Ordinary least squares with intervals. */
import { cholesky, inverseOfProduct, invertTriangle } from '../../search/linear-algebra.js';
import type { Interval } from '../../statistics/bootstrap.js';
import { sum } from '../../statistics/descriptive.js';
import { studentQuantile975, studentTwoSided } from '../../statistics/distributions.js';

interface Coefficient {
  readonly value: number;
  /** 95%, by Student's t. */
  readonly interval: Interval;
  /** Two-sided. */
  readonly p: number;
}

/**
 * Fits y ≈ X·b, assuming homoscedastic errors.
 * @param rows of X, with one number per coefficient
 * @returns undefined if the coefficients aren't determined, or there are no degrees of freedom left
 */
export function regression(
  rows: readonly (readonly number[])[],
  y: readonly number[],
): { readonly coefficients: readonly Coefficient[]; readonly degrees: number } | undefined {
  const n = rows[0]?.length ?? 0;
  const degrees = rows.length - n;
  if (n === 0 || degrees < 1) return undefined;
  const products = new Float64Array(n * n);
  for (let i = 0; i < n; i++)
    for (let j = 0; j < n; j++) products[i * n + j] = sum(rows.map((row) => row[i]! * row[j]!));
  const factor = cholesky(products, n);
  // The pivot is only rounding error: a column depends linearly on others.
  const isSingular =
    factor === undefined || rows[0]!.some((_, i) => factor[i * n + i]! ** 2 < 1e-9 * products[i * n + i]!);
  if (isSingular) return undefined;
  const inverse = inverseOfProduct(invertTriangle(factor, n), n);
  const at = (i: number, j: number) => inverse[Math.max(i, j) * n + Math.min(i, j)]!;
  const moments = rows[0]!.map((_, i) => sum(rows.map((row, r) => row[i]! * y[r]!)));
  const values = moments.map((_, i) => sum(moments.map((moment, j) => at(i, j) * moment)));
  const residuals = rows.map((row, r) => y[r]! - sum(row.map((x, i) => x * values[i]!)));
  const spread = Math.sqrt(sum(residuals.map((residual) => residual ** 2)) / degrees);
  return {
    degrees,
    coefficients: values.map((value, i) => {
      const error = spread * Math.sqrt(at(i, i));
      const half = studentQuantile975(degrees) * error;
      const p = error > 0 ? studentTwoSided(value / error, degrees) : value === 0 ? 1 : 0;
      return { value, interval: [value - half, value + half] as const, p };
    }),
  };
}
