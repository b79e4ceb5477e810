import type { RandomGenerator } from '../base/random/generator.js';
import type { ParameterSpec, ParameterVector } from '../policies/policy.js';
import { vectorKey } from '../rollout/replay-buffer.js';
import { smallest } from '../statistics/descriptive.js';

/** The allowed values of a parameter, indexed from 0 in ascending order. */
export interface ValueGrid {
  readonly size: number;
  /** Minimum distance between two values. */
  readonly step: number;
  value(index: number): number;
  /** Index of the value nearest to x, which may be outside the range. */
  index(x: number): number;
}

export function createValueGrid(spec: ParameterSpec): ValueGrid {
  return spec.choices === undefined ? decimalGrid(spec) : choiceGrid(spec.choices);
}

/** Lists all multiples of 10^-decimals within the range; dividing integers gives the double nearest to the decimal. */
function decimalGrid(spec: ParameterSpec): ValueGrid {
  const scale = 10 ** spec.decimals;
  const first = Math.ceil(spec.low * scale - 1e-6);
  const last = Math.floor(spec.high * scale + 1e-6);
  return {
    size: last - first + 1,
    step: 1 / scale,
    value: (index) => (first + index) / scale,
    index: (x) => Math.min(Math.max(Math.round(x * scale), first), last) - first,
  };
}

function choiceGrid(choices: readonly number[]): ValueGrid {
  const sorted = [...new Set(choices)].sort((a, b) => a - b);
  const gaps = sorted.slice(1).map((value, i) => value - sorted[i]!);
  return {
    size: sorted.length,
    step: gaps.length === 0 ? 1 : smallest(gaps),
    value: (index) => sorted[index]!,
    index(x) {
      const distances = sorted.map((value) => Math.abs(value - x));
      return distances.indexOf(smallest(distances));
    },
  };
}

export function drawPoint(grid: ValueGrid, count: number, random: RandomGenerator): ParameterVector {
  return Array.from({ length: count }, () => grid.value(random.integers(0, grid.size)));
}

/** True if searches treat the parameters as unordered choices rather than quantities. */
export function isUnordered({ kind, choices }: ParameterSpec): boolean {
  return kind === 'integer' || choices !== undefined;
}

/** Changes one random entry, and each other entry with probability `extra` / length. */
export function mutate(
  parameters: ParameterVector,
  grid: ValueGrid,
  extra: number,
  random: RandomGenerator,
): ParameterVector {
  const index = random.integers(0, parameters.length);
  return parameters.map((value, i) =>
    i === index || random.random() < extra / parameters.length ? drawOther(value, grid, random) : value,
  );
}

/** Draws one of the other values uniformly; returns `value` if it is the only one. */
export function drawOther(value: number, grid: ValueGrid, random: RandomGenerator): number {
  if (grid.size === 1) return value;
  const shift = random.integers(1, grid.size);
  return grid.value((grid.index(value) + shift) % grid.size);
}

/** Draws a uniformly random subset of the positions 0 … count − 1, with `size` elements or all if there are fewer. */
export function drawPositions(count: number, size: number, random: RandomGenerator): ReadonlySet<number> {
  const remaining = Array.from({ length: count }, (_, i) => i);
  const chosen = new Set<number>();
  while (chosen.size < size && remaining.length > 0) {
    const [position] = remaining.splice(random.integers(0, remaining.length), 1);
    chosen.add(position!);
  }
  return chosen;
}

/** Computes a distance in [0, 1]: RMS difference as a share of the range; for tables, share of differing entries. */
export function distanceOf(a: ParameterVector, b: ParameterVector, spec: ParameterSpec): number {
  const range = spec.high - spec.low;
  // Two programs have distance 0 (same) or 1 (different).
  if (range === Number.POSITIVE_INFINITY) return vectorKey(a) === vectorKey(b) ? 0 : 1;
  let sum = 0;
  for (const [i, value] of a.entries()) {
    if (isUnordered(spec)) sum += value === b[i] ? 0 : 1;
    else sum += ((value - b[i]!) / range) ** 2;
  }
  return isUnordered(spec) ? sum / a.length : Math.sqrt(sum / a.length);
}
