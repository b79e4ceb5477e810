/** Charts for the page of a training run. */
import { type Html, html } from '../../src/format/html.js';
import { formatCount, formatNumber } from '../../src/format/numbers.js';
import { largest, smallest } from '../../src/statistics/descriptive.js';
import { type Axis, type Chart, chartFigure } from '../../src/web/chart.js';
import { trainingLoss } from './pace.js';
import type { MetricOf } from './trainer.js';

/** Four decimals, because differences in the third decimal matter. */
export const formatLoss = (loss: number) => loss.toFixed(4);

export interface Curves {
  /** In order; not empty. */
  readonly steps: readonly MetricOf<'step'>[];
  readonly validations: readonly MetricOf<'validation'>[];
}

/** Training loss, raw and smoothed, and validation loss with its minimum marked. */
export function lossChart({ steps, validations }: Curves): Html {
  const raw = steps.map(({ loss }) => loss);
  const smoothed = raw.map((_, i) => trainingLoss(raw, i + 1));
  const best = validations.findLast((validation) => validation.best);
  const indexOf = new Map(steps.map(({ step }, i) => [step, i]));
  const validated = new Map(validations.map(({ loss, step }) => [step, loss]));
  const at = [...new Set([...extremes(raw).map((i) => steps[i]!.step), ...validated.keys()])].toSorted(
    (a, b) => a - b,
  );
  const along = (values: readonly number[]) => at.map((step) => values[indexOf.get(step) ?? -1] ?? null);
  const [single, mean] = [along(raw), along(smoothed)];
  const held = at.map((step) => validated.get(step) ?? null);
  const validation = { label: 'validation loss', colour: '--warn', values: held } as const;
  const notes = at.map((step, i) => {
    const [own, smooth, other] = [single[i], mean[i], held[i]];
    const parts = [
      ...(own == null || smooth == null
        ? []
        : [`training loss ${formatLoss(smooth)} (this step alone: ${formatLoss(own)})`]),
      ...(other == null ? [] : [`validation loss ${formatLoss(other)}`]),
    ];
    return `Step ${formatCount(step)}: ${parts.join('; ')}`;
  });
  const lowest = best === undefined ? '' : `; lowest validation loss ${formatLoss(best.loss)}`;
  return chartFigure({
    label: `Loss of ${formatCount(raw.length)} steps: from ${formatLoss(raw[0]!)} to ${formatLoss(smoothed.at(-1)!)}${lowest}.`,
    x: { title: 'Step', kind: 'whole' },
    y: { title: 'Loss (nats per answer token)' },
    at,
    series: [
      {
        ...{ label: 'loss of a single step', draw: 'line', colour: '--spread', width: 1, outliers: 'high' },
        values: single,
      },
      {
        ...{ label: 'training loss: mean over the latest 10 to 100 steps', draw: 'line', width: 2 },
        ...{ colour: '--accent', values: mean },
      },
      ...(validations.length === 0
        ? []
        : [
            { ...validation, draw: 'line', width: 2 } as const,
            ...(validations.length <= 60 ? [{ ...validation, draw: 'points' } as const] : []),
          ]),
    ],
    marks:
      best === undefined
        ? []
        : [
            {
              label: `lowest validation loss, ${formatLoss(best.loss)} at step ${formatCount(best.step)}`,
              ...({ draw: 'diamond', colour: '--good' } as const),
              marks: [{ x: best.step, y: best.loss }],
            },
          ],
    notes,
    hint: 'Point at the chart for values; drag to zoom, double-click to reset.',
  } satisfies Chart);
}

export function courseCharts({ steps }: Curves, maxGradientNorm: number | undefined): Html {
  const cut =
    maxGradientNorm === undefined
      ? 0
      : steps.filter(({ gradientNorm }) => gradientNorm > maxGradientNorm).length;
  return html`<div class="charts">
${stepChart(steps, 'Learning rate', ({ learningRate }) => learningRate)}
${stepChart(steps, 'Gradient norm', ({ gradientNorm }) => gradientNorm, {
  ...(maxGradientNorm !== undefined && {
    limit: {
      y: maxGradientNorm,
      label: `clipped to ${formatNumber(maxGradientNorm)} in ${formatNumber((100 * cut) / steps.length, 2)} % of the steps`,
    },
  }),
})}
${stepChart(steps, 'Tokens per second', ({ tokensPerSecond }) => tokensPerSecond ?? Number.NaN, { kind: 'compact' })}
${stepChart(steps, 'Process memory', ({ rssBytes }) => rssBytes, { kind: 'bytes' })}
</div>`;
}

interface Numbered {
  readonly step: number;
}

/** Chart of one value per step, unsmoothed. */
export function stepChart<S extends Numbered>(
  steps: readonly S[],
  title: string,
  value: (step: S) => number,
  options: {
    readonly kind?: NonNullable<Axis['kind']>;
    /** Upper end of the axis. Default: chosen to fit the values. */
    readonly most?: number;
    /** Title of the x axis. Default: `Step`. */
    readonly xTitle?: string;
    /** A horizontal line. */
    readonly limit?: { readonly y: number; readonly label: string };
  } = {},
): Html {
  const { kind = 'number', limit, most, xTitle = 'Step' } = options;
  const known = steps.filter((step) => Number.isFinite(value(step)));
  const all = known.map(value);
  const drawn = extremes(all);
  return chartFigure({
    label: `${title} by ${xTitle.toLowerCase()}${all.length === 0 ? '' : `: from ${formatNumber(all[0])} to ${formatNumber(all.at(-1))}`}.`,
    x: { title: xTitle, kind: 'whole' },
    y: {
      ...{ title, kind },
      ...(all.length > 0 && smallest(all) >= 0 && { from: 0 }),
      ...(most !== undefined && { to: most }),
    },
    height: 170,
    at: drawn.map((i) => known[i]!.step),
    series: [
      {
        ...{ label: title.toLowerCase(), draw: 'line', colour: '--accent', outliers: 'high' },
        values: drawn.map((i) => all[i]!),
      },
    ],
    ...(limit !== undefined && limit.y <= largest(all) && { levels: [limit] }),
  } satisfies Chart);
}

/** Maximum number of groups of steps; more points would be too close to point at. */
const mostGroups = 240;

/** Indices of the minimum and maximum of each group of values, ascending: a line through them covers the same area as one through all. */
function extremes(values: readonly number[]): readonly number[] {
  const size = Math.max(1, Math.ceil(values.length / mostGroups));
  return Array.from({ length: Math.ceil(values.length / size) }, (_, group) => {
    const from = group * size;
    let [low, high] = [from, from];
    for (let i = from; i < Math.min(values.length, from + size); i++) {
      if (values[i]! < values[low]!) low = i;
      if (values[i]! > values[high]!) high = i;
    }
    return low === high ? [low] : [Math.min(low, high), Math.max(low, high)];
  }).flat();
}
