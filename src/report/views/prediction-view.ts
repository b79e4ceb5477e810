import { type Html, html } from '../../format/html.js';
import { apart, formatNumber, formatReturn, plural } from '../../format/numbers.js';
import { largest, mean, smallest } from '../../statistics/descriptive.js';
import { figure, plotChart } from '../charts/plot.js';
import { coordinate, linearScale, percent } from '../charts/scale.js';
import { type LoggedProposal, onlyProposals } from '../data/proposals.js';

const height = 180;
/** Number of columns on the horizontal axis. */
const slots = 100;

/** Predicted against observed returns; undefined if no reply predicted one. */
export function predictionView(proposals: readonly LoggedProposal[]): Html | undefined {
  const asked = onlyProposals(proposals);
  const points = asked.flatMap(({ entry, iteration, predicted }) =>
    entry === undefined || predicted === undefined ? [] : [{ iteration, predicted, observed: entry.score }],
  );
  if (points.length === 0) return undefined;
  const [predicted, observed] = [
    points.map((point) => point.predicted),
    points.map((point) => point.observed),
  ];
  const x = linearScale(extent(predicted), [0, slots], { ticks: 5, nice: true });
  const y = linearScale(extent(observed), [height, 0], { ticks: 4, nice: true });
  const told = apart([...predicted, ...observed]);
  const tick = apart(x.ticks);
  const place = (value: number) => percent(x.at(value) / slots);
  // The part of the diagonal within both axes.
  const [low, high] = [Math.max(x.low, y.low), Math.min(x.high, y.high)];
  const errors = points.map((point) => point.predicted - point.observed);
  const error = mean(errors.map(Math.abs));
  const r = correlation(predicted, observed);
  const chart = plotChart({
    description: `Predicted and observed returns of ${plural(points.length, 'proposal')}.`,
    ...{ y, height, yTitle: 'Observed return', formatY: formatReturn },
    x: {
      ...{ slots, title: 'Predicted return' },
      ticks: x.ticks.map((at) => ({ at: x.at(at), label: tick(at) })),
    },
    paths:
      low < high &&
      html`<path class="repeat" d="M${coordinate(x.at(low))} ${coordinate(y.at(low))}L${coordinate(x.at(high))} ${coordinate(y.at(high))}"/>`,
    marks: html`<g class="points">${points.map(
      (point) =>
        html`<circle cx="${place(point.predicted)}" cy="${coordinate(y.at(point.observed))}" r="3"><title>iteration ${point.iteration}: predicted ${told(point.predicted)}, observed ${told(point.observed)}</title></circle>`,
    )}</g>`,
  });
  return html`${figure(chart, 'Each point is a proposal; on the line, the prediction would be right.')}
<p>${points.length} of ${plural(asked.length, 'proposal')} came with a prediction. Mean absolute error ${formatReturn(error)}, mean error ${formatReturn(mean(errors))} (positive: too optimistic)${r !== undefined && html`, correlation ${formatNumber(r, 2)}`}.</p>`;
}

const extent = (values: readonly number[]): [number, number] => [smallest(values), largest(values)];

/** Pearson correlation; undefined for fewer than three points, or if either side is constant. */
function correlation(a: readonly number[], b: readonly number[]): number | undefined {
  const [centreA, centreB] = [mean(a), mean(b)];
  const product = (f: (i: number) => number) => a.reduce((sum, _, i) => sum + f(i), 0);
  const covariance = product((i) => (a[i]! - centreA) * (b[i]! - centreB));
  const spread = Math.sqrt(product((i) => (a[i]! - centreA) ** 2) * product((i) => (b[i]! - centreB) ** 2));
  return a.length < 3 || spread === 0 ? undefined : covariance / spread;
}
