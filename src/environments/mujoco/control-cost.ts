import { isSingle } from '../classic-control/single-precision.js';

const { fround } = Math;

/**
 * weight · Σ action², of the action as it was given, also beyond its limits. NumPy computes with the type of the array: an
 * action that float32 can hold is squared, summed and weighed in single precision.
 */
export function controlCost(weight: number, action: readonly number[]): number {
  let sum = 0;
  if (!action.every(isSingle)) {
    for (const component of action) sum += component * component;
    return weight * sum;
  }
  for (const component of action) sum = fround(sum + fround(component * component));
  return fround(fround(weight) * sum);
}
