/** Distribution functions from `@stdlib`, loaded lazily: their 400 modules take a tenth of a second to load. */
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** Caches quantiles by degrees of freedom, because computing one is slow and few degrees occur. */
const cachedQuantiles = new Map<number, number>();

/** The 0.975 quantile of Student's t distribution, for any positive degrees of freedom. */
export function studentQuantile975(degrees: number): number {
  const cached = cachedQuantiles.get(degrees);
  if (cached !== undefined) return cached;
  const quantile =
    require('@stdlib/stats-base-dists-t-quantile') as typeof import('@stdlib/stats-base-dists-t-quantile');
  const value = quantile(0.975, degrees);
  cachedQuantiles.set(degrees, value);
  return value;
}

/** P(Z > z) for a standard normal variable Z. */
export function normalTail(z: number): number {
  const cdf =
    require('@stdlib/stats-base-dists-normal-cdf') as typeof import('@stdlib/stats-base-dists-normal-cdf');
  return cdf(-z, 0, 1);
}

/**
 * Exact 95% interval of a proportion (Clopper & Pearson 1934): coverage is at least 95%, whatever the true
 * proportion. Halves (from ties that count half) are rounded outwards. If the trials have different
 * probabilities, the interval also covers their mean (Hoeffding 1956: their sum varies less).
 * @param successes 0 … trials
 */
export function proportionInterval95(successes: number, trials: number): readonly [number, number] {
  if (trials === 0) return [0, 1];
  const quantile =
    require('@stdlib/stats-base-dists-beta-quantile') as typeof import('@stdlib/stats-base-dists-beta-quantile');
  const [least, most] = [Math.floor(successes), Math.ceil(successes)];
  return [
    least === 0 ? 0 : quantile(0.025, least, trials - least + 1),
    most === trials ? 1 : quantile(0.975, most + 1, trials - most),
  ];
}
