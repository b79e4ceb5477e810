/** The charts of a training run. */
import { formatCount, formatNumber, formatReturn, plural } from '../base/text/numbers.js';
import { capitalize } from '../base/text/one-line.js';
import { mean } from '../statistics/descriptive.js';
import { type Axis, type Chart, downsample, type Series } from './chart.js';

type Row = Readonly<Record<string, number>>;

/** Texts and settings that the metrics don't contain. */
export interface TrainingChartOptions {
  readonly unit: 'step' | 'update';
  /** Name of the quantity that evaluations measure, such as `held-out mean return`. */
  readonly quantity: string;
  readonly rewardTitle: string;
  /** Gradients with a larger norm are clipped. */
  readonly maxGradientNorm?: number | undefined;
}

/** Averages the latest losses of the first `count` steps: 5 % of them, but at most 100 and, if possible, 10 or more. */
export function smoothedLoss(losses: readonly number[], count = losses.length): number {
  const windowSize = Math.max(10, Math.min(100, Math.round(count / 20)));
  const latest = losses.slice(Math.max(0, count - windowSize), count);
  return latest.reduce((sum, loss) => sum + loss, 0) / latest.length;
}

/** Small charts of one metric each, in order; a chart without values is omitted. */
const chartSpecs: readonly (readonly [
  of: 'step' | 'evaluation',
  name: string,
  title: string,
  kind?: Axis['kind'],
])[] = [
  ['evaluation', 'policyReturn', 'Mean return of the policies proposed in evaluations'],
  ['evaluation', 'bestReturn', 'Mean best return of the held-out runs'],
  ['step', 'flat', 'Groups whose returns are all equal', 'share'],
  ['step', 'entropy', 'Entropy (nats per token or action)'],
  ['step', 'kl', 'KL divergence (nats)'],
  ['step', 'turns', 'Episode length (turns)'],
  ['step', 'episodeSteps', 'Episode length (steps)'],
  ['step', 'valid', 'Usable replies', 'share'],
  ['step', 'replyTokens', 'Tokens per reply'],
  ['step', 'valueLoss', 'Value loss'],
  ['step', 'explainedVariance', 'Variance of returns explained by the value head', 'share'],
  ['step', 'mismatch', 'KL between sampler and trainer (nats)'],
  ['step', 'clipShare', 'Clipped ratios', 'share'],
  ['step', 'learningRate', 'Learning rate'],
  ['step', 'gradientNorm', 'Gradient norm'],
  ['step', 'tokensPerSecond', 'Tokens per second', 'compact'],
  ['step', 'rssBytes', 'Memory use', 'bytes'],
];

/** Maximum number of rows of a kind; in a longer training run, each is the mean of a stretch. */
const maxRows = 1024;

/** @param metrics lines of `metrics.jsonl`. @returns main charts first; empty until the first step or evaluation */
export function trainingCharts(
  metrics: readonly Readonly<Record<string, unknown>>[],
  labels: TrainingChartOptions,
): readonly Chart[] {
  const rowsOf = (kind: string) =>
    downsample(metrics.filter((metric) => metric.kind === kind).map(numbersIn), maxRows, (stretch) => [
      meanRow(stretch),
    ]);
  const [step, evaluation] = [addEpisodeSteps(rowsOf('step')), rowsOf('evaluation')];
  const rowsWith = (rows: readonly Row[], name: string) => rows.filter((row) => name in row);
  const [rewards, losses] = [rowsWith(step, 'reward'), rowsWith(step, 'loss')];
  const isRl = rewards.length + evaluation.length > 0;
  const mainMetrics: readonly MainMetric[] = isRl
    ? [
        {
          ...{ title: capitalize(labels.quantity), name: 'meanReward', steps: [] },
          ...{ heldOutRows: rowsWith(evaluation, 'meanReward'), measured: labels.quantity },
          describeBest: ({ meanReward }) => `best, ${formatReturn(meanReward)}`,
          isBetter: (a, b) => a >= b,
        },
        { title: labels.rewardTitle, name: 'reward', steps: rewards },
      ]
    : [
        {
          ...{ title: 'Loss (nats)', name: 'loss', steps: losses },
          ...{ heldOutRows: rowsWith(rowsOf('validation'), 'loss'), measured: 'validation loss' },
          describeBest: ({ loss }) => `lowest validation loss, ${loss!.toFixed(4)}`,
          isBetter: (a, b) => a < b,
        },
      ];
  return [
    ...mainMetrics
      .filter(({ steps, heldOutRows }) => steps.length > 0 || (isRl && heldOutRows))
      .map((main) => mainChart(main, labels)),
    ...chartSpecs.flatMap((spec) => {
      const chartRows = rowsWith(spec[0] === 'step' ? step : evaluation, spec[1]);
      return chartRows.length === 0 ? [] : [smallChart(chartRows, spec, labels)];
    }),
  ];
}

const numbersIn = (metric: Readonly<Record<string, unknown>>): Row =>
  Object.fromEntries(
    Object.entries(metric).filter((entry): entry is [string, number] => Number.isFinite(entry[1])),
  );

/** Averages each metric, except `step`, which keeps its last value. */
function meanRow(stretch: readonly Row[]): Row {
  const names = [...new Set(stretch.flatMap(Object.keys))];
  const valuesOf = (name: string) => stretch.flatMap((row) => row[name] ?? []);
  const means = names.map((name) => [name, mean(valuesOf(name))] as const);
  return { ...Object.fromEntries(means), step: valuesOf('step').at(-1) ?? 0 };
}

/** Adds the mean episode length of each update, computed from running totals if the rows have them. */
const addEpisodeSteps = (rows: readonly Row[]): readonly Row[] =>
  rows.map((row, i) => {
    const { episodes = 0, steps = 0 } = rows[i - 1] ?? {};
    const length = (row.steps! - steps) / (row.episodes! - episodes);
    return length > 0 && Number.isFinite(length) ? { ...row, episodeSteps: length } : row;
  });

const stepOf = ({ step = 0 }: Row) => step;

/** A metric at each step, and measurements of it on held-out data. */
interface MainMetric {
  readonly title: string;
  readonly name: string;
  readonly steps: readonly Row[];
  readonly heldOutRows?: readonly Row[];
  readonly measured?: string;
  /** Describes the best measurement, such as `lowest validation loss, 0.5000`. */
  readonly describeBest?: (row: Row) => string;
  readonly isBetter?: (a: number, b: number) => boolean;
}

/** Shows the metric of each step in the background, its moving average, the measurements and the best of them. */
function mainChart(main: MainMetric, labels: TrainingChartOptions): Chart {
  const { steps, heldOutRows = [], isBetter, measured = '', name, title } = main;
  const { at, valuesOf } = stepAxis([...steps, ...heldOutRows]);
  const numbers = steps.map((row) => row[name]!);
  const seriesOf = (
    rows: readonly Row[],
    widthName: string,
    style: Pick<Series, 'label' | 'color' | 'width'>,
  ): Series => {
    const intervalRows = rows.filter((row) => widthName in row);
    const end = (sign: 1 | -1) => valuesOf(intervalRows, (row) => row[name]! + sign * row[widthName]!);
    return {
      ...style,
      draw: 'line',
      values: valuesOf(rows, (row) => row[name]!),
      ...(intervalRows.length > 0 && { low: end(-1), high: end(1) }),
    };
  };
  const means = steps.map((row, i) => ({ ...row, [name]: smoothedLoss(numbers, i + 1) }));
  const best = heldOutRows.reduce<Row | undefined>(
    (a, b) => (a && !isBetter!(b[name]!, a[name]!) ? a : b),
    undefined,
  );
  const bestText = best && `${main.describeBest!(best)} at ${labels.unit} ${formatCount(stepOf(best))}`;
  const label = `mean over the latest 10 to 100 ${labels.unit}s`;
  return {
    label: `${title}, ${plural(at.at(-1) ?? 0, labels.unit)}${bestText ? `; ${bestText}` : ''}.`,
    x: { ...xAxis(labels), ...(steps.length === 0 && { from: 0 }) },
    y: { title },
    at,
    series: [
      {
        ...seriesOf(steps, 'spread', { label: `each ${labels.unit}`, color: '--spread', width: 1 }),
        outliers: 'high' as const,
      },
      seriesOf(means, '', { label, color: '--accent', width: 2 }),
      seriesOf(heldOutRows, 'margin', { label: measured, color: '--warn', width: 2 }),
    ].filter(({ values }) => values.some((value) => value !== null)),
    ...(steps.some((row) => 'spread' in row) && { bands: { label: '± standard deviation within groups' } }),
    ...(best && {
      marks: [
        { label: bestText!, draw: 'diamond', color: '--good', marks: [{ x: stepOf(best), y: best[name]! }] },
      ],
    }),
    hint: 'Hover over the chart for values; drag to zoom, double-click to reset.',
  };
}

const xAxis = ({ unit }: TrainingChartOptions): Axis => ({ title: capitalize(unit), kind: 'whole' });

/** Returns the steps of the rows, ascending, and a function that returns a value of some rows at each step. */
function stepAxis(rows: readonly Row[]) {
  const at = [...new Set(rows.map(stepOf))].sort((a, b) => a - b);
  const valuesOf = (subset: readonly Row[], value: (row: Row) => number): Series['values'] => {
    const valueByStep = new Map(subset.map((row) => [stepOf(row), Number(value(row).toPrecision(6))]));
    return at.map((step) => valueByStep.get(step) ?? null);
  };
  return { at, valuesOf };
}

function smallChart(
  rows: readonly Row[],
  [, name, title, kind = 'number']: (typeof chartSpecs)[number],
  labels: TrainingChartOptions,
): Chart {
  const { at, valuesOf } = stepAxis(rows);
  const values = valuesOf(rows, (row) => row[name]!);
  const { maxGradientNorm: limit } = labels;
  const isNegative = values.some((value) => value !== null && value < 0);
  const seriesName = title.replace(/^[A-Z](?![A-Z])/, (letter) => letter.toLowerCase());
  return {
    label: `${title}, ${plural(at.at(-1) ?? 0, labels.unit)}.`,
    x: xAxis(labels),
    y: { title, kind, ...(!isNegative && { from: 0 }), ...(kind === 'share' && { to: 1 }) },
    height: 170,
    at,
    series: [{ label: seriesName, draw: 'line', color: '--accent', outliers: 'high', values }],
    ...(name === 'gradientNorm' &&
      limit !== undefined && { levels: [{ y: limit, label: `clipped to ${formatNumber(limit)}` }] }),
  };
}
