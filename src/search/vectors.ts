/** Operations on vectors of equal length. */

/** Runs over the elements of `a`, which may be shorter than `b`. */
export function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!;
  return sum;
}

/** a + factor·b */
export function plus(a: Float64Array, factor: number, b: Float64Array): Float64Array {
  return a.map((value, i) => value + factor * b[i]!);
}
