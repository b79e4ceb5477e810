import { type Html, html } from '../../format/html.js';
import { apart, formatNumber, formatScore, plural } from '../../format/numbers.js';
import type { BufferEntry } from '../../rollout/replay-buffer.js';
import { largest, quantile, smallest, standardDeviation } from '../../statistics/descriptive.js';
import { chartFigure } from '../../web/chart.js';
import { Curve } from '../../web/course.js';
import { type CurvePoint, curveChart } from '../../web/curve.js';
import { isRejected, type LoggedProposal, onlyProposals, type RunData } from '../data/proposals.js';
import type { ShownCalls } from '../data/shown-calls.js';

/** True if returns have at most two distinct values, such as 0 and 1; quartiles are then uninformative. */
function isBinary(entries: readonly BufferEntry[]): boolean {
  const values = new Set<number>();
  return entries.every(({ returns }) => {
    for (const value of returns) values.add(value);
    return values.size <= 2;
  });
}

/** The spread to draw for an evaluation: range and quartiles or, if returns are binary, the standard error. */
export function spreadOf({ returns, score }: BufferEntry, isBinary: boolean) {
  if (isBinary) {
    const error = returns.length < 2 ? 0 : standardDeviation(returns) / Math.sqrt(returns.length);
    return { low: score - error, high: score + error };
  }
  if (returns.length === 0) return { low: score, high: score };
  const sorted = returns.toSorted((a, b) => a - b);
  const inner = [quantile(sorted, 0.25), quantile(sorted, 0.75)] as const;
  return { low: sorted[0]!, high: sorted.at(-1)!, inner };
}

/** Maximum number of failed proposals to mark; if there are more, only the latest are marked. */
const mostLost = 500;

/** Draws each evaluation's score and spread, the best so far, failed proposals, the confirmed return and the target. */
export function learningCurve(
  data: RunData,
  proposals: readonly LoggedProposal[],
  link: ShownCalls['link'],
): Html {
  const { config, confirmed, entries } = data;
  if (entries.length === 0) return html`<p class="empty">No evaluations.</p>`;
  const binary = isBinary(entries);
  const curve = new Curve();
  const byPlace = new Map<string, BufferEntry>();
  let warmup = 0;
  for (const entry of entries) {
    const candidate = entry.iteration === 0 ? warmup++ : entry.candidate;
    byPlace.set(`${entry.iteration} ${candidate}`, entry);
    curve.add({ ...entry, candidate, ...spreadOf(entry, binary) });
  }
  const lost = onlyProposals(proposals).filter(isRejected);
  const asText = apart(
    entries.map(({ score }) => score),
    formatScore,
  );
  const several = entries.some(({ candidate, iteration }) => iteration > 0 && candidate > 0);
  const noteOf = ({ best, candidate, iteration, score }: CurvePoint) => {
    const { returns } = byPlace.get(`${iteration} ${candidate}`)!;
    const place =
      iteration === 0
        ? `Warm-up policy ${candidate + 1}`
        : `Iteration ${iteration}${several ? `, candidate ${candidate + 1}` : ''}`;
    const range = returns.length > 1 ? `, ${returnRange(returns)}` : '';
    return `${place}: ${asText(score)}${range}; best so far ${asText(best)}`;
  };
  const { episodes } = config.evaluation;
  const chart = curveChart({
    points: curve.points(),
    lost: lost.slice(-mostLost),
    evaluations: entries.length,
    ...(confirmed && { confirmed: { ...confirmed, at: confirmed } }),
    target: config.target?.return,
    title: episodes === 1 ? 'Return' : `Mean return of ${episodes} episodes`,
    noteOf,
    linkOf: (place) => (place.iteration === 0 ? null : (link(place) ?? null)),
    hint: 'Hover over an evaluation for details; click to open its log; drag to zoom, double-click to reset.',
  });
  const spread = binary ? 'the standard error of the mean' : 'quartiles (bar) and range (line) over episodes';
  return chartFigure(chart, episodes > 1 ? html`Evaluations with ${spread}.` : undefined);
}

function returnRange(returns: readonly number[]): string {
  const range = [smallest(returns), largest(returns)];
  const ends = range.map(apart(range, formatNumber));
  return `${plural(returns.length, 'episode')} from ${ends.join(' to ')}`;
}
