/** Random functions: networks, and samples of Gaussian processes (random Fourier features, Rahimi and Recht 2007). */
import type { RandomGenerator } from '../../random/generator.js';
import { chance, type Draw, drawPointHint, integerBetween, logUniform } from './distributions.js';
import { drawTransform, drawUnits, type Height, momentsOf, SingleStepTask } from './landscape.js';

/** Number of cosines per sample; 100 approximate a one-dimensional sample well. */
const features = 100;

/** 1, 3 and 5 are Matérn ½, 3⁄2 and 5⁄2, whose frequencies have a t distribution with that many degrees of freedom. */
const kernels = ['gaussian', 1, 3, 5] as const;
type Kernel = (typeof kernels)[number];

/**
 * A sample of a process on [−1, 1]ⁿ. Each coordinate has a length scale, log-uniform from 0.1 to 10 (times
 * √n/2, because distances grow with n). Each except the first has a 30% chance of having no effect.
 * @param of `sum`: one kernel or the sum of two; `product`: the product of two, whose frequencies are added
 */
export function drawField(random: RandomGenerator, n: number, of: 'sum' | 'product'): Height {
  const active = Array.from({ length: n }, (_, i) => i === 0 || !chance(random, 0.3));
  const rates = () => active.map((acts) => (acts ? 2 / (Math.sqrt(n) * logUniform(random, 0.1, 10)) : 0));
  const [first, second] = [drawWaves(random, rates()), drawWaves(random, rates())];
  if (of === 'product') return heightOf(first.map((wave, k) => joined(wave, second[k]!)));
  const share = chance(random, 0.5) ? 0 : random.uniform(0.2, 1);
  const [one, other] = [heightOf(first), heightOf(second)];
  return share === 0 ? one : (point) => one(point) + share * other(point);
}

interface Wave {
  readonly frequency: Float64Array;
  readonly phase: number;
  readonly height: number;
}

const joined = (a: Wave, b: Wave): Wave => ({
  ...a,
  frequency: a.frequency.map((f, i) => f + b.frequency[i]!),
});

function drawWaves(random: RandomGenerator, rates: readonly number[]): readonly Wave[] {
  const kernel = random.choice(kernels);
  return Array.from({ length: features }, () => {
    const spread = spreadOf(random, kernel);
    return {
      frequency: Float64Array.from(rates, (rate) => rate * spread * random.normal()),
      phase: random.uniform(0, 2 * Math.PI),
      height: random.normal() * Math.sqrt(2 / features),
    };
  });
}

/** √(ν / χ²_ν), the factor that turns normal frequencies into frequencies of Student's t distribution. */
function spreadOf(random: RandomGenerator, kernel: Kernel): number {
  if (kernel === 'gaussian') return 1;
  let sum = 0;
  for (let k = 0; k < kernel; k++) sum += random.normal() ** 2;
  return Math.sqrt(kernel / sum);
}

const heightOf =
  (waves: readonly Wave[]): Height =>
  (point) => {
    let sum = 0;
    for (const { frequency, height, phase } of waves) {
      let angle = phase;
      for (let i = 0; i < frequency.length; i++) angle += frequency[i]! * point[i]!;
      sum += height * Math.cos(angle);
    }
    return sum;
  };

/** A random network of two to five layers with tanh or ReLU units, on [−1, 1]ⁿ. */
function drawNet(random: RandomGenerator, n: number): Height {
  const rectified = chance(random, 0.5);
  const depth = integerBetween(random, 1, 4);
  const width = integerBetween(random, 6, 24);
  const gain = logUniform(random, 0.8, 4);
  const layers = Array.from({ length: depth + 1 }, (_, layer) => {
    const inputs = layer === 0 ? n : width;
    const outputs = layer === depth ? 1 : width;
    const scale = (layer === 0 ? 2 * gain : gain) / Math.sqrt(inputs);
    return {
      inputs,
      weights: Float64Array.from({ length: inputs * outputs }, () => scale * random.normal()),
      biases: Float64Array.from({ length: outputs }, () => random.normal()),
    };
  });
  return (point) => {
    let values: ArrayLike<number> = point;
    for (const [layer, { biases, inputs, weights }] of layers.entries()) {
      const next = new Float64Array(biases);
      for (let unit = 0; unit < next.length; unit++) {
        for (let i = 0; i < inputs; i++) next[unit]! += weights[unit * inputs + i]! * values[i]!;
        if (layer < depth) next[unit] = rectified ? Math.max(0, next[unit]!) : Math.tanh(next[unit]!);
      }
      values = next;
    }
    return values[0]!;
  };
}

interface FunctionOptions {
  readonly parameters?: number | undefined;
}

/** Samples of Gaussian processes with one kernel or the sum of two. */
export const drawGaussian: Draw<FunctionOptions> = (random, options) =>
  drawFunction(random, options, (n) => drawField(random, n, 'sum'));

/** Samples of Gaussian processes with the product of two kernels. */
export const drawProduct: Draw<FunctionOptions> = (random, options) =>
  drawFunction(random, options, (n) => drawField(random, n, 'product'));

export const drawNetwork: Draw<FunctionOptions> = (random, options) =>
  drawFunction(random, options, (n) => drawNet(random, n));

/** Number of points used to standardise a function. */
const samples = 100;

/** A standardised function on [−1, 1]ⁿ. Some draws warp the inputs, transform the outputs, or add a bowl or noise. */
function drawFunction(
  random: RandomGenerator,
  { parameters }: FunctionOptions,
  draw: (n: number) => Height,
): ReturnType<Draw<FunctionOptions>> {
  const n = parameters ?? Math.min(40, Math.floor(logUniform(random, 2, 41)));
  const warp = chance(random, 0.3) ? drawWarp(random, n) : undefined;
  const shape = draw(n);
  const bowl = chance(random, 1 / 3) ? drawBowl(random, n) : undefined;
  const raw: Height = (point) => {
    const warped = warp?.(point) ?? point;
    return shape(warped) + (bowl?.(warped) ?? 0);
  };
  const { middle, spread } = momentsOf(
    Array.from({ length: samples }, () => raw(Float64Array.from({ length: n }, () => random.uniform(-1, 1)))),
  );
  const isFlat = !(spread > 1e-6);
  if (isFlat) return undefined;
  const kinds = ['plain', 'plain', 'one-sided', 'heavy', 'plateau', 'steps'] as const;
  const transform = drawTransform(random, random.choice(kinds));
  const { offset, scale } = drawUnits(random);
  const noise = chance(random, 0.4) ? logUniform(random, 0.01, 0.3) : 0;
  const uneven = chance(random, 0.3);
  const linear = drawPointHint(random, n);
  const task = new SingleStepTask(n, linear.high, linear.high, (point, episode) => {
    const height = (raw(point) - middle) / spread;
    // Heteroscedastic noise is larger at low points: by a factor of e at two deviations below the mean.
    const deviation = uneven ? noise * Math.exp(-0.5 * Math.min(2, Math.max(-2, height))) : noise;
    return offset + scale * (transform(height) + (noise === 0 ? 0 : episode.normal(0, deviation)));
  });
  return { task, maxSteps: 1, linear };
}

/** Warps each coordinate by the Kumaraswamy distribution function 1 − (1 − t^a)^b, with t in [0, 1]. */
function drawWarp(random: RandomGenerator, n: number): (point: ArrayLike<number>) => Float64Array {
  const bends = Array.from(
    { length: n },
    () => [logUniform(random, 0.4, 2.5), logUniform(random, 0.4, 2.5)] as const,
  );
  return (point) => Float64Array.from(bends, ([a, b], i) => 1 - 2 * (1 - ((point[i]! + 1) / 2) ** a) ** b);
}

/** A bowl with its optimum anywhere in the box, sometimes on a face. */
function drawBowl(random: RandomGenerator, n: number): Height {
  const optimum = Float64Array.from({ length: n }, () =>
    Math.min(1, Math.max(-1, random.uniform(-1.2, 1.2))),
  );
  const depth = logUniform(random, 0.5, 4);
  return (point) => {
    let sum = 0;
    for (let i = 0; i < n; i++) sum += (point[i]! - optimum[i]!) ** 2;
    return (-depth * sum) / n;
  };
}
