import { quantile } from '../../statistics/descriptive.js';

/** A linear map from data to pixels; `ticks` are round values within the domain. */
export interface Scale {
  readonly low: number;
  readonly high: number;
  readonly ticks: readonly number[];
  /** Pixel position of a value; values outside the domain are drawn at its edge. */
  at(value: number): number;
}

/** Maps `[low, high]`, widened to round ticks if `nice`, to pixels `from … to`. */
export function linearScale(
  domain: readonly [number, number],
  range: readonly [number, number],
  options: { readonly ticks: number; readonly nice?: boolean },
): Scale {
  let [low, high] = domain;
  if (!(high > low)) {
    const margin = Math.max(Math.abs(low) * 0.05, 0.5);
    low -= margin;
    high += margin;
  }
  const step = tickStep((high - low) / Math.max(1, options.ticks));
  if (options.nice === true) {
    low = Math.floor(low / step + 1e-9) * step;
    high = Math.ceil(high / step - 1e-9) * step;
  }
  const ticks: number[] = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++)
    ticks.push(roundTick(i * step));
  const [from, to] = range;
  return {
    low,
    high,
    ticks,
    at: (value) => from + ((Math.min(high, Math.max(low, value)) - low) / (high - low)) * (to - from),
  };
}

/** The smallest 1, 2 or 5 × 10ⁿ that is at least `rough`. */
export function tickStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough));
  const fraction = rough / power;
  return (fraction <= 1.0001 ? 1 : fraction <= 2.0001 ? 2 : fraction <= 5.0001 ? 5 : 10) * power;
}

function roundTick(value: number): number {
  return Number(value.toPrecision(12)) + 0;
}

/**
 * The range of the values without outliers at the low end, which would flatten the rest: the low end is at
 * most three interquartile ranges below the lower quartile (Tukey's outer fence).
 */
export function robustDomain(values: readonly number[]): readonly [number, number] {
  const sorted = values.toSorted((a, b) => a - b);
  const lower = quantile(sorted, 0.25);
  const spread = quantile(sorted, 0.75) - lower;
  const fence = spread > 0 ? lower - 3 * spread : sorted[0]!;
  return [Math.max(sorted[0]!, fence), sorted.at(-1)!];
}

/** The maximum without outliers, by the same rule as the low end of `robustDomain`. */
export function robustMaximum(values: readonly number[]): number {
  return -robustDomain(values.map((value) => -value))[0];
}

/** Formats a coordinate with at most two decimals, to keep pages small. */
export function coordinate(value: number): string {
  return String(Math.round(value * 100) / 100);
}

/** A percentage with at most three decimals. */
export function percent(share: number): string {
  return `${Math.round(share * 100_000) / 1000}%`;
}
