import type { ParameterSpec, ParameterVector } from '../../policies/policy.js';
import type { RandomGenerator } from '../../random.js';
import type { ValueGrid } from './value-grid.js';

/** Whether the entries are choices, with no step from one to the next, rather than quantities. */
export function isTable({ kind, choices }: ParameterSpec): boolean {
  return kind === 'integer' || choices !== undefined;
}

/** Draws one entry anew, and each other one with probability `further` / length. */
export function mutate(
  parameters: ParameterVector,
  grid: ValueGrid,
  further: number,
  random: RandomGenerator,
): ParameterVector {
  const certain = random.integers(0, parameters.length);
  return parameters.map((value, i) =>
    i === certain || random.random() < further / parameters.length ? drawOther(value, grid, random) : value,
  );
}

/** Any value but this one, all alike. */
export function drawOther(value: number, grid: ValueGrid, random: RandomGenerator): number {
  if (grid.size === 1) return value;
  const shift = random.integers(1, grid.size);
  return grid.value((grid.index(value) + shift) % grid.size);
}
