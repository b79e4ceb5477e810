/** Minimises a smooth function by L-BFGS (Liu & Nocedal 1989). */
import { axpy, dot } from './linear-algebra.js';

export interface Point {
  readonly x: Float64Array;
  readonly value: number;
  readonly gradient: Float64Array;
}

/** Number of recent steps remembered, each with its change of the gradient. */
const maxPairs = 10;
/** Constants of the Armijo and Wolfe conditions, as in SciPy's L-BFGS-B. */
const [sufficientDecrease, sufficientFlattening] = [1e-3, 0.9];
/** Maximum number of evaluations per line search. */
const maxTries = 20;
const squaredNorm = (x: Float64Array) => dot(x, x);

type Objective = (x: Float64Array) => Promise<Omit<Point, 'x'>>;
interface StepPair {
  readonly step: Float64Array;
  readonly gradientChange: Float64Array;
}

/** @returns the final point, after at most `iterations` steps */
export async function minimize(evaluate: Objective, start: Float64Array, iterations: number): Promise<Point> {
  let point: Point = { x: start, ...(await evaluate(start)) };
  const pairs: StepPair[] = [];
  for (let i = 0; i < iterations; i++) {
    const norm = Math.sqrt(dot(point.gradient, point.gradient));
    if (norm < 1e-10) break;
    const direction = searchDirection(point.gradient, pairs);
    const next = await lineSearch(evaluate, point, direction, pairs.length === 0 ? Math.min(1, 1 / norm) : 1);
    if (next === undefined) break;
    const pair = { step: axpy(next.x, -1, point.x), gradientChange: axpy(next.gradient, -1, point.gradient) };
    // Only pairs with positive curvature keep the approximate Hessian positive definite.
    if (dot(pair.step, pair.gradientChange) > 1e-12 * squaredNorm(pair.gradientChange)) pairs.push(pair);
    if (pairs.length > maxPairs) pairs.shift();
    point = next;
  }
  return point;
}

/** Computes −H·slope by the two-loop recursion, where H approximates the inverse Hessian. */
function searchDirection(slope: Float64Array, pairs: readonly StepPair[]): Float64Array {
  let q: Float64Array = slope;
  const factors: number[] = [];
  for (const { step, gradientChange } of pairs.toReversed()) {
    const factor = dot(step, q) / dot(step, gradientChange);
    factors.unshift(factor);
    q = axpy(q, -factor, gradientChange);
  }
  const last = pairs.at(-1);
  const scale = last ? dot(last.step, last.gradientChange) / squaredNorm(last.gradientChange) : 1;
  let r: Float64Array = q.map((value) => scale * value);
  for (const [i, { step, gradientChange }] of pairs.entries())
    r = axpy(r, factors[i]! - dot(gradientChange, r) / dot(step, gradientChange), step);
  return r.map((value) => -value);
}

/** Finds a step that satisfies the Wolfe conditions or, failing that, lowers the function; undefined if none does. */
async function lineSearch(
  evaluate: Objective,
  { x, value, gradient }: Point,
  direction: Float64Array,
  firstLength: number,
): Promise<Point | undefined> {
  const descent = dot(gradient, direction);
  if (!(descent < 0)) return undefined;
  let [low, high, length] = [0, Number.POSITIVE_INFINITY, firstLength];
  let lowered: Point | undefined;
  for (let tries = 0; tries < maxTries; tries++) {
    const tried = axpy(x, length, direction);
    const point: Point = { x: tried, ...(await evaluate(tried)) };
    if (!(point.value <= value + sufficientDecrease * length * descent)) high = length;
    else {
      lowered = point;
      if (dot(point.gradient, direction) >= sufficientFlattening * descent) return point;
      low = length;
    }
    length = high === Number.POSITIVE_INFINITY ? 2 * low : (low + high) / 2;
  }
  return lowered;
}
