/**
 * Gaussian process regression of returns on parameters: Matérn 5/2 kernel with one length scale per
 * coordinate (or a shared one), amplitude profiled out. C. E. Rasmussen and C. K. I. Williams, “Gaussian
 * Processes for Machine Learning” (2006), equations 2.25, 2.26, 4.17, 5.8, 5.9.
 */
import { largest } from '../statistics/descriptive.js';
import {
  cholesky,
  dot,
  inverseOfProduct,
  invertLowerTriangular,
  multiplyLowerTriangular,
  multiplyTransposed,
  type SquareMatrix,
} from './linear-algebra.js';

/** Evaluated points: n rows of d coordinates, and n targets with mean 0 and standard deviation 1. */
export interface Observations {
  readonly rows: readonly Float64Array[];
  readonly targets: Float64Array;
  /** Measure of the difference between two values of a coordinate. */
  readonly metric: Metric;
}

/** `distance`: the numeric difference. `equality`: 0 for equal table entries, otherwise 1. */
export type Metric = 'distance' | 'equality';

/** Added to the diagonal of the covariance matrix so that duplicate points don't make it singular. */
const jitter = 1e-6;
/** Added to the amplitude, so that its logarithm stays finite if all targets are 0. */
const minAmplitude = 1e-9;

/** Normal priors on log hyperparameters; length scales grow with √d (C. Hvarfner et al., ICML 2024). */
export interface Prior {
  readonly length: { readonly mean: number; readonly deviation: number };
  readonly noise: { readonly mean: number; readonly deviation: number };
}

/** @param noisy true if repeated evaluations of a point can differ */
export const priorOf = (dimensions: number, noisy: boolean): Prior => ({
  length: { mean: Math.log(0.8 * Math.sqrt(dimensions)), deviation: 0.75 },
  noise: { mean: Math.log(noisy ? 0.2 : 0.05), deviation: 1 },
});

/** Log length scales (one shared, or one per dimension), then the log noise variance η relative to the amplitude. */
export type Hyperparameters = Float64Array;

export interface ObjectiveValue {
  /** The objective to minimise: the negative log posterior density, up to a constant. */
  readonly value: number;
  /** Gradient with respect to the hyperparameters. */
  readonly gradient: Float64Array;
}

/** One term of Σ((xᵢ − x′ᵢ)/ℓᵢ)² before scaling: (xᵢ − x′ᵢ)², or 0 or 1 for `equality`. */
const squaredDifference = (a: Float64Array, b: Float64Array, i: number, metric: Metric) =>
  metric === 'distance' ? (a[i]! - b[i]!) ** 2 : Number(a[i] !== b[i]);

/** Returns 1/ℓᵢ² for each coordinate. */
function precisions(hyperparameters: Hyperparameters, count: number): Float64Array {
  const isShared = hyperparameters.length === 2;
  return Float64Array.from({ length: count }, (_, i) => Math.exp(-2 * hyperparameters[isShared ? 0 : i]!));
}

/** Returns the argument of the Matérn 5/2 kernel: √5 times the scaled distance. */
function scaledDistance(a: Float64Array, b: Float64Array, weights: Float64Array, metric: Metric): number {
  let sum = 0;
  for (let i = 0; i < weights.length; i++) sum += weights[i]! * squaredDifference(a, b, i, metric);
  return Math.sqrt(5 * sum);
}

const matern = (c: number) => (1 + c + (c * c) / 3) * Math.exp(-c);

interface FactorizedCovariance {
  readonly weights: Float64Array;
  readonly factor: SquareMatrix;
  readonly inverse: SquareMatrix;
  /** K⁻¹z. */
  readonly alpha: Float64Array;
  /** The amplitude zᵀK⁻¹z/n. */
  readonly amplitude: number;
}

/** @returns undefined if the covariance matrix can't be factored */
function factorize(
  { rows, targets, metric }: Observations,
  hyperparameters: Hyperparameters,
): FactorizedCovariance | undefined {
  const n = rows.length;
  const weights = precisions(hyperparameters, rows[0]!.length);
  const noise = Math.exp(hyperparameters.at(-1)!);
  const covariances = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < i; j++)
      covariances[i * n + j] = matern(scaledDistance(rows[i]!, rows[j]!, weights, metric));
    covariances[i * n + i] = 1 + noise + jitter;
  }
  const factor = cholesky(covariances, n);
  if (factor === undefined) return undefined;
  const inverse = invertLowerTriangular(factor, n);
  const half = multiplyLowerTriangular(inverse, n, targets);
  const alpha = multiplyTransposed(inverse, n, half);
  return { weights, factor, inverse, alpha, amplitude: dot(half, half) / n };
}

/**
 * ½ n log s² + Σ log Lⱼⱼ − log prior, with its gradient, where s² is the amplitude and L the Cholesky factor of K;
 * infinite if K can't be factored.
 */
export function negativeLogPosterior(
  observations: Observations,
  hyperparameters: Hyperparameters,
  prior: Prior,
): ObjectiveValue {
  const { rows, metric } = observations;
  const n = rows.length;
  const gradient = new Float64Array(hyperparameters.length);
  const fit = factorize(observations, hyperparameters);
  if (fit === undefined) return { value: Number.POSITIVE_INFINITY, gradient };
  const { weights, factor, inverse, alpha } = fit;
  const amplitude = fit.amplitude + minAmplitude;
  const precision = inverseOfProduct(inverse, n);
  let value = (n / 2) * Math.log(amplitude);
  const last = hyperparameters.length - 1;
  const noise = Math.exp(hyperparameters[last]!);
  for (let a = 0; a < n; a++) {
    value += Math.log(factor[a * n + a]!);
    gradient[last]! += 0.5 * (precision[a * n + a]! - alpha[a]! ** 2 / amplitude) * noise;
    for (let b = 0; b < a; b++) {
      const c = scaledDistance(rows[a]!, rows[b]!, weights, metric);
      // Each pair occurs twice in the symmetric matrix but only once here, which cancels the factor ½ of the trace.
      const pull = precision[a * n + b]! - (alpha[a]! * alpha[b]!) / amplitude;
      const pairFactor = pull * (5 / 3) * (1 + c) * Math.exp(-c);
      for (let i = 0; i < weights.length; i++)
        gradient[last === 1 ? 0 : i]! +=
          pairFactor * weights[i]! * squaredDifference(rows[a]!, rows[b]!, i, metric);
    }
  }
  for (const [i, parameter] of hyperparameters.entries()) {
    const { mean, deviation } = i === last ? prior.noise : prior.length;
    value += ((parameter - mean) / deviation) ** 2 / 2;
    gradient[i]! += (parameter - mean) / deviation ** 2;
  }
  return { value, gradient };
}

/** Posterior distribution of the function, given the observations. */
export interface Posterior {
  /** The highest posterior mean at any observed or believed point. */
  readonly highestMean: number;
  /** Mean and variance of the function at a point, excluding noise. */
  predict(point: Float64Array): { readonly mean: number; readonly variance: number };
  /** Returns the posterior with one more point, whose target is assumed to equal the posterior mean there. */
  withBelief(point: Float64Array): Posterior;
}

/** Computes the posterior. If the covariance matrix can't be factored, retries with ten times the noise. */
export function posteriorOf(observations: Observations, hyperparameters: Hyperparameters): Posterior {
  const fit = factorize(observations, hyperparameters);
  const logNoise = hyperparameters.at(-1)!;
  if (fit === undefined) return posteriorOf(observations, hyperparameters.with(-1, logNoise + Math.log(10)));
  const { rows, metric } = observations;
  const inverse = rows.map((_, i) => fit.inverse.subarray(i * rows.length, i * rows.length + i + 1));
  return posterior({ ...fit, rows, metric, inverse, diagonal: 1 + Math.exp(logNoise) + jitter });
}

interface KnownData extends Pick<FactorizedCovariance, 'weights' | 'alpha' | 'amplitude'> {
  readonly rows: readonly Float64Array[];
  readonly metric: Metric;
  /** Rows of L⁻¹ up to the diagonal. */
  readonly inverse: readonly Float64Array[];
  /** Diagonal of the covariance matrix. */
  readonly diagonal: number;
}

function posterior(known: KnownData): Posterior {
  const { rows, metric, inverse, weights, alpha, amplitude, diagonal } = known;
  const covariancesOf = (point: Float64Array) => {
    const covariances = new Float64Array(rows.length);
    for (let i = 0; i < rows.length; i++)
      covariances[i] = matern(scaledDistance(rows[i]!, point, weights, metric));
    return covariances;
  };
  const meanOf = (covariances: Float64Array) => dot(alpha, covariances);
  return {
    highestMean: largest(rows.map((row) => meanOf(covariancesOf(row)))),
    predict(point) {
      const covariances = covariancesOf(point);
      let explained = 0;
      for (const row of inverse) explained += dot(row, covariances) ** 2;
      return { mean: meanOf(covariances), variance: amplitude * Math.max(0, 1 - explained) };
    },
    withBelief(point) {
      const half = Float64Array.from(inverse, (row) => dot(row, covariancesOf(point)));
      const length = Math.sqrt(Math.max(diagonal - dot(half, half), jitter));
      const row = new Float64Array(rows.length + 1);
      for (const [i, value] of half.entries())
        for (const [j, element] of inverse[i]!.entries()) row[j]! -= (value * element) / length;
      row[rows.length] = 1 / length;
      return posterior({
        ...known,
        rows: [...rows, point],
        inverse: [...inverse, row],
        // A target that equals the posterior mean doesn't change the mean.
        alpha: Float64Array.from([...alpha, 0]),
      });
    },
  };
}
