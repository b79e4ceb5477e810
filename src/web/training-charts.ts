/** The charts of a training run. */
import { formatCount, formatNumber, formatReturn, plural } from '../base/text/numbers.js';
import { mean } from '../statistics/descriptive.js';
import { type Axis, type Chart, type Series, thinned } from './chart.js';

type Row = Readonly<Record<string, number>>;

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
const maxRows = 1024;

/** @param metrics lines of `metrics.jsonl`. @returns the main chart first; nothing until the first metrics arrive */
export function trainingCharts(
  metrics: readonly Readonly<Record<string, unknown>>[],
  words: TrainingWords,
): readonly Chart[] {
  const rowsOf = (kind: string) =>
    thinned(metrics.filter((metric) => metric.kind === kind).map(numbersIn), maxRows, (stretch) => [
      meanRow(stretch),
    ]);
  const [step, evaluation] = [withEpisodeSteps(rowsOf('step')), rowsOf('evaluation')];
  const having = (rows: readonly Row[], name: string) => rows.filter((row) => name in row);
  const rewards = having(step, 'reward');
  const losses = having(step, 'loss');
  const isRl = rewards.length + evaluation.length > 0;
  const returns: HeldOut = {
    rows: having(evaluation, 'meanReward'),
    name: 'meanReward',
    label: words.measured,
    best: ({ meanReward }) => `best, ${formatReturn(meanReward)}`,
    isBetter: (a, b) => a > b,
  };
  const validation: HeldOut = {
    rows: having(rowsOf('validation'), 'loss'),
    name: 'loss',
    label: 'validation loss',
    best: ({ loss }) => `lowest validation loss, ${loss!.toFixed(4)}`,
    isBetter: (a, b) => a <= b,
  };
  return [
    ...(isRl ? [mainChart(words, capitalised(words.measured), { held: returns })] : []),
    ...(rewards.length > 0 ? [mainChart(words, words.rewards, { each: rewards, name: 'reward' })] : []),
    ...(!isRl && losses.length > 0
      ? [mainChart(words, 'Loss (nats per answer token)', { each: losses, name: 'loss', held: validation })]
      : []),
    ...charted.flatMap((figure) => {
      const own = having(figure[0] === 'step' ? step : evaluation, figure[1]);
      return own.length === 0 ? [] : [smallChart(own, figure, words)];
    }),
  ];
}

const numbersIn = (metric: Readonly<Record<string, unknown>>): Row =>
  Object.fromEntries(
    Object.entries(metric).filter((entry): entry is [string, number] => Number.isFinite(entry[1])),
  );

/** The mean of each metric, except `step`, which keeps its last value. */
function meanRow(stretch: readonly Row[]): Row {
  const names = [...new Set(stretch.flatMap(Object.keys))];
  const valuesOf = (name: string) => stretch.flatMap((row) => row[name] ?? []);
  const means = names.map((name) => [name, mean(valuesOf(name))] as const);
  return { ...Object.fromEntries(means), step: valuesOf('step').at(-1) ?? 0 };
}

/** Adds the mean episode length of each update, computed from running totals if the rows have them. */
const withEpisodeSteps = (rows: readonly Row[]): readonly Row[] =>
  rows.map((row, i) => {
    const { episodes = 0, steps = 0 } = rows[i - 1] ?? {};
    const length = (row.steps! - steps) / (row.episodes! - episodes);
    return length > 0 && Number.isFinite(length) ? { ...row, episodeSteps: length } : row;
  });

const stepOf = ({ step = 0 }: Row) => step;

/** A metric measured on held-out data, with its margin if rows have one. */
interface HeldOut {
  readonly rows: readonly Row[];
  readonly name: string;
  readonly label: string;
  /** Describes the best value, such as `lowest validation loss, 0.5`. */
  readonly best: (row: Row) => string;
  readonly isBetter: (a: number, b: number) => boolean;
}

/** A metric at each step in the background, with its moving average, and held-out measurements. */
function mainChart(
  words: TrainingWords,
  title: string,
  {
    each = [],
    held,
    name = '',
  }: { readonly each?: readonly Row[]; readonly name?: string; readonly held?: HeldOut },
): Chart {
  const { at, valuesOf } = stepsOf([...each, ...(held?.rows ?? [])]);
  const all = each.map((row) => row[name]!);
  const means = each.map((row, i) => ({ ...row, [name]: trainingLoss(all, i + 1) }));
  const around = (rows: readonly Row[], own: string, width: string) => {
    const wide = rows.filter((row) => width in row);
    const end = (sign: 1 | -1) => valuesOf(wide, (row) => row[own]! + sign * row[width]!);
    return wide.length > 0 && { low: end(-1), high: end(1) };
  };
  const spread = around(each, name, 'spread');
  const best = held?.rows.reduce<Row | undefined>(
    (a, b) => (a && held.isBetter(a[held.name]!, b[held.name]!) ? a : b),
    undefined,
  );
  const series: readonly (Series | false)[] = [
    each.length > 0 && {
      label: `each ${words.unit}`,
      draw: 'line',
      colour: '--spread',
      width: 1,
      outliers: 'high',
      values: valuesOf(each, (row) => row[name]!),
      ...spread,
    },
    each.length > 0 && {
      label: `mean over the latest 10 to 100 ${words.unit}s`,
      draw: 'line',
      colour: '--accent',
      width: 2,
      values: valuesOf(means, (row) => row[name]!),
    },
    ...(held === undefined || held.rows.length === 0
      ? []
      : (['line', 'points'] as const).map((draw): Series | false => {
          const shown = { label: held.label, colour: '--warn', draw, width: 2 } as const;
          const values = valuesOf(held.rows, (row) => row[held.name]!);
          if (draw === 'line') return { ...shown, values };
          return held.rows.length <= 60 && { ...shown, values, ...around(held.rows, held.name, 'margin') };
        })),
  ];
  const mark = best && `${held!.best(best)} at ${words.unit} ${formatCount(stepOf(best))}`;
  return {
    label: `${title}, ${plural(at.at(-1) ?? 0, words.unit)}${mark ? `; ${mark}` : ''}.`,
    x: { ...xAxis(words), ...(each.length === 0 && { from: 0 }) },
    y: { title },
    at,
    series: series.filter((one) => one !== false),
    ...(spread && { bands: { label: '± standard deviation within groups' } }),
    ...(best && {
      marks: [
        {
          label: mark!,
          draw: 'diamond',
          colour: '--good',
          marks: [{ x: stepOf(best), y: best[held!.name]! }],
        },
      ],
    }),
    hint: 'Hover over the chart for values; drag to zoom, double-click to reset.',
  };
}

const xAxis = ({ unit }: TrainingWords): Axis => ({ title: capitalised(unit), kind: 'whole' });

/** The steps of the rows, ascending, and a function that returns a value of some rows at each of them. */
function stepsOf(rows: readonly Row[]) {
  const at = [...new Set(rows.map(stepOf))].sort((a, b) => a - b);
  const valuesOf = (own: readonly Row[], value: (row: Row) => number): Series['values'] => {
    const known = new Map(own.map((row) => [stepOf(row), Number(value(row).toPrecision(6))]));
    return at.map((step) => known.get(step) ?? null);
  };
  return { at, valuesOf };
}

function smallChart(
  rows: readonly Row[],
  [, name, title, kind = 'number']: (typeof charted)[number],
  words: TrainingWords,
): Chart {
  const { at, valuesOf } = stepsOf(rows);
  const values = valuesOf(rows, (row) => row[name]!);
  const { maxGradientNorm: limit } = words;
  const isNegative = values.some((value) => value !== null && value < 0);
  return {
    label: `${title}, ${plural(at.at(-1) ?? 0, words.unit)}.`,
    x: xAxis(words),
    y: { title, kind, ...(!isNegative && { from: 0 }), ...(kind === 'share' && { to: 1 }) },
    height: 170,
    at,
    series: [{ label: title.toLowerCase(), draw: 'line', colour: '--accent', outliers: 'high', values }],
    ...(name === 'gradientNorm' &&
      limit !== undefined && { levels: [{ y: limit, label: `clipped to ${formatNumber(limit)}` }] }),
  };
}

const capitalised = (words: string) => words.charAt(0).toUpperCase() + words.slice(1);
