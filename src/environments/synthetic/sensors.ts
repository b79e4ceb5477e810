import type { RandomGenerator } from '../../random/generator.js';
import { chance, logUniform, permutation, rotation } from './distributions.js';
import type { Plant } from './plant.js';

/** What a policy observes of a state. */
export interface Sensors {
  readonly count: number;
  /** Writes `count` float32 numbers into `seen`. */
  read(state: Float64Array, seen: Float64Array): void;
}

/** @param scales of the coordinates; by default log-uniform in 0.03 to 3 */
export function drawSensors(
  random: RandomGenerator,
  plant: Plant,
  count: number,
  scales: readonly number[] = Array.from({ length: plant.dimension }, () => logUniform(random, 0.03, 3)),
): Sensors {
  const n = plant.dimension;
  if (plant.angles.length > 0) return angleSensors(plant, scales);
  const offsets = chance(random, 0.25)
    ? Float64Array.from({ length: count }, () => random.uniform(-0.5, 0.5))
    : new Float64Array(count);
  if (chance(random, 0.2)) return mixedSensors(rotation(random, n), n, count, scales, offsets);
  const hidden = permutation(random, n).slice(0, Math.max(0, n - count));
  const shown = Array.from({ length: n }, (_, i) => i).filter((i) => !hidden.includes(i));
  const order = chance(random, 0.5) ? permutation(random, count).map((i) => shown[i]!) : shown;
  const factors = order.map((i) => scales[i]!);
  return {
    count,
    read(state, seen) {
      for (let i = 0; i < count; i++) seen[i] = Math.fround(factors[i]! * state[order[i]!]! + offsets[i]!);
    },
  };
}

function mixedSensors(
  mixing: Float64Array,
  n: number,
  count: number,
  scales: readonly number[],
  offsets: Float64Array,
): Sensors {
  return {
    count,
    read(state, seen) {
      for (let i = 0; i < count; i++) {
        let sum = 0;
        for (let j = 0; j < n; j++) sum += mixing[i * n + j]! * state[j]!;
        seen[i] = Math.fround(scales[i]! * sum + offsets[i]!);
      }
    },
  };
}

/** Cosine and sine of each angle, followed by its scaled velocity. */
function angleSensors({ angles }: Plant, scales: readonly number[]): Sensors {
  return {
    count: 3 * angles.length,
    read(state, seen) {
      for (let i = 0; i < angles.length; i++) {
        const angle = angles[i]!;
        seen[3 * i] = Math.fround(Math.cos(state[angle]!));
        seen[3 * i + 1] = Math.fround(Math.sin(state[angle]!));
        seen[3 * i + 2] = Math.fround(scales[angle + 1]! * state[angle + 1]!);
      }
    },
  };
}
