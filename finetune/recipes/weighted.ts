import { mean, standardDeviation } from '../../src/statistics.js';
import type { Imitation } from '../example.js';
import type { SourceRun } from '../source-run.js';
import { imitate } from './improvement.js';

/** The largest factor before scaling, as in the source below. */
const largestWeight = 20;

/**
 * Imitates every proposal, the better ones more: weight exp(A), at most 20 (advantage-weighted regression, Peng et al.
 * 2019). The advantage A is how far the score lies above the best so far, standardised over the run, so that returns
 * of different environments compare. The weights of a run are scaled to a mean of 1.
 */
export function weighted(run: SourceRun): readonly Imitation[] {
  const proposals = run.steps.flatMap((step) => {
    const { incumbent } = step;
    return incumbent === undefined
      ? []
      : step.proposals.map((proposed) => ({ step, proposed, gain: proposed.entry.score - incumbent.score }));
  });
  const weights = advantageWeights(proposals.map(({ gain }) => gain));
  return proposals.map(({ step, proposed }, i) => imitate(run, 'weighted', step, proposed, weights[i]!));
}

/** Six significant digits: enough for a loss, and the same text on every machine. */
export function advantageWeights(gains: readonly number[]): readonly number[] {
  const centre = mean(gains);
  const spread = standardDeviation(gains);
  const raw = gains.map((gain) =>
    spread > 0 ? Math.min(largestWeight, Math.exp((gain - centre) / spread)) : 1,
  );
  const average = mean(raw);
  return raw.map((weight) => Number((weight / average).toPrecision(6)));
}
