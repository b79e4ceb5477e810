import { describe, expect, it } from 'vitest';
import {
  type Covariance,
  createDiagonalCovariance,
  createFullCovariance,
  type WeightedStep,
} from '../../src/proposers/covariance.js';

const n = 4;
const terms: readonly WeightedStep[] = [
  { weight: 0.3, y: [1, 2, -1, 0.5] },
  { weight: 0.2, y: [0, -1, 3, 1] },
  { weight: -0.02, y: [2, 0, 0, -1] },
];
/** 0.6 I + Σ weight y yᵀ, entry by entry. */
const expected = Array.from({ length: n }, (_, i) =>
  Array.from(
    { length: n },
    (_, j) => (i === j ? 0.6 : 0) + terms.reduce((sum, { weight, y }) => sum + weight * y[i]! * y[j]!, 0),
  ),
);
const unit = (i: number) => Array.from({ length: n }, (_, j) => (i === j ? 1 : 0));
const dot = (a: readonly number[], b: readonly number[]) =>
  a.reduce((sum, value, i) => sum + value * b[i]!, 0);

/** A Aᵀ, where A maps z to color(z). */
function colored(covariance: Covariance): number[][] {
  const columns = Array.from({ length: n }, (_, i) => covariance.color(unit(i)));
  return Array.from({ length: n }, (_, i) =>
    Array.from({ length: n }, (_, j) =>
      dot(
        columns.map((column) => column[i]!),
        columns.map((column) => column[j]!),
      ),
    ),
  );
}

describe('full covariance', () => {
  const covariance = createFullCovariance(n);
  covariance.update(0.6, terms);

  it('maps white noise to the updated covariance', () => {
    const actual = colored(covariance);
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < n; j++) expect(actual[i]![j]).toBeCloseTo(expected[i]![j]!, 12);
      expect(covariance.deviations[i]).toBeCloseTo(Math.sqrt(expected[i]![i]!), 12);
    }
  });

  it('whitens y to a squared length of yᵀ C⁻¹ y', () => {
    for (const { y } of terms) {
      const white = covariance.whiten(y);
      // C⁻¹ y = C^-½ (C^-½ y)
      expect(dot(white, white)).toBeCloseTo(dot(y, covariance.whiten(white)), 10);
    }
    const z = [0.5, -1, 2, 1];
    const white = covariance.whiten(covariance.color(z));
    expect(dot(white, white)).toBeCloseTo(dot(z, z), 10);
  });

  it('has a huge axisRatio once it is no longer positive definite', () => {
    const broken = createFullCovariance(n);
    broken.update(0, [{ weight: 1, y: [1, 1, 1, 1] }]);
    expect(broken.axisRatio).toBeGreaterThan(1e7);
  });
});

describe('diagonal covariance', () => {
  it('is the diagonal of the full covariance', () => {
    const diagonal = createDiagonalCovariance(n);
    diagonal.update(0.6, terms);
    const actual = colored(diagonal);
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < n; j++) expect(actual[i]![j]).toBeCloseTo(i === j ? expected[i]![i]! : 0, 12);
    }
    expect(diagonal.whiten(diagonal.color([1, 2, 3, 4]))).toEqual(
      [1, 2, 3, 4].map((value) => expect.closeTo(value, 12)),
    );
  });
});
