/** Single-precision arithmetic. `Math.fround` rounds +, −, × and ÷ of two float32 numbers exactly as float32 does. */
const { fround } = Math;

/**
 * True if Gymnasium would compute with this action in single precision. NumPy uses the dtype of the action's array;
 * here, a number that float32 can represent exactly counts as float32.
 */
export const isSinglePrecision = (action: number): boolean => fround(action) === action;

/** Computes the cosine of a float32 within ±π/4, by the polynomial and rounding of NumPy's vectorised float32 loop. */
export function singleCos(x: number): number {
  const square = fround(x * x);
  let sum = multiplyAdd(c8, square, c6);
  sum = multiplyAdd(sum, square, c4);
  sum = multiplyAdd(sum, square, c2);
  return multiplyAdd(sum, square, 1);
}

/** Computes the sine of a float32 within ±π/4, by the same method. */
export function singleSin(x: number): number {
  const square = fround(x * x);
  let sum = multiplyAdd(s9, square, s7);
  sum = multiplyAdd(sum, square, s5);
  sum = multiplyAdd(sum, square, s3);
  return multiplyAdd(fround(sum * square), x, x);
}

/** Coefficients, close to the Taylor series' 1/8!, −1/6!, 1/4!, −1/2! and 1/9!, −1/7!, 1/5!, −1/3!. */
const c8 = 2.4372266125283204e-5;
const c6 = -0.001388652017340064;
const c4 = 0.04166661947965622;
const c2 = -0.5;
const s9 = 2.8404097065504175e-6;
const s7 = -0.00019856491417158395;
const s5 = 0.008333397097885609;
const s3 = -0.1666666716337204;

/** Approximates a fused multiply-add in float32: a × b is exact in a double, and only the sum is rounded. */
const multiplyAdd = (a: number, b: number, c: number): number => fround(a * b + c);
