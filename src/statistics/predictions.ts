import { mean, sum } from './descriptive.js';

/** Figures that show how well predictions match observed values. */
export interface PredictionFigures {
  readonly count: number;
  /** Mean error; positive if predictions are too high. */
  readonly bias: number;
  /** Mean absolute error. */
  readonly error: number;
  /** Pearson correlation; null if either variable is constant. */
  readonly correlation: number | null;
}

/** Compares predictions with observed values; undefined if there are no pairs. */
export function predictionFigures(
  pairs: readonly (readonly [predicted: number, observed: number])[],
): PredictionFigures | undefined {
  if (pairs.length === 0) return undefined;
  const [x, y] = [mean(pairs.map(([a]) => a)), mean(pairs.map(([, b]) => b))];
  const moment = (term: (a: number, b: number) => number) => sum(pairs.map(([a, b]) => term(a - x, b - y)));
  const spread = Math.sqrt(moment((a) => a * a) * moment((_, b) => b * b));
  return {
    count: pairs.length,
    bias: x - y,
    error: mean(pairs.map(([a, b]) => Math.abs(a - b))),
    correlation: spread > 0 ? moment((a, b) => a * b) / spread : null,
  };
}
