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
import { largest, smallest } from '../../statistics/descriptive.js';
import { predictionFigures } from '../../statistics/predictions.js';
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
${totals.steps > 0 && html`<p class="note">The adapter is in the run directory, in <code>adapter/</code>; use it in another run with <code>model.adapter</code>.</p>`}</div>
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
    label: `${title}: from ${formatNumber(found[0]!.value, 3)} at update ${found[0]!.at + 1} to ${formatNumber(found.at(-1)!.value, 3)} at update ${found.at(-1)!.at + 1}.`,
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
  const figure = (value: number | undefined) => value && formatNumber(value, 3);
  const all: readonly (readonly [name: string, value: string | number | undefined])[] = [
    ['updates', formatCount(updates)],
    ['optimizer steps', formatCount(steps)],
    ['answers compared', formatCount(answers)],
    ['mean standard deviation of rewards', figure(spread)],
    ['groups with equal rewards', `${Math.round(100 * flat)} %`],
    ['last loss', figure(last?.loss)],
    ['last KL from the initial model', figure(last?.kl)],
    ['last KL between trainer and sampler', figure(last?.mismatch)],
    ['training time', formatDuration(1000 * seconds)],
    ['other time', formatDuration(Math.max(0, activeMs - 1000 * seconds))],
  ];
  const rows = all.filter(([, value]) => value !== undefined);
  return htmlTable(rows, [text('learning', ([name]) => name), number('value', ([, value]) => value)]);
}

/** Plots predicted against observed returns; undefined if no evaluated proposal predicted its return. */
export function predictionView(proposals: readonly LoggedProposal[]): Html | undefined {
  const asked = onlyProposals(proposals);
  const points = asked
    .flatMap(({ entry, iteration, predicted }) =>
      entry === undefined || predicted === undefined ? [] : [{ iteration, predicted, observed: entry.score }],
    )
    .toSorted((a, b) => a.predicted - b.predicted);
  const figures = predictionFigures(points.map((one) => [one.predicted, one.observed]));
  if (figures === undefined) return undefined;
  const [predicted, observed] = [points.map((one) => one.predicted), points.map((one) => one.observed)];
  const asText = apart([...predicted, ...observed]);
  const [low, high] = [smallest(observed), largest(observed)];
  const { bias, correlation, count, error } = figures;
  const figure = chartFigure({
    label: `Predicted and observed returns of ${plural(points.length, 'proposal')}.`,
    x: { title: 'Predicted return' },
    y: { title: 'Observed return' },
    height: 240,
    at: predicted,
    series: [
      { label: 'proposal', draw: 'points', colour: '--point', values: observed },
      {
        ...{ label: 'perfect prediction', draw: 'line', colour: '--muted', isDashed: true },
        values: predicted.map((value) => (value >= low && value <= high ? value : null)),
      },
    ],
    notes: points.map(
      (point) =>
        `Iteration ${point.iteration}: predicted ${asText(point.predicted)}, observed ${asText(point.observed)}`,
    ),
  });
  return html`${figure}
<p>Evaluated proposals with a predicted return: ${count} of ${asked.length}. Mean absolute error ${formatReturn(error)}, mean error ${formatReturn(bias)} (positive: too optimistic)${correlation !== null && count > 2 && html`, correlation ${formatNumber(correlation, 2)}`}.</p>`;
}
