/** Charts for the page of a training run. */
import { type Content, type Html, html } from '../../src/format/html.js';
import { formatBytes, formatCompact, formatCount, formatNumber } from '../../src/format/numbers.js';
import {
  coordinate,
  figure,
  intervalMark,
  line,
  linearScale,
  numberedTicks,
  type PlotColumn,
  percent,
  plotChart,
  robustMaximum,
  type Scale,
} from '../../src/report/charts/plot.js';
import { largest, mean, smallest } from '../../src/statistics/descriptive.js';
import { trainingLoss } from './pace.js';
import type { MetricOf } from './trainer.js';

/** Four decimals, because differences in the third decimal matter. */
export const formatLoss = (loss: number) => loss.toFixed(4);

export interface Curves {
  /** In order; not empty. */
  readonly steps: readonly MetricOf<'step'>[];
  readonly validations: readonly MetricOf<'validation'>[];
}

/** Maximum number of columns; more would be too narrow to point at. */
const mostColumns = 240;

const lossHeight = 320;
const smallHeight = 130;

/** Training loss, raw and smoothed, and validation loss with its minimum marked. */
export function lossChart({ steps, validations }: Curves): Html {
  const raw = steps.map(({ loss }) => loss);
  const smoothed = raw.map((_, i) => trainingLoss(raw, i + 1));
  const top = robustMaximum(raw);
  const shown = [...smoothed, ...validations.map(({ loss }) => loss), ...raw.filter((loss) => loss <= top)];
  const y = linearScale([smallest(shown), largest(shown)], [lossHeight, 0], { ticks: 6, nice: true });
  const slots = lastStep(steps, validations);
  const best = validations.findLast((validation) => validation.best);
  const above = raw.filter((loss) => loss > y.high).length;
  const chart = plotChart({
    description: lossDescription(raw, smoothed, best),
    height: lossHeight,
    y,
    yTitle: 'Loss (nats per answer token)',
    x: { slots, ticks: numberedTicks(slots), title: 'Step' },
    paths: [
      html`<path class="repeat" d="${path(extremes(steps, raw), y)}"/>`,
      html`<path class="best" d="${path(sampled(steps, smoothed), y)}"/>`,
      html`<path class="validation" d="${path(
        validations.map(({ step, loss }) => [step, loss]),
        y,
      )}"/>`,
    ],
    marks: [
      html`<g class="validations">${validations.length <= 60 && validations.map(({ step, loss }) => html`<circle cx="${percent((step - 0.5) / slots)}" cy="${coordinate(y.at(loss))}" r="3"/>`)}</g>`,
      best &&
        intervalMark({ mean: best.loss, interval: [best.loss, best.loss] }, (best.step - 0.5) / slots, y),
    ],
    columns: columns(steps, (from, to) => {
      const validation = validations.findLast(
        ({ step }) => step >= steps[from]!.step && step <= steps[to]!.step,
      );
      return `training loss ${formatLoss(smoothed[to]!)} (${from === to ? 'this step' : 'these steps'} alone: ${formatLoss(mean(raw.slice(from, to + 1)))})${validation === undefined ? '' : `; validation loss ${formatLoss(validation.loss)} at step ${formatCount(validation.step)}`}`;
    }),
  });
  const legend = html`<ul class="legend">
<li><span class="key thin"></span>loss of a single step</li>
<li><span class="key step"></span>training loss: mean over the latest 10 to 100 steps</li>
${validations.length > 0 && html`<li><span class="key validation"></span>validation loss</li>`}
${best && html`<li><span class="key diamond"></span>lowest validation loss, ${formatLoss(best.loss)} at step ${formatCount(best.step)}</li>`}
${above > 0 && html`<li>${formatCount(above)} steps are above the axis, up to ${formatLoss(largest(raw))}</li>`}
</ul>`;
  return figure(chart, legend, 'Hover over a column for its values.');
}

export function courseCharts({ steps }: Curves, maxGradientNorm: number | undefined): Html {
  const norms = steps.map(({ gradientNorm }) => gradientNorm);
  const cut = maxGradientNorm === undefined ? 0 : norms.filter((norm) => norm > maxGradientNorm).length;
  return html`<div class="charts">
${stepChart(steps, 'Learning rate', ({ learningRate }) => learningRate, { format: (value) => formatNumber(value, 2) })}
${stepChart(steps, 'Gradient norm', ({ gradientNorm }) => gradientNorm, {
  ...(maxGradientNorm !== undefined && { limit: maxGradientNorm }),
  legend:
    maxGradientNorm !== undefined &&
    html`<ul class="legend"><li><span class="key dash"></span>clipped to ${formatNumber(maxGradientNorm)} in ${formatNumber((100 * cut) / steps.length, 2)} % of the steps</li></ul>`,
})}
${stepChart(steps, 'Tokens per second', ({ tokensPerSecond }) => tokensPerSecond ?? Number.NaN, { format: formatCompact })}
${stepChart(steps, 'Process memory', ({ rssBytes }) => rssBytes, { format: formatBytes })}
</div>`;
}

/** Chart of one value per step, unsmoothed. */
export function stepChart<S extends { readonly step: number }>(
  steps: readonly S[],
  title: string,
  value: (step: S) => number,
  options: {
    readonly format?: (value: number) => string;
    /** Upper end of the axis. Default: chosen to fit the values. */
    readonly most?: number;
    /** Title of the x axis. Default: `Step`. */
    readonly xTitle?: string;
    /** Draws a line at this height if it is within the axis. */
    readonly limit?: number;
    readonly legend?: Content;
  } = {},
): Html {
  const known = steps.filter((step) => Number.isFinite(value(step)));
  const values = known.map(value);
  const format = options.format ?? ((number: number) => formatNumber(number, 3));
  const top = options.most ?? (values.length === 0 ? 1 : robustMaximum(values));
  const low = values.length === 0 ? 0 : Math.min(0, smallest(values));
  // If all values are 0, draw them at the bottom edge of the chart.
  const y = linearScale([low, top > low ? top : low + 1], [smallHeight, 0], { ticks: 3, nice: true });
  const slots = lastStep(steps, []);
  const limit =
    options.limit !== undefined && options.limit <= y.high ? coordinate(y.at(options.limit)) : undefined;
  return figure(
    plotChart({
      description: `${title} per step.`,
      height: smallHeight,
      y,
      yTitle: title,
      formatY: format,
      x: { slots, ticks: numberedTicks(slots), title: options.xTitle ?? 'Step' },
      paths: html`<path class="cost" d="${path(extremes(known, values), y)}"/>`,
      marks:
        limit !== undefined &&
        html`<g class="target"><line x1="0" x2="100%" y1="${limit}" y2="${limit}"/></g>`,
      columns: columns(known, (from, to) => format(mean(values.slice(from, to + 1)))),
    }),
    options.legend,
  );
}

interface Numbered {
  readonly step: number;
}

type StepPoint = readonly [step: number, value: number];

function path(points: readonly StepPoint[], y: Scale): string {
  return line(points.map(([step, value]) => [step - 0.5, y.at(value)]));
}

/** The minimum and maximum of each group of steps: a line through them covers the same area as one through all. */
function extremes(steps: readonly Numbered[], values: readonly number[]): readonly StepPoint[] {
  return groups(steps.length).flatMap(([from, to]) => {
    let [low, high] = [from, from];
    for (let i = from; i <= to; i++) {
      if (values[i]! < values[low]!) low = i;
      if (values[i]! > values[high]!) high = i;
    }
    const ends = [...new Set([Math.min(low, high), Math.max(low, high)])];
    return ends.map((i): StepPoint => [steps[i]!.step, values[i]!]);
  });
}

function sampled(steps: readonly Numbered[], values: readonly number[]): readonly StepPoint[] {
  return groups(steps.length).map(([, to]) => [steps[to]!.step, values[to]!]);
}

function columns(
  steps: readonly Numbered[],
  text: (from: number, to: number) => string,
): readonly PlotColumn[] {
  return groups(steps.length).map(([from, to]) => {
    const [first, last] = [steps[from]!.step, steps[to]!.step];
    const name =
      first === last ? `Step ${formatCount(first)}` : `Steps ${formatCount(first)} to ${formatCount(last)}`;
    return { at: first - 1, width: last - first + 1, text: `${name}: ${text(from, to)}` };
  });
}

/** First and last indices of at most `mostColumns` consecutive groups of equal size. */
function groups(count: number): readonly (readonly [from: number, to: number])[] {
  const size = Math.max(1, Math.ceil(count / mostColumns));
  return Array.from({ length: Math.ceil(count / size) }, (_, i) => [
    i * size,
    Math.min(count, (i + 1) * size) - 1,
  ]);
}

function lastStep(steps: readonly Numbered[], validations: readonly Numbered[]): number {
  return Math.max(1, steps.at(-1)?.step ?? 0, validations.at(-1)?.step ?? 0);
}

function lossDescription(
  raw: readonly number[],
  smoothed: readonly number[],
  best: MetricOf<'validation'> | undefined,
): string {
  const lowest = best === undefined ? '' : `; lowest validation loss ${formatLoss(best.loss)}`;
  return `Loss of ${formatCount(raw.length)} steps: from ${formatLoss(raw[0]!)} to ${formatLoss(smoothed.at(-1)!)}${lowest}.`;
}
