/** The charts of a training run. */
import { formatCount, formatNumber, formatReturn, plural } from '../base/text/numbers.js';
import { mean } from '../statistics/descriptive.js';
import { type Axis, type Chart, type Series, thinned } from './chart.js';

type Row = Readonly<Record<string, number>>;

const kinds = ['step', 'validation', 'evaluation'] as const;

/** Metrics of a training run, by kind. */
type TrainingRows = Readonly<Record<(typeof kinds)[number], readonly Row[]>>;

/** Texts and settings that the metrics don't contain. */
export interface TrainingWords {
  readonly unit: 'step' | 'update';
  /** Name of the quantity that evaluations measure, such as `held-out mean return`. */
  readonly measured: string;
  /** Title of the reward chart. */
  readonly rewards: string;
  /** Gradients with a larger norm are clipped. */
  readonly maxGradientNorm?: number | undefined;
}

/** Smoothed loss after `count` steps: the mean over the latest 5 %, but at least 10 and at most 100 of them. */
export function trainingLoss(losses: readonly number[], count = losses.length): number {
  const reach = Math.max(10, Math.min(100, Math.round(count / 20)));
  const latest = losses.slice(Math.max(0, count - reach), count);
  return latest.reduce((sum, loss) => sum + loss, 0) / latest.length;
}

/** Small charts of one metric each, in order; a chart without values is omitted. */
const charted: readonly (readonly [
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
const mostRows = 1024;

/** @param metrics lines of `metrics.jsonl`. @returns the main chart first; nothing until the first metrics arrive */
export function trainingCharts(
  metrics: readonly Readonly<Record<string, unknown>>[],
  words: TrainingWords,
): readonly Chart[] {
  const [step, validation, evaluation] = kinds.map((kind) =>
    thinned(metrics.filter((metric) => metric.kind === kind).map(numbersIn), mostRows, meanRow),
  ) as [Row[], Row[], Row[]];
  const rows = { step, validation: validation.filter(({ loss }) => loss !== undefined), evaluation };
  const has = (name: string) => step.some((row) => name in row);
  const isRl = has('reward') || evaluation.length > 0;
  const shown = { ...rows, step: withEpisodeSteps(step) };
  return [
    ...(isRl ? [returnChart(rows, words)] : []),
    ...(has('reward') ? [rewardChart(rows, words)] : []),
    ...(!isRl && has('loss') ? [lossChart(rows, words)] : []),
    ...charted.flatMap((figure) => {
      const own = shown[figure[0]].filter((row) => figure[1] in row);
      return own.length === 0 ? [] : [smallChart(own, figure, words)];
    }),
  ];
}

const numbersIn = (metric: Readonly<Record<string, unknown>>): Row =>
  Object.fromEntries(
    Object.entries(metric).filter((entry): entry is [string, number] => Number.isFinite(entry[1])),
  );

/** The mean of each metric, except `step`, which keeps its last value. */
function meanRow(stretch: readonly Row[]): readonly [Row] {
  const means = [...new Set(stretch.flatMap(Object.keys))].map((name) => {
    const values = stretch.flatMap((row) => row[name] ?? []);
    return [name, name === 'step' ? values.at(-1)! : mean(values)] as const;
  });
  return [Object.fromEntries(means)];
}

/** Adds the mean episode length of each update, computed from running totals if the rows have them. */
const withEpisodeSteps = (rows: readonly Row[]): readonly Row[] =>
  rows.map((row, i) => {
    const { episodes = 0, steps = 0 } = rows[i - 1] ?? {};
    const length = (row.steps! - steps) / (row.episodes! - episodes);
    return length > 0 && Number.isFinite(length) ? { ...row, episodeSteps: length } : row;
  });

/** The steps of these rows, ascending, and a function that returns a metric's value at each of them. */
function stepsOf(...rows: readonly (readonly Row[])[]) {
  const at = [...new Set(rows.flat().map(({ step = 0 }) => step))].sort((a, b) => a - b);
  const valuesOf = (own: readonly Row[], value: (row: Row) => number | undefined) => {
    const known = new Map(own.map((row) => [row.step ?? 0, value(row)]));
    return at.map((step) => {
      const found = known.get(step);
      return found === undefined ? null : Number(found.toPrecision(6));
    });
  };
  return { at, valuesOf };
}

const bestOf = (rows: readonly Row[], isBetter: (a: Row, b: Row) => boolean) =>
  rows.reduce<Row | undefined>((best, row) => (best && !isBetter(row, best) ? best : row), undefined);

const bestMark = (label: string, { step = 0 }: Row, y: number): NonNullable<Chart['marks']> => [
  { label, draw: 'diamond', colour: '--good', marks: [{ x: step, y }] },
];

const hint = 'Hover over the chart for values; drag to zoom, double-click to reset.';

const xAxis = ({ unit }: TrainingWords): Axis => ({
  title: unit === 'step' ? 'Step' : 'Update',
  kind: 'whole',
});

/** A metric at each step, in the background, and its moving average. */
function smoothed(
  name: string,
  rows: readonly Row[],
  { valuesOf }: ReturnType<typeof stepsOf>,
): readonly [each: Omit<Series, 'label'>, mean: Omit<Series, 'label'>] {
  const all = rows.map((row) => row[name]!);
  const means = rows.map(({ step = 0 }, i) => ({ step, [name]: trainingLoss(all, i + 1) }));
  const own = (row: Row) => row[name];
  return [
    { draw: 'line', colour: '--spread', width: 1, values: valuesOf(rows, own) },
    { draw: 'line', colour: '--accent', width: 2, values: valuesOf(means, own) },
  ];
}

const smoothText = ({ unit }: TrainingWords) => `mean over the latest 10 to 100 ${unit}s`;

function lossChart({ step, validation }: TrainingRows, words: TrainingWords): Chart {
  const rows = step.filter(({ loss }) => loss !== undefined);
  const losses = rows.map(({ loss }) => loss!);
  const steps = stepsOf(rows, validation);
  const [each, mean] = smoothed('loss', rows, steps);
  const best = bestOf(validation, (a, b) => a.loss! < b.loss!);
  const lowest = best
    ? `lowest validation loss, ${best.loss!.toFixed(4)} at step ${formatCount(best.step!)}`
    : '';
  return {
    label: `Training loss over ${plural(rows.at(-1)?.step ?? 0, 'step')}: from ${losses[0]?.toFixed(4)} to ${trainingLoss(losses).toFixed(4)}${lowest && `; ${lowest}`}.`,
    x: xAxis(words),
    y: { title: 'Loss (nats per answer token)' },
    at: steps.at,
    series: [
      { ...each, label: 'training loss per step', outliers: 'high' },
      { ...mean, label: `training loss, ${smoothText(words)}` },
      ...heldOut(
        'validation loss',
        steps.valuesOf(validation, ({ loss }) => loss),
      ),
    ],
    ...(best && { marks: bestMark(lowest, best, best.loss!) }),
    hint,
  };
}

/** A line and, if there are at most 60 values, points. */
function heldOut(
  label: string,
  values: Series['values'],
  interval: Pick<Series, 'low' | 'high'> = {},
): readonly Series[] {
  const common = { label, colour: '--warn', values } as const;
  const count = values.filter((value) => value !== null).length;
  return [
    ...(count > 0 ? [{ ...common, draw: 'line', width: 2 } as const] : []),
    ...(count > 0 && count <= 60 ? [{ ...common, ...interval, draw: 'points' } as const] : []),
  ];
}

const measuredIn = ({ meanReturn, meanReward }: Row) => meanReward ?? meanReturn;

function returnChart({ evaluation }: TrainingRows, words: TrainingWords): Chart {
  const rows = evaluation.filter((row) => measuredIn(row) !== undefined);
  const { at, valuesOf } = stepsOf(rows);
  const title = capitalised(words.measured);
  const withMargin = rows.filter(({ margin }) => margin !== undefined);
  const end = (sign: 1 | -1) => valuesOf(withMargin, (row) => measuredIn(row)! + sign * row.margin!);
  const best = bestOf(rows, (a, b) => measuredIn(a)! >= measuredIn(b)!);
  const highest = best ? `best, ${formatReturn(measuredIn(best))} at update ${formatCount(best.step!)}` : '';
  return {
    label: `${title}, by update${highest && `; ${highest}`}.`,
    x: { ...xAxis(words), from: 0 },
    y: { title },
    at,
    series: heldOut(words.measured, valuesOf(rows, measuredIn), { low: end(-1), high: end(1) }),
    ...(best && { marks: bestMark(highest, best, measuredIn(best)!) }),
    hint,
  };
}

/** Rewards during training, with their standard deviation within groups. */
function rewardChart({ step }: TrainingRows, words: TrainingWords): Chart {
  const rows = step.filter(({ reward }) => reward !== undefined);
  const steps = stepsOf(rows);
  const [each, mean] = smoothed('reward', rows, steps);
  const end = (sign: 1 | -1) => steps.valuesOf(rows, ({ reward, spread = 0 }) => reward! + sign * spread);
  const hasSpread = rows.some(({ spread }) => spread !== undefined);
  return {
    label: `${words.rewards}, by update: from ${formatNumber(rows[0]?.reward)} to ${formatNumber(rows.at(-1)?.reward)}.`,
    x: xAxis(words),
    y: { title: words.rewards },
    at: steps.at,
    ...(hasSpread && { bands: { label: '± standard deviation within groups' } }),
    series: [
      { ...each, label: 'mean per update', ...(hasSpread && { low: end(-1), high: end(1) }) },
      { ...mean, label: smoothText(words) },
    ],
    hint,
  };
}

function smallChart(
  rows: readonly Row[],
  [, name, title, kind = 'number']: (typeof charted)[number],
  words: TrainingWords,
): Chart {
  const { at, valuesOf } = stepsOf(rows);
  const values = valuesOf(rows, (row) => row[name]);
  const { maxGradientNorm: limit } = words;
  const isLimited = name === 'gradientNorm' && limit !== undefined;
  const isNegative = values.some((value) => value !== null && value < 0);
  return {
    label: `${title}, by ${words.unit}: from ${formatNumber(values[0] ?? undefined)} to ${formatNumber(values.at(-1) ?? undefined)}.`,
    x: xAxis(words),
    y: { title, kind, ...(!isNegative && { from: 0 }), ...(kind === 'share' && { to: 1 }) },
    height: 170,
    at,
    series: [{ label: title.toLowerCase(), draw: 'line', colour: '--accent', outliers: 'high', values }],
    ...(isLimited && { levels: [{ y: limit, label: `clipped to ${formatNumber(limit)}` }] }),
  };
}

const capitalised = (words: string) => words.charAt(0).toUpperCase() + words.slice(1);
