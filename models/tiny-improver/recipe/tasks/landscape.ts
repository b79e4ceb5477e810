import type { RandomGenerator } from '../../../../src/base/random/generator.js';
import {
  type BoxSpace,
  type Observation,
  symmetricBox,
  type Task,
  type TaskStep,
} from '../../../../src/environments/environment.js';
import { largest } from '../../../../src/statistics/descriptive.js';
import { drawShare, projection, quantile } from './controlled-task.js';
import {
  chance,
  type Draw,
  type DrawnTask,
  integerBetween,
  logUniform,
  permutation,
  randomSign,
  rotation,
  unitVector,
} from './distributions.js';

/** Points of a landscape are within ±`reach` in every dimension. */
const reach = 6;

type Height = (point: readonly number[] | Float64Array) => number;

/** Single-step tasks: the action is a point, and the reward its value. A linear policy's weights are that point. */
class SingleStepTask implements Task<readonly number[]> {
  readonly observationSpace: BoxSpace = { kind: 'box', low: [1], high: [1] };
  readonly actionSpace: BoxSpace;
  readonly #value: (point: Float64Array, random: RandomGenerator) => number;
  readonly #point: Float64Array;
  #random!: RandomGenerator;

  /** @param value value of a point, which is the action clipped to ±`reach` */
  constructor(n: number, value: (point: Float64Array, random: RandomGenerator) => number) {
    this.actionSpace = symmetricBox(n, reach);
    this.#value = value;
    this.#point = new Float64Array(n);
  }

  reset(random: RandomGenerator): Observation {
    this.#random = random;
    return [1];
  }

  step(action: readonly number[]): TaskStep {
    for (let i = 0; i < action.length; i++) this.#point[i] = Math.min(reach, Math.max(-reach, action[i]!));
    return { observation: [1], reward: this.#value(this.#point, this.#random), terminated: true };
  }
}

/** A landscape, noisy in 40% of the draws. @param deviations range of the noise's standard deviation / `scale` */
function drawnLandscape(
  random: RandomGenerator,
  n: number,
  { scale, height, deviations }: { scale: number; height: Height; deviations: readonly [number, number] },
): DrawnTask {
  const noise = chance(random, 0.4) ? scale * logUniform(random, ...deviations) : 0;
  const value = (point: Float64Array, episode: RandomGenerator) =>
    height(point) + (noise === 0 ? 0 : episode.normal(0, noise));
  return { task: new SingleStepTask(n, value), maxSteps: 1 };
}

/** Number of points used to standardise a landscape. */
const samples = 200;

/** A random function of 2 to 24 numbers; see `drawShape` and `drawTransform`. */
export const drawLandscape: Draw = (random) => {
  const n = drawDimension(random);
  const shape = drawShape(random, n);
  const { middle, spread } = momentsOf(Array.from({ length: samples }, () => shape(randomPoint(random, n))));
  const isFlat = !(spread > 1e-9);
  if (isFlat) return undefined;
  const kinds = ['plain', 'plain', 'exponential', 'power', 'cut', 'steps'] as const;
  const transform = drawTransform(random, random.choice(kinds));
  const { scale, offset } = drawUnits(random);
  const height: Height = (point) => offset + scale * transform((shape(point) - middle) / spread);
  return drawnLandscape(random, n, { scale, height, deviations: [0.02, 0.5] });
};

function momentsOf(values: readonly number[]): { readonly middle: number; readonly spread: number } {
  const mean = (numbers: readonly number[]) => numbers.reduce((sum, n) => sum + n, 0) / numbers.length;
  const middle = mean(values);
  return { middle, spread: Math.sqrt(mean(values.map((value) => (value - middle) ** 2))) };
}

/** Draws 2 to 24 parameters; smaller numbers are more likely. */
const drawDimension = (random: RandomGenerator): number =>
  Math.min(24, Math.floor(logUniform(random, 2, 25)));

/** A typical initial point of a search: uniform within ±`reach` / 2. */
function randomPoint(random: RandomGenerator, n: number): Float64Array {
  return Float64Array.from({ length: n }, () => random.uniform(-reach / 2, reach / 2));
}

/** Draws a scale and an offset for scores, as diverse as in real tasks. */
function drawUnits(random: RandomGenerator): { readonly scale: number; readonly offset: number } {
  const scale = logUniform(random, 0.1, 1000);
  return { scale, offset: chance(random, 0.6) ? scale * 3 * random.normal() : 0 };
}

function drawShape(random: RandomGenerator, n: number): Height {
  const kind = random.choice(['bowl', 'bowl', 'hills', 'ripples', 'network', 'signs'] as const);
  switch (kind) {
    case 'bowl':
    case 'ripples':
      return drawBowl(random, n, kind === 'ripples');
    case 'hills':
      return drawHills(random, n);
    case 'network':
      return drawNetwork(random, n);
    case 'signs':
      return drawSigns(random, n);
  }
}

/** −Σ weight·z² / n, where z is the (sometimes rotated) offset from a random optimum; may have Rastrigin's ripples. */
function drawBowl(random: RandomGenerator, n: number, rippled: boolean): Height {
  const optimum = Float64Array.from({ length: n }, () => random.uniform(-reach, reach));
  const turned = chance(random, 0.5) ? rotation(random, n) : undefined;
  const badness = logUniform(random, 1, 30);
  const weights = Float64Array.from({ length: n }, () => logUniform(random, 1 / badness, badness));
  const amplitude = rippled ? logUniform(random, 0.5, 8) : 0;
  const frequency = (2 * Math.PI) / logUniform(random, 1, 5);
  return (point) => {
    let sum = 0;
    for (let i = 0; i < n; i++) {
      let z = point[i]! - optimum[i]!;
      if (turned !== undefined) {
        z = 0;
        for (let j = 0; j < n; j++) z += turned[i * n + j]! * (point[j]! - optimum[j]!);
      }
      sum += weights[i]! * (z * z + (amplitude === 0 ? 0 : amplitude * (1 - Math.cos(frequency * z))));
    }
    return -sum / n;
  };
}

/** A sum of Gaussian hills of different heights and widths. */
function drawHills(random: RandomGenerator, n: number): Height {
  const count = integerBetween(random, 2, 8);
  const hills = Array.from({ length: count }, () => ({
    center: Float64Array.from({ length: n }, () => random.uniform(-reach, reach)),
    height: random.uniform(0.2, 1),
    width: logUniform(random, 1, 4) * Math.sqrt(n),
  }));
  return (point) => {
    let sum = 0;
    for (const { center, height, width } of hills) {
      let distance = 0;
      for (let i = 0; i < n; i++) distance += (point[i]! - center[i]!) ** 2;
      sum += height * Math.exp(-distance / (2 * width * width));
    }
    return sum;
  };
}

function drawNetwork(random: RandomGenerator, n: number): Height {
  const units = integerBetween(random, 3, 12);
  const gain = logUniform(random, 0.2, 1) / Math.sqrt(n);
  const weights = Float64Array.from({ length: units * n }, () => gain * random.normal());
  const biases = Float64Array.from({ length: units }, () => random.normal());
  const outputs = Float64Array.from({ length: units }, () => random.normal());
  return (point) => {
    let sum = 0;
    for (let unit = 0; unit < units; unit++) {
      let input = biases[unit]!;
      for (let i = 0; i < n; i++) input += weights[unit * n + i]! * point[i]!;
      sum += outputs[unit]! * Math.tanh(input);
    }
    return sum;
  };
}

/** A function of soft signs, as is common in control: tanh of weighted sums, alone or multiplied in pairs. */
function drawSigns(random: RandomGenerator, n: number): Height {
  const count = integerBetween(random, 2, 6);
  const sharpness = logUniform(random, 0.3, 5);
  const margins = Array.from({ length: 2 * count }, () => ({
    direction: chance(random, 0.4) ? axis(random, n) : unitVector(random, n),
    bias: random.uniform(-2, 2),
  }));
  const paired = Array.from({ length: count }, () => chance(random, 0.5));
  const margin = (k: number, point: ArrayLike<number>): number => {
    const { direction, bias } = margins[k]!;
    let sum = bias;
    for (let i = 0; i < n; i++) sum += direction[i]! * point[i]!;
    return Math.tanh(sharpness * sum);
  };
  return (point) => {
    let sum = 0;
    for (let k = 0; k < count; k++) {
      sum += margin(2 * k, point) * (paired[k] ? margin(2 * k + 1, point) : 1);
    }
    return sum;
  };
}

function axis(random: RandomGenerator, n: number): Float64Array {
  const direction = new Float64Array(n);
  direction[random.integers(0, n)] = randomSign(random);
  return direction;
}

/** A non-decreasing function of standardised heights. */
function drawTransform(
  random: RandomGenerator,
  kind: 'plain' | 'exponential' | 'power' | 'cut' | 'steps',
): (height: number) => number {
  switch (kind) {
    case 'plain':
      return (height) => height;
    case 'exponential': {
      const rate = logUniform(random, 0.3, 2);
      return (height) => Math.exp(Math.min(4, rate * height));
    }
    case 'power': {
      const exponent = logUniform(random, 0.3, 3);
      return (height) => Math.sign(height) * Math.abs(height) ** exponent;
    }
    case 'cut': {
      const low = random.uniform(-1.5, 0.5);
      const high = random.uniform(1.5, 6);
      return (height) => Math.min(high, Math.max(low, height));
    }
    case 'steps': {
      const width = logUniform(random, 0.1, 1);
      return (height) => width * Math.floor(height / width);
    }
  }
}

/** Number of random points used to set the height of the plateau. */
const plateauSamples = 600;

/** A plateau, flat or slightly sloped, with bumps and ridges that the target share of random points hits. */
export const drawSparse: Draw = (random) => {
  const n = drawDimension(random);
  const { nearness, top } = drawBumps(random, n);
  const share = drawShare(random);
  const heights = Float64Array.from({ length: plateauSamples }, () =>
    nearness(randomPoint(random, n)),
  ).sort();
  const level = quantile(heights, 1 - share);
  // Reject draws whose bumps hardly rise above the plateau.
  if (top - level < 1e-6) return undefined;
  const slope = chance(random, 0.4) ? unitVector(random, n) : new Float64Array(n);
  const steepness = logUniform(random, 0.002, 0.05) / reach;
  const exponent = chance(random, 0.5) ? 1 : logUniform(random, 0.2, 3);
  const { scale, offset } = drawUnits(random);
  const height: Height = (point) => {
    const downhill = projection(point, slope);
    const above = Math.max(0, (nearness(point) - level) / (top - level));
    return offset + scale * (above ** exponent + steepness * downhill);
  };
  return drawnLandscape(random, n, { scale, height, deviations: [0.003, 0.1] });
};

/** `nearness` is the maximum of bonus − distance² over a few bumps; ridges use only some dimensions. */
function drawBumps(random: RandomGenerator, n: number): { readonly nearness: Height; readonly top: number } {
  const bumps = Array.from({ length: integerBetween(random, 1, 4) }, () => ({
    center: Float64Array.from({ length: n }, () => random.uniform(-0.9 * reach, 0.9 * reach)),
    dimensions: permutation(random, n).slice(0, chance(random, 0.5) ? n : integerBetween(random, 1, n)),
    width: logUniform(random, 0.5, 2),
    bonus: random.uniform(0, 0.3),
  }));
  const nearness: Height = (point) => {
    let best = Number.NEGATIVE_INFINITY;
    for (const { center, dimensions, width, bonus } of bumps) {
      let distance = 0;
      for (const i of dimensions) distance += ((point[i]! - center[i]!) / width) ** 2;
      best = Math.max(best, bonus - distance / dimensions.length);
    }
    return best;
  };
  return { nearness, top: largest(bumps.map(({ bonus }) => bonus)) };
}
