/** Measures how far a proposal is from earlier ones, and moves it away if it is too close. */
import type { ParameterSpec, ParameterVector } from '../policies/policy.js';
import type { RandomGenerator } from '../random/generator.js';
import { createValueGrid, drawPoint, isTable } from './moves.js';

interface Tried {
  readonly parameters: ParameterVector;
}

/**
 * Distance in [0, 1]. For points: the root mean square difference as a share of the range. For tables: the
 * share of entries that differ.
 */
export function distanceOf(a: ParameterVector, b: ParameterVector, spec: ParameterSpec): number {
  const range = spec.high - spec.low;
  let sum = 0;
  for (const [i, value] of a.entries()) {
    if (isTable(spec)) sum += value === b[i] ? 0 : 1;
    else sum += ((value - b[i]!) / range) ** 2;
  }
  return isTable(spec) ? sum / a.length : Math.sqrt(sum / a.length);
}

/** The tried parameters nearest to these, the earliest if tied; undefined if nothing was tried. */
export function nearestTried<T extends Tried>(
  parameters: ParameterVector,
  tried: readonly T[],
  spec: ParameterSpec,
): { readonly tried: T; readonly distance: number } | undefined {
  let nearest: { readonly tried: T; readonly distance: number } | undefined;
  for (const one of tried) {
    const distance = distanceOf(parameters, one.parameters, spec);
    if (nearest === undefined || distance < nearest.distance) nearest = { tried: one, distance };
  }
  return nearest;
}

/** Number of steps to try, each a little longer than the last; then as many random points are tried. */
const mostSteps = 50;

/**
 * Returns parameters at least `least` away from everything tried, by taking random steps of about that length, growing
 * until one suffices. If neither 50 steps nor 50 random points suffice, returns the farthest of them.
 */
export function movedAway(
  parameters: ParameterVector,
  tried: readonly Tried[],
  spec: ParameterSpec,
  least: number,
  random: RandomGenerator,
): ParameterVector {
  let farthest = { parameters, distance: -1 };
  const grid = createValueGrid(spec);
  for (let tries = 0; tries < 2 * mostSteps && farthest.distance < least; tries++) {
    const moved =
      tries < mostSteps
        ? stepFrom(parameters, spec, least * (1.1 + tries / 20), random)
        : drawPoint(grid, spec.count, random);
    const distance = nearestTried(moved, tried, spec)?.distance ?? 1;
    if (distance > farthest.distance) farthest = { parameters: moved, distance };
  }
  return farthest.parameters;
}

function stepFrom(
  parameters: ParameterVector,
  spec: ParameterSpec,
  length: number,
  random: RandomGenerator,
): ParameterVector {
  const grid = createValueGrid(spec);
  if (isTable(spec)) {
    const share = Math.min(1, length);
    return parameters.map((value) =>
      random.random() < share ? grid.value(random.integers(0, grid.size)) : value,
    );
  }
  const normal = parameters.map(() => random.normal());
  const root = Math.sqrt(normal.reduce((sum, value) => sum + value ** 2, 0) / normal.length);
  const scale = (length * (spec.high - spec.low)) / root;
  return parameters.map((value, i) => grid.value(grid.index(value + scale * normal[i]!)));
}
