import type { Content } from '../../../base/text/content.js';
import { html } from '../../../base/text/html.js';
import { distinctFormat, formatNumber, formatReturn, plural } from '../../../base/text/numbers.js';
import { largest, smallest } from '../../../statistics/descriptive.js';
import { predictionFigures } from '../../../statistics/predictions.js';
import { chartFigure } from '../../chart.js';
import { type LoggedProposal, skipRevisions } from '../data/proposals.js';

/** Plots predicted against observed returns; undefined if no evaluated proposal predicted its return. */
export function predictionView(proposals: readonly LoggedProposal[]): Content | undefined {
  const requestedProposals = skipRevisions(proposals);
  const points = requestedProposals
    .flatMap(({ entry, iteration, predicted }) =>
      entry === undefined || predicted === undefined ? [] : [{ iteration, predicted, observed: entry.score }],
    )
    .toSorted((a, b) => a.predicted - b.predicted);
  const figures = predictionFigures(points.map((point) => [point.predicted, point.observed]));
  if (figures === undefined) return undefined;
  const [predicted, observed] = [points.map((one) => one.predicted), points.map((one) => one.observed)];
  const asText = distinctFormat([...predicted, ...observed]);
  const [low, high] = [smallest(observed), largest(observed)];
  const { bias, correlation, count, error } = figures;
  const figure = chartFigure({
    label: `Predicted and observed returns of ${plural(points.length, 'proposal')}.`,
    x: { title: 'Predicted return' },
    y: { title: 'Observed return' },
    height: 240,
    at: predicted,
    series: [
      { label: 'proposal', draw: 'points', color: '--point', values: observed },
      {
        label: 'perfect prediction',
        draw: 'line',
        color: '--muted',
        isDashed: true,
        values: predicted.map((value) => (value >= low && value <= high ? value : null)),
      },
    ],
    notes: points.map(
      (point) =>
        `Iteration ${point.iteration}: predicted ${asText(point.predicted)}, observed ${asText(point.observed)}`,
    ),
  });
  return html`${figure}
<p>Evaluated proposals with a predicted return: ${count} of ${requestedProposals.length}. Mean absolute error ${formatReturn(error)}, mean error ${formatReturn(bias)} (positive: too optimistic)${correlation !== null && count > 2 && html`, correlation ${formatNumber(correlation, 2)}`}.</p>`;
}
