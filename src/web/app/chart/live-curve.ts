import { useMemo } from 'preact/hooks';
import { type CurvePoint, curveChart } from '../../curve.js';
import type { PointRow } from '../../messages.js';
import { html } from '../base/html.js';
import { itemAddress } from '../base/words.js';
import { ChartFigure } from './chart-figure.js';

/** The part of a run's curve that the server has sent so far. */
export interface LiveCourse {
  points: PointRow[];
  lost: (readonly [iteration: number, candidate: number])[];
  evaluations: number;
}

export const newCourse = (): LiveCourse => ({ points: [], lost: [], evaluations: 0 });

const pointOf = ([iteration, candidate, score, low, high, best]: PointRow): CurvePoint => ({
  ...{ iteration, candidate, score, low, high, best },
});

interface Props {
  readonly name: string;
  readonly course: LiveCourse;
  /** Must change whenever `course` is modified, so that the chart is drawn again. */
  readonly version: number;
  readonly confirmed: number | null;
  readonly ci95: readonly [number, number] | null;
  readonly target: number | undefined;
}

export function LiveCurve({ ci95, confirmed, course, name, target, version }: Props) {
  const chart = useMemo(
    () =>
      curveChart({
        points: course.points.map(pointOf),
        lost: course.lost.map(([iteration, candidate]) => ({ iteration, candidate })),
        evaluations: course.evaluations,
        ...(confirmed !== null && ci95 !== null && { confirmed: { mean: confirmed, ci95 } }),
        target,
        title: 'Mean return',
        linkOf: ({ iteration }) => itemAddress(name, { iteration }),
        hint: 'Hover over the chart for details; click to open an iteration; drag to zoom, double-click to reset.',
      }),
    [version, confirmed, ci95, target],
  );
  return html`<${ChartFigure} chart=${chart} />`;
}
