import { type Html, html } from '../../format/html.js';
import { formatInterval, formatReturn, plural } from '../../format/numbers.js';
import { clipped, type Interval } from '../../statistics/bootstrap.js';
import { largest, mean, meanInterval95 } from '../../statistics/descriptive.js';
import {
  bandPath,
  coordinate,
  figure,
  iterationTicks,
  line,
  linearScale,
  numberedTicks,
  type PlotColumn,
  percent,
  plotChart,
  robustDomain,
  type Scale,
} from './plot.js';

export interface CurveArm {
  readonly name: string;
  /**
   * Best return so far of each repeat, starting at iteration 0 (or along another axis); shorter for an
   * unfinished repeat.
   */
  readonly curves: readonly (readonly number[])[];
  /** Smallest and largest possible return. */
  readonly range: Interval;
  /** Confirmed return of the arm; absent if no repeat was confirmed. */
  readonly confirmed?: { readonly mean: number; readonly interval: readonly [number, number] } | undefined;
}

const height = 280;

/** Number of arm colours in the style sheet. */
const colours = 8;

export interface CurveAxis {
  readonly title: string;
  /** Ticks for `count` values; `at` is in slots, so the first value is at 0.5. */
  ticks(count: number): readonly { readonly at: number; readonly label: string }[];
  /** Name of the position at this index, capitalised. */
  place(index: number): string;
  /** The whole span, e.g. `40 iterations`. */
  span(count: number): string;
}

export const iterationAxis: CurveAxis = {
  title: 'Iteration (0: warm-up)',
  ticks: (count) => [{ at: 0.5, label: '0' }, ...iterationTicks(count - 1)],
  place: (index) => (index === 0 ? 'After the warm-up' : `Iteration ${index}`),
  span: (count) => plural(count - 1, 'iteration'),
};

/** @param step number of evaluations between values; the first value is at `step` */
export const evaluationAxis = (step: number): CurveAxis => ({
  title: 'Evaluation (warm-up first)',
  ticks: (count) =>
    numberedTicks(count * step)
      .map(({ label }) => ({ at: Number(label) / step - 0.5, label }))
      .filter(({ at }) => at > 0),
  place: (index) => `Evaluation ${(index + 1) * step}`,
  span: (count) => plural(count * step, 'evaluation'),
});

/** CSS class of an arm's lines, marks and keys; after the last colour, colours repeat with dashed lines. */
export const armClass = (index: number) =>
  `arm-${index % colours}${index % (2 * colours) < colours ? '' : ' dashed'}`;

/**
 * Mean best return so far of each arm with its 95% interval, and confirmed returns at the right edge. Bands of
 * several arms would overlap, so each is shown only on request.
 */
export function armCurves(arms: readonly CurveArm[], axis: CurveAxis = iterationAxis): Html {
  const summaries = arms.map(({ curves, range }) => meanCurve(curves, range));
  const last = largest([0, ...summaries.map((points) => points.length - 1)]);
  if (summaries.every((points) => points.length === 0)) {
    return html`<p class="empty">No evaluations.</p>`;
  }
  const y = verticalScale(arms, summaries);
  // The slots after the last value leave space for the confirmed returns.
  const slots = last + 1 + Math.max(1, Math.ceil((last + 1) * 0.06));
  const x = (iteration: number) => iteration + 0.5;
  const chart = plotChart({
    description: `Best return so far over ${axis.span(last + 1)}: ${arms.map(({ name }) => name).join(', ')}.`,
    height,
    y,
    yTitle: 'Best mean return so far',
    x: { slots, ticks: axis.ticks(last + 1), title: axis.title },
    paths: [
      summaries.map(
        (points, i) =>
          html`<path class="arm-band ${armClass(i)}" data-arm="${i}" data-part="band"${areBandsHidden(arms) && html` hidden=""`} d="${bandPath(points, x, y)}"/>`,
      ),
      summaries.map((points, i) => {
        const d = line(points.map((point, iteration) => [x(iteration), y.at(point.mean)]));
        return html`<path class="arm-line ${armClass(i)}" data-arm="${i}" data-part="line" d="${d}"/>`;
      }),
    ],
    marks: arms.map(({ confirmed }, i) => {
      const share = (last + 1 + ((i + 0.5) / arms.length) * (slots - last - 1)) / slots;
      return confirmed && confirmedMark(confirmed, percent(share), i, y);
    }),
    columns: Array.from({ length: last + 1 }, (_, iteration) => column(arms, summaries, iteration, axis)),
  });
  const caption = html`${armLegend(arms)}
<p class="note">Line: mean best so far; band: its 95 % interval (Student's t); dots at the right edge: confirmed return.</p>`;
  return figure(chart, caption, 'Hover over a column for details.');
}

const areBandsHidden = (arms: readonly CurveArm[]) => arms.length > 1;

function armLegend(arms: readonly CurveArm[]): Html {
  const box = (arm: number | 'all', part: 'line' | 'band', name: string) =>
    html`<label class="scripted"><input type="checkbox" data-arm="${arm}" data-part="${part}" aria-label="${part} of ${name}"${(part === 'line' || !areBandsHidden(arms)) && html` checked=""`}> ${part}</label>`;
  return html`<ul class="arms">
${arms.map(
  ({ name, curves }, i) =>
    html`<li><span class="key arm ${armClass(i)}"></span><span class="name">${name}, ${plural(curves.length, 'run')}</span>${box(i, 'line', name)}${box(i, 'band', name)}</li>
`,
)}${arms.length > 2 && html`<li class="all"><span class="name">all</span>${box('all', 'line', 'all')}${box('all', 'band', 'all')}</li>`}</ul>`;
}

interface CurvePoint {
  readonly mean: number;
  readonly interval: readonly [number, number];
  readonly count: number;
}

/**
 * Mean of the curves at each index, with its 95% interval (Student's t, clipped to `range`), up to the length of
 * the longest curve.
 */
export function meanCurve(curves: readonly (readonly number[])[], range: Interval): readonly CurvePoint[] {
  const length = largest([0, ...curves.map((curve) => curve.length)]);
  return Array.from({ length }, (_, i) => {
    const values = curves.flatMap((curve) => curve[i] ?? []);
    const centre = mean(values);
    return { mean: centre, interval: clipped(meanInterval95(values), range, centre), count: values.length };
  });
}

/** Fits the curves and means, but not the bands: those of a few repeats are wide and would flatten the rest. */
function verticalScale(arms: readonly CurveArm[], summaries: readonly (readonly CurvePoint[])[]): Scale {
  const values = [
    ...arms.flatMap(({ curves }) => curves.flat()),
    ...summaries.flatMap((points) => points.map((point) => point.mean)),
    ...arms.flatMap(({ confirmed }) => (confirmed === undefined ? [] : [confirmed.mean])),
  ];
  return linearScale(robustDomain(values), [height, 0], { ticks: 6, nice: true });
}

function confirmedMark(
  { mean: centre, interval }: NonNullable<CurveArm['confirmed']>,
  x: string,
  arm: number,
  y: Scale,
): Html {
  const [low, high] = interval.map((end) => coordinate(y.at(end)));
  return html`<g class="arm-mark ${armClass(arm)}" data-arm="${arm}" data-part="line"><line x1="${x}" x2="${x}" y1="${low}" y2="${high}"/><circle cx="${x}" cy="${coordinate(y.at(centre))}" r="4.5"/></g>`;
}

function column(
  arms: readonly CurveArm[],
  summaries: readonly (readonly CurvePoint[])[],
  iteration: number,
  axis: CurveAxis,
): PlotColumn {
  const parts = arms.flatMap(({ name }, i) => {
    const point = summaries[i]?.[iteration];
    return point === undefined
      ? []
      : [`${name} ${formatReturn(point.mean)} (${formatInterval(point.interval)})`];
  });
  return { at: iteration, width: 1, text: `${axis.place(iteration)}: ${parts.join('; ')}` };
}
