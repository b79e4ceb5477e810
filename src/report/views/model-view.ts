import { type Html, html } from '../../format/html.js';
import {
  apart,
  formatCount,
  formatDuration,
  formatNumber,
  formatReturn,
  plural,
} from '../../format/numbers.js';
import { htmlTable, number, text } from '../../format/table.js';
import { type AdaptationTotals, adaptationTotals, type LoggedAdaptation } from '../../runs/adaptations.js';
import { largest, mean, smallest } from '../../statistics/descriptive.js';
import { coordinate, figure, line, linearScale, numberedTicks, percent, plotChart } from '../charts/plot.js';
import { type LoggedProposal, onlyProposals } from '../data/proposals.js';

const height = 130;

/** Shows how the model was trained during the search; undefined if it wasn't. */
export function learningView(adaptations: readonly LoggedAdaptation[], activeMs: number): Html | undefined {
  const totals = adaptationTotals(adaptations);
  if (totals === undefined) return undefined;
  return html`<div class="charts">
${chart(adaptations, 'Answer entropy, nats per token', ({ entropy }) => entropy)}
${chart(adaptations, 'Standard deviation of rewards within a group', ({ spread }) => spread)}
${chart(adaptations, 'KL divergence from the initial model, nats per token', ({ kl }) => kl)}
<div>${totalsTable(totals, activeMs)}
<p class="note">The adapter is in the run directory, in <code>adapter/</code>; use it in another run with <code>model.adapter</code>.</p></div>
</div>`;
}

function chart(
  adaptations: readonly LoggedAdaptation[],
  title: string,
  of: (one: LoggedAdaptation) => number | undefined,
): Html | undefined {
  const found = adaptations.flatMap((one, i) => {
    const value = of(one);
    return value === undefined ? [] : [{ at: i, value, iteration: one.iteration }];
  });
  if (found.length === 0) return undefined;
  const y = linearScale([0, largest(found.map(({ value }) => value)) || 1], [height, 0], {
    ticks: 4,
    nice: true,
  });
  const d = line(found.map(({ at, value }): [number, number] => [at + 0.5, y.at(value)]));
  return figure(
    plotChart({
      description: `${title}, per update.`,
      yTitle: title,
      y,
      height,
      x: { slots: adaptations.length, ticks: numberedTicks(adaptations.length), title: 'Update' },
      paths: html`<path class="cost" d="${d}"/>`,
      columns: found.map(({ at, iteration, value }) => ({
        ...{ at, width: 1 },
        text: `update ${at + 1}, after iteration ${iteration}: ${formatNumber(value, 3)}`,
      })),
    }),
    undefined,
  );
}

function totalsTable(
  { answers, flat, last, seconds, spread, steps, updates }: AdaptationTotals,
  activeMs: number,
) {
  const figures = (value: number | undefined) => (value === undefined ? [] : [formatNumber(value, 3)]);
  const row = (name: string, values: readonly string[]) => values.map((value) => [name, value] as const);
  const rows = [
    ...row('updates', [formatCount(updates)]),
    ...row('optimizer steps', [formatCount(steps)]),
    ...row('answers compared', [formatCount(answers)]),
    ...row('mean reward spread', figures(spread)),
    ...row('groups with equal rewards', [`${Math.round(100 * flat)} %`]),
    ...row('last loss', figures(last?.loss)),
    ...row('last KL from the initial model', figures(last?.kl)),
    ...row('last KL between trainer and sampler', figures(last?.mismatch)),
    ...row('training time', [formatDuration(1000 * seconds)]),
    ...row('other time', [formatDuration(Math.max(0, activeMs - 1000 * seconds))]),
  ];
  return htmlTable(rows, [text('learning', ([name]) => name), number('value', ([, value]) => value)]);
}

const predictionHeight = 180;
const slots = 100;

/** Plots predicted against observed returns; undefined if no reply predicted one. */
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
  const y = linearScale(extent(observed), [predictionHeight, 0], { ticks: 4, nice: true });
  const asText = apart([...predicted, ...observed]);
  const tick = apart(x.ticks);
  const place = (value: number) => percent(x.at(value) / slots);
  // The ends of the diagonal where both axes overlap.
  const [low, high] = [Math.max(x.low, y.low), Math.min(x.high, y.high)];
  const errors = points.map((point) => point.predicted - point.observed);
  const error = mean(errors.map(Math.abs));
  const r = correlation(predicted, observed);
  const chart = plotChart({
    description: `Predicted and observed returns of ${plural(points.length, 'proposal')}.`,
    ...{ y, height: predictionHeight, yTitle: 'Observed return', formatY: formatReturn },
    x: {
      ...{ slots, title: 'Predicted return' },
      ticks: x.ticks.map((at) => ({ at: x.at(at), label: tick(at) })),
    },
    paths:
      low < high &&
      html`<path class="repeat" d="M${coordinate(x.at(low))} ${coordinate(y.at(low))}L${coordinate(x.at(high))} ${coordinate(y.at(high))}"/>`,
    marks: html`<g class="points">${points.map(
      (point) =>
        html`<circle cx="${place(point.predicted)}" cy="${coordinate(y.at(point.observed))}" r="3"><title>iteration ${point.iteration}: predicted ${asText(point.predicted)}, observed ${asText(point.observed)}</title></circle>`,
    )}</g>`,
  });
  return html`${figure(chart, 'Each point is a proposal; on the line, prediction and observation agree.')}
<p>${points.length} of ${plural(asked.length, 'proposal')} included a prediction. Mean absolute error ${formatReturn(error)}, mean error ${formatReturn(mean(errors))} (positive: too optimistic)${r !== undefined && html`, correlation ${formatNumber(r, 2)}`}.</p>`;
}

const extent = (values: readonly number[]): [number, number] => [smallest(values), largest(values)];

/** Pearson correlation; undefined for fewer than three points, or if either variable is constant. */
function correlation(a: readonly number[], b: readonly number[]): number | undefined {
  const [centreA, centreB] = [mean(a), mean(b)];
  const product = (f: (i: number) => number) => a.reduce((sum, _, i) => sum + f(i), 0);
  const covariance = product((i) => (a[i]! - centreA) * (b[i]! - centreB));
  const spread = Math.sqrt(product((i) => (a[i]! - centreA) ** 2) * product((i) => (b[i]! - centreB) ** 2));
  return a.length < 3 || spread === 0 ? undefined : covariance / spread;
}
