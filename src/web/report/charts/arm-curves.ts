/** Mean learning curves of groups of runs (arms). */
import type { Content } from '../../../base/text/content.js';
import { html } from '../../../base/text/html.js';
import { formatInterval, formatReturn, plural } from '../../../base/text/numbers.js';
import { type Interval, meanInterval95 } from '../../../statistics/bootstrap.js';
import { largest, mean, smallest } from '../../../statistics/descriptive.js';
import { type Chart, chartFigure, type Series } from '../../chart.js';

export interface CurveArm {
  readonly name: string;
  /**
   * Best return so far of each run: one value per iteration, from iteration 0, or one per `step` evaluations.
   * Unfinished runs have fewer values.
   */
  readonly curves: readonly (readonly number[])[];
  /** Smallest and largest possible return. */
  readonly range: Interval;
  /** Confirmed return of the arm; absent if no run was confirmed. */
  readonly confirmed?: { readonly mean: number; readonly interval: Interval | null } | undefined;
}

/** Number of arm colours (web/palette.ts). The next eight arms reuse them with dashed lines. */
const colorCount = 8;

interface CurveOptions {
  /** Number of evaluations per value of a curve, so the first is at `step`; if absent, one value per iteration. */
  readonly step?: number;
  /** False if each arm is a single run. */
  readonly areMeans?: boolean;
}

/** Maximum number of arms whose bands are shown at first; the bands of more arms would cover each other. */
const maxBands = 4;

/**
 * Plots the mean best return so far of each arm with its 95% interval, and confirmed returns at the right edge. If
 * there is only one arm and it has several runs, also plots each run.
 */
export function armCurves(arms: readonly CurveArm[], { areMeans = true, step }: CurveOptions = {}): Content {
  const meanCurves = arms.map(({ curves, range }) => meanCurve(curves, range));
  const count = largest([0, ...meanCurves.map((points) => points.length)]);
  if (count === 0) return html`<p class="empty">No evaluations.</p>`;
  const isSingle = arms.length === 1;
  const indices = Array.from({ length: count }, (_, i) => i);
  const atIndices = (values: readonly (number | null)[]) => indices.map((i) => values[i] ?? null);
  const xOf = (i: number) => (step === undefined ? i : (i + 1) * step);
  const unit = step === undefined ? 'iteration' : 'evaluation';
  const nameOf = (i: number) =>
    xOf(i) === 0 ? 'After the warm-up' : `${step ? 'Evaluation' : 'Iteration'} ${xOf(i)}`;
  const labels = arms.map(({ curves, name }) =>
    areMeans ? `${name} (${plural(curves.length, 'run')})` : name,
  );
  const runCurves = isSingle && arms[0]!.curves.length > 1 ? arms[0]!.curves : [];
  const chart: Chart = {
    label: `Best return so far over ${plural(xOf(count - 1), unit)}: ${isSingle && areMeans ? `mean of ${plural(arms[0]!.curves.length, 'run')}` : labels.join(', ')}.`,
    x: { title: step ? 'Evaluation' : 'Iteration', kind: 'whole' },
    y: { title: 'Best mean return so far' },
    at: indices.map(xOf),
    series: [
      ...runCurves.map(
        (curve): Series => ({
          label: 'individual runs',
          draw: 'line',
          color: '--spread',
          width: 1,
          values: atIndices(curve),
        }),
      ),
      ...meanCurves.map(
        (points, i): Series => ({
          label: labels[i]!,
          draw: 'line',
          width: 2,
          color: isSingle ? '--accent' : `--arm-${i % colorCount}`,
          isDashed: i % (2 * colorCount) >= colorCount,
          values: atIndices(points.map(({ mean }) => mean)),
          low: atIndices(points.map(({ interval }) => interval?.[0] ?? null)),
          high: atIndices(points.map(({ interval }) => interval?.[1] ?? null)),
        }),
      ),
    ],
    ...(areMeans && {
      bands: {
        label: '95 % intervals',
        isHidden:
          arms.length > maxBands ||
          areTooWide(
            meanCurves.flat(),
            arms.flatMap(({ curves }) => curves.flat()),
          ),
      },
    }),
    marks: arms.flatMap(({ confirmed }, i) =>
      confirmed === undefined
        ? []
        : {
            ...({ label: isSingle ? 'confirmed' : labels[i]!, draw: 'diamond' } as const),
            color: isSingle ? '--good' : (`--arm-${i % colorCount}` as const),
            marks: [{ y: confirmed.mean, interval: confirmed.interval }],
          },
    ),
    ...(isSingle && {
      notes: meanCurves[0]!.map(
        ({ count, interval, mean }, i) =>
          `${nameOf(i)}: mean ${formatReturn(mean)}, 95 % interval ${formatInterval(interval)}, ${plural(count, 'run')}`,
      ),
    }),
    hint: 'Hover over the chart for values; drag to zoom, double-click to reset.',
  };
  return chartFigure(
    chart,
    areMeans
      ? html`Lines: mean of the best returns so far. Diamonds: mean confirmed returns. Both have 95 % intervals of the mean.`
      : html`Lines: best return so far. Diamonds: confirmed returns.`,
  );
}

interface CurvePoint {
  readonly mean: number;
  readonly interval: Interval | null;
  readonly count: number;
}

/**
 * Averages the curves at each index, with a 95% interval (Student's t, clipped to `range`; null for too few curves, see
 * `interval95`), up to the length of the longest curve.
 */
function meanCurve(curves: readonly (readonly number[])[], range: Interval): readonly CurvePoint[] {
  const length = largest([0, ...curves.map((curve) => curve.length)]);
  return Array.from({ length }, (_, i) => {
    const values: number[] = [];
    for (const { [i]: value } of curves) if (value !== undefined) values.push(value);
    return { mean: mean(values), interval: meanInterval95(values, range, 'student'), count: values.length };
  });
}

/** True if the intervals are so wide that the curves would look flat, for example with only three runs. */
function areTooWide(points: readonly CurvePoint[], values: readonly number[]): boolean {
  const ends = points.flatMap(({ interval }) => interval ?? []);
  return largest(ends) - smallest(ends) > 3 * (largest(values) - smallest(values));
}
