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
import { chartFigure } from '../../web/chart.js';
import { type LoggedProposal, onlyProposals } from '../data/proposals.js';

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
  return chartFigure({
    label: `${title}, by update: from ${formatNumber(found[0]!.value, 3)} to ${formatNumber(found.at(-1)!.value, 3)}.`,
    x: { title: 'Update', kind: 'whole' },
    y: { title, from: 0 },
    height: 190,
    at: found.map(({ at }) => at + 1),
    series: [
      { label: title, draw: 'line', colour: '--accent', width: 2, values: found.map(({ value }) => value) },
    ],
    notes: found.map(
      ({ at, iteration, value }) =>
        `Update ${at + 1}, after iteration ${iteration}: ${formatNumber(value, 3)}`,
    ),
  });
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

/** Plots predicted against observed returns; undefined if no reply predicted one. */
export function predictionView(proposals: readonly LoggedProposal[]): Html | undefined {
  const asked = onlyProposals(proposals);
  const points = asked
    .flatMap(({ entry, iteration, predicted }) =>
      entry === undefined || predicted === undefined ? [] : [{ iteration, predicted, observed: entry.score }],
    )
    .toSorted((a, b) => a.predicted - b.predicted);
  if (points.length === 0) return undefined;
  const [predicted, observed] = [
    points.map((point) => point.predicted),
    points.map((point) => point.observed),
  ];
  const asText = apart([...predicted, ...observed]);
  const [low, high] = [smallest(observed), largest(observed)];
  const errors = points.map((point) => point.predicted - point.observed);
  const error = mean(errors.map(Math.abs));
  const r = correlation(predicted, observed);
  const figure = chartFigure({
    label: `Predicted and observed returns of ${plural(points.length, 'proposal')}.`,
    x: { title: 'Predicted return' },
    y: { title: 'Observed return' },
    height: 240,
    at: predicted,
    series: [
      { label: 'proposal', draw: 'points', colour: '--point', values: observed },
      {
        ...{ label: 'prediction and observation agree', draw: 'line', colour: '--muted', isDashed: true },
        values: predicted.map((value) => (value >= low && value <= high ? value : null)),
      },
    ],
    notes: points.map(
      (point) =>
        `Iteration ${point.iteration}: predicted ${asText(point.predicted)}, observed ${asText(point.observed)}`,
    ),
  });
  return html`${figure}
<p>${points.length} of ${plural(asked.length, 'proposal')} included a prediction. Mean absolute error ${formatReturn(error)}, mean error ${formatReturn(mean(errors))} (positive: too optimistic)${r !== undefined && html`, correlation ${formatNumber(r, 2)}`}.</p>`;
}

/** Pearson correlation; undefined for fewer than three points, or if either variable is constant. */
function correlation(a: readonly number[], b: readonly number[]): number | undefined {
  const [centreA, centreB] = [mean(a), mean(b)];
  const product = (f: (i: number) => number) => a.reduce((sum, _, i) => sum + f(i), 0);
  const covariance = product((i) => (a[i]! - centreA) * (b[i]! - centreB));
  const spread = Math.sqrt(product((i) => (a[i]! - centreA) ** 2) * product((i) => (b[i]! - centreB) ** 2));
  return a.length < 3 || spread === 0 ? undefined : covariance / spread;
}
