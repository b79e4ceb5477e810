/** The learning curve of a run, as a chart: the same in reports and in the live view. */
import { formatNumber, plural } from '../format/numbers.js';
import type { Chart } from './chart.js';

/** An evaluation. `best`: highest score so far; `low`, `high`: range of its returns, or mean ± standard error. */
export interface CurvePoint {
  readonly iteration: number;
  /** 0-based index within the iteration (for iteration 0, within the warm-up). */
  readonly candidate: number;
  readonly score: number;
  readonly low: number;
  readonly high: number;
  readonly best: number;
  /** Ends of a narrower interval of the returns, such as quartiles, if known. */
  readonly inner?: readonly [number, number];
}

type Place = Pick<CurvePoint, 'iteration' | 'candidate'>;

export interface Course {
  readonly points: readonly CurvePoint[];
  /** Proposals without a result. */
  readonly lost: readonly Place[];
  /** Number of evaluations. For a long run, `points` contains only the extremes. */
  readonly evaluations: number;
  readonly confirmed?: {
    readonly mean: number;
    readonly ci95: readonly [number, number];
    readonly at?: Place;
  };
  readonly target?: number | undefined;
  /** Title of the y axis, such as `Mean return of 20 episodes`. */
  readonly title: string;
  readonly noteOf?: (point: CurvePoint) => string;
  readonly linkOf?: (place: Place) => string | null;
  readonly hint?: string;
}

/** Places candidates on the iteration axis: evenly spaced between their iteration and the next. */
function placeIn({ lost, points }: Course): (place: Place) => number {
  const widths = { warmup: 1, proposals: 1 };
  for (const { candidate, iteration } of [...points, ...lost]) {
    const key = iteration === 0 ? 'warmup' : 'proposals';
    widths[key] = Math.max(widths[key], candidate + 1);
  }
  return ({ candidate, iteration }) =>
    iteration + candidate / (iteration === 0 ? widths.warmup : widths.proposals);
}

export function curveChart(course: Course): Chart {
  const { confirmed, evaluations, hint, linkOf, lost, noteOf = noteOfPoint, target, title } = course;
  const place = placeIn(course);
  const order = course.points
    .map((point) => ({ point, x: place(point) }))
    .toSorted((a, b) => a.x - b.x)
    .filter(({ x }, i, all) => x !== all[i + 1]?.x);
  const points = order.map(({ point }) => point);
  const best = points.reduce((most, { best }) => Math.max(most, best), Number.NEGATIVE_INFINITY);
  const last = order.at(-1)?.x ?? 1;
  const hasInner = points.some(({ inner }) => inner !== undefined);
  const hasWarmup = points.some(({ iteration }) => iteration === 0);
  return {
    label: `Learning curve of ${plural(evaluations, 'evaluation')}${points.length === 0 ? '' : `; best so far ${formatNumber(best)}`}${confirmed ? `; confirmed ${formatNumber(confirmed.mean)}` : ''}.`,
    x: { title: 'Iteration', kind: 'whole', from: hasWarmup ? 0 : Math.min(1, order[0]?.x ?? 0) },
    y: { title },
    height: 340,
    at: order.map(({ x }) => x),
    series: [
      {
        label: evaluations > points.length ? 'evaluations (extremes only)' : 'evaluations',
        draw: 'points',
        outliers: 'low',
        colour: '--point',
        values: points.map(({ score }) => score),
        low: points.map(({ low }) => low),
        high: points.map(({ high }) => high),
        ...(hasInner && {
          inner: [
            points.map(({ inner }) => inner?.[0] ?? null),
            points.map(({ inner }) => inner?.[1] ?? null),
          ] as const,
        }),
      },
      {
        label: 'best so far',
        draw: 'steps',
        outliers: 'low',
        colour: '--accent',
        width: 2,
        values: points.map(({ best: own }) => own),
      },
    ],
    marks: [
      {
        ...({ label: 'no usable proposal', draw: 'cross', colour: '--bad' } as const),
        marks: lost.map((one) => ({ x: place(one) })),
      },
      {
        label: 'confirmed on unseen episodes, with 95 % interval',
        ...({ draw: 'diamond', colour: '--good' } as const),
        marks: confirmed
          ? [{ x: confirmed.at ? place(confirmed.at) : last, y: confirmed.mean, interval: confirmed.ci95 }]
          : [],
      },
    ].filter(({ marks }) => marks.length > 0),
    ...(target !== undefined && { levels: [{ y: target, label: `target ${formatNumber(target)}` }] }),
    ...(hasWarmup && { shades: [[0, 1] as const] }),
    notes: points.map(noteOf),
    ...(linkOf && { links: points.map(linkOf) }),
    ...(hint !== undefined && { hint }),
  };
}

function noteOfPoint({ best, candidate, high, iteration, low, score }: CurvePoint): string {
  const place =
    iteration === 0
      ? `Warm-up policy ${candidate + 1}`
      : `Iteration ${iteration}, candidate ${candidate + 1}`;
  const range = low === high ? '' : `, episodes from ${formatNumber(low)} to ${formatNumber(high)}`;
  return `${place}: ${formatNumber(score)}${range}; best so far ${formatNumber(best)}`;
}
