/** Random dynamics of controlled systems, and their sensors. */
import type { RandomGenerator } from '../../../../src/base/random/generator.js';
import { chance, logUniform, permutation, randomSign, rotation } from './distributions.js';

/** The dynamics of a controlled system in discrete time. */
export interface Plant {
  readonly dimension: number;
  /** The coordinates that actions can push. */
  readonly driven: readonly number[];
  /** The coordinates that are angles, in rad. */
  readonly angles: readonly number[];
  /** Advances `state` by one step and applies `push`. Both have length `dimension`. */
  advance(state: Float64Array, push: Float64Array): void;
}

/**
 * x' = A·s(x) + push with a random A: pairs of positions and velocities (half of the draws with an even
 * `dimension`) or a perturbed identity matrix. s is the identity or, in a third of the draws, a tanh.
 * @param growth factor by which a small deviation grows per step (only roughly for pairs); 1 is marginally stable
 */
export function drawLinearPlant(random: RandomGenerator, dimension: number, growth: number): Plant {
  const mechanical = dimension % 2 === 0 && chance(random, 0.5);
  const matrix = mechanical
    ? drawMechanics(random, dimension, growth)
    : drawMatrix(random, dimension, growth);
  const driven = mechanical
    ? Array.from({ length: dimension / 2 }, (_, pair) => 2 * pair + 1)
    : Array.from({ length: dimension }, (_, i) => i);
  const range = chance(random, 1 / 3) ? logUniform(random, 1, 5) : undefined;
  return { dimension, driven, angles: [], advance: linearStep(matrix, dimension, range) };
}

/** @param range saturation of the state: range·tanh(x / range) */
function linearStep(matrix: Float64Array, n: number, range: number | undefined): Plant['advance'] {
  const before = new Float64Array(n);
  return (state, push) => {
    for (let i = 0; i < n; i++) {
      const value = state[i]!;
      before[i] = range === undefined ? value : range * Math.tanh(value / range);
    }
    for (let i = 0; i < n; i++) {
      let sum = push[i]!;
      const row = i * n;
      for (let j = 0; j < n; j++) sum += matrix[row + j]! * before[j]!;
      state[i] = sum;
    }
  };
}

/** Positions at even and velocities at odd indices, with attracting or repelling springs, couplings and friction. */
function drawMechanics(random: RandomGenerator, n: number, growth: number): Float64Array {
  const matrix = new Float64Array(n * n);
  const seconds = logUniform(random, 0.03, 0.15);
  const rate = (Math.log(growth) / seconds) ** 2;
  const unstable = random.integers(0, n / 2);
  for (let pair = 0; pair < n / 2; pair++) {
    const [position, velocity] = [2 * pair, 2 * pair + 1];
    matrix[position * n + position] = 1;
    matrix[position * n + velocity] = seconds;
    matrix[velocity * n + velocity] = 1 - seconds * (chance(random, 0.5) ? logUniform(random, 0.02, 1) : 0);
    for (let other = 0; other < n / 2; other++) {
      const coupling = chance(random, 0.5) ? 0.3 * random.normal() : 0;
      matrix[velocity * n + 2 * other] = seconds * coupling;
    }
    const spring = chance(random, 0.5) ? -logUniform(random, 0.1, 4) : 0;
    const pull = pair === unstable && growth > 1 ? rate : growth < 1 ? Math.min(spring, -0.1) : spring;
    matrix[velocity * n + position] = seconds * pull;
  }
  return matrix;
}

/** A perturbed identity matrix, scaled to a spectral radius of `growth`. */
function drawMatrix(random: RandomGenerator, n: number, growth: number): Float64Array {
  const spread = logUniform(random, 0.03, 0.25) / Math.sqrt(n);
  const matrix = Float64Array.from({ length: n * n }, (_, i) => {
    return (i % (n + 1) === 0 ? 1 : 0) + spread * random.normal();
  });
  const scale = growth / growthOf(matrix, n);
  return matrix.map((value) => value * scale);
}

/** Approximate spectral radius: the mean growth of a vector over the last 60 of 120 multiplications. */
function growthOf(matrix: Float64Array, n: number): number {
  let vector = new Float64Array(n).fill(1 / Math.sqrt(n));
  let logarithms = 0;
  for (let i = 0; i < 120; i++) {
    const product = new Float64Array(n);
    for (let row = 0; row < n; row++) {
      for (let j = 0; j < n; j++) product[row]! += matrix[row * n + j]! * vector[j]!;
    }
    const length = Math.hypot(...product);
    if (i >= 60) logarithms += Math.log(length);
    vector = product.map((value) => value / length);
  }
  return Math.exp(logarithms / 60);
}

/**
 * Pairs (θ, ω): ω' = ω + dt·(a·sin θ − friction·ω + coupling·sin(θ_other − θ)) + push, clipped to ±12; and θ' = θ + dt·ω'.
 */
export function drawRotors(random: RandomGenerator, pairs: number): Plant {
  const n = 2 * pairs;
  const seconds = logUniform(random, 0.03, 0.1);
  const gravity = Float64Array.from({ length: pairs }, () => randomSign(random) * logUniform(random, 1, 12));
  const friction = Float64Array.from({ length: pairs }, () => logUniform(random, 0.01, 1));
  const coupling = pairs === 1 ? 0 : random.uniform(-4, 4);
  return {
    dimension: n,
    driven: Array.from({ length: pairs }, (_, pair) => 2 * pair + 1),
    angles: Array.from({ length: pairs }, (_, pair) => 2 * pair),
    advance(state, push) {
      const [first, last] = [state[0]!, state[n - 2]!];
      for (let pair = 0; pair < pairs; pair++) {
        const angle = state[2 * pair]!;
        const other = pair === 0 ? last : first;
        const acceleration =
          gravity[pair]! * Math.sin(angle) -
          friction[pair]! * state[2 * pair + 1]! +
          coupling * Math.sin(other - angle);
        const velocity = state[2 * pair + 1]! + seconds * acceleration + push[2 * pair + 1]!;
        state[2 * pair + 1] = Math.min(12, Math.max(-12, velocity));
        state[2 * pair] = angle + seconds * state[2 * pair + 1]!;
      }
    },
  };
}

/** A chain of lightly damped springs, pendulums or masses in uneven wells, of which the first is driven. */
export function drawOscillators(random: RandomGenerator, pairs: number): Plant {
  const n = 2 * pairs;
  const shape = random.choice(['spring', 'pendulum', 'wells'] as const);
  const seconds = logUniform(random, 0.05, 0.25);
  const stiffness = Float64Array.from({ length: pairs }, () => logUniform(random, 0.3, 3));
  const friction = Float64Array.from({ length: pairs }, () => logUniform(random, 0.003, 0.08));
  const coupling = pairs === 1 ? 0 : logUniform(random, 0.1, 1);
  const tilt = random.uniform(-0.3, 0.3);
  const back = (x: number): number => {
    if (shape === 'spring') return x;
    if (shape === 'pendulum') return Math.sin(x);
    return Math.sin(x) + 0.5 * Math.sin(2 * x + tilt) - 0.5 * Math.sin(tilt);
  };
  return {
    dimension: n,
    driven: [1],
    angles: [],
    advance(state, push) {
      for (let pair = pairs - 1; pair >= 0; pair--) {
        const [x, velocity] = [state[2 * pair]!, state[2 * pair + 1]!];
        const pull = pairs === 1 ? 0 : coupling * (state[pair === 0 ? 2 : 2 * pair - 2]! - x);
        const acceleration = pull - stiffness[pair]! * back(x) - friction[pair]! * velocity;
        state[2 * pair + 1] = velocity + seconds * acceleration + push[2 * pair + 1]!;
      }
      for (let pair = 0; pair < pairs; pair++) state[2 * pair]! += seconds * state[2 * pair + 1]!;
    },
  };
}

export interface Sensors {
  readonly count: number;
  /** Writes `count` float32 numbers into `seen`. */
  read(state: Float64Array, seen: Float64Array): void;
}

/** Draws how a state is observed. @param scales factors of the coordinates; by default, log-uniform from 0.03 to 3 */
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
