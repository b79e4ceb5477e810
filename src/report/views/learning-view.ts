import { type Html, html } from '../../format/html.js';
import { formatCount, formatDuration, formatNumber } from '../../format/numbers.js';
import { htmlTable, number, text } from '../../format/table.js';
import { type AdaptationTotals, adaptationTotals, type LoggedAdaptation } from '../../runs/adaptations.js';
import { largest } from '../../statistics/descriptive.js';
import { figure, line, numberedTicks, plotChart } from '../charts/plot.js';
import { linearScale } from '../charts/scale.js';

const height = 130;

/** How the model was trained during the search; undefined if it wasn't. */
export function learningView(adaptations: readonly LoggedAdaptation[], activeMs: number): Html | undefined {
  const totals = adaptationTotals(adaptations);
  if (totals === undefined) return undefined;
  return html`<div class="charts">
${chart(adaptations, 'Entropy of the answers, nats a token', ({ entropy }) => entropy)}
${chart(adaptations, 'Spread of the rewards in a group', ({ spread }) => spread)}
${chart(adaptations, 'KL divergence to the first model, nats a token', ({ kl }) => kl)}
<div>${totalsTable(totals, activeMs)}
<p class="note">The adapter lies in <code>adapter/</code> of the run: <code>model.adapter</code> of another run begins with it.</p></div>
</div>`;
}

/** Undefined if no update has the value. */
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
      description: `${title}, for each update.`,
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
    ...row('steps of the optimizer', [formatCount(steps)]),
    ...row('answers compared', [formatCount(answers)]),
    ...row('mean spread of rewards', figures(spread)),
    ...row('groups without difference', [`${Math.round(100 * flat)} %`]),
    ...row('last loss', figures(last?.loss)),
    ...row('last KL to the first model', figures(last?.kl)),
    ...row('last KL of trainer to sampler', figures(last?.mismatch)),
    ...row('time of training', [formatDuration(1000 * seconds)]),
    ...row('time of the rest', [formatDuration(Math.max(0, activeMs - 1000 * seconds))]),
  ];
  return htmlTable(rows, [text('learning', ([name]) => name), number('value', ([, value]) => value)]);
}
