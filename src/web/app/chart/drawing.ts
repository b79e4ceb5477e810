/** Draws what uPlot doesn't: bands, whiskers, marks, levels and shades. */
import type uPlot from 'uplot';
import type { Chart, Series } from '../../chart.js';
import { colourOf, type Drawn } from './drawn.js';

type Line = readonly [fromX: number, fromY: number, toX: number, toY: number];

/** The plot's canvas, with positions in canvas pixels; `px`: canvas pixels per CSS pixel. */
function canvasOf(plot: uPlot) {
  const { bbox, ctx } = plot;
  const px = devicePixelRatio;
  return {
    ctx,
    px,
    left: bbox.left,
    top: bbox.top,
    right: bbox.left + bbox.width,
    bottom: bbox.top + bbox.height,
    x: (value: number) => plot.valToPos(value, 'x', true),
    y: (value: number) => plot.valToPos(value, 'y', true),
    stroke(lines: readonly Line[]) {
      ctx.beginPath();
      for (const [fromX, fromY, toX, toY] of lines) {
        ctx.moveTo(fromX, fromY);
        ctx.lineTo(toX, toY);
      }
      ctx.stroke();
    },
    /** @param corners offsets from (x, y), in CSS pixels */
    fill(x: number, y: number, corners: readonly (readonly [number, number])[]) {
      ctx.beginPath();
      for (const [right, down] of corners) ctx.lineTo(x + right * px, y + down * px);
      ctx.fill();
    },
  };
}

type Canvas = ReturnType<typeof canvasOf>;

const shown = ({ chart, hidden }: Drawn): readonly Series[] =>
  chart.series.filter(({ label }) => !hidden.has(label));

/** Indices of the visible x values, and one more on each side. */
function visible(plot: uPlot, { at }: Chart): readonly number[] {
  const { max = Infinity, min = -Infinity } = plot.scales.x ?? {};
  return [...at.keys()].filter((i) => (at[i + 1] ?? Infinity) >= min! && (at[i - 1] ?? -Infinity) <= max!);
}

/** Draws shades, whiskers and bands. Whiskers at the left and right edges may extend 3 pixels beyond the plot. */
export function drawBelow(plot: uPlot, drawn: Drawn): void {
  const canvas = canvasOf(plot);
  const { bottom, ctx, left, px, right, top, x } = canvas;
  const { bands, shades = [] } = drawn.chart;
  ctx.save();
  ctx.beginPath();
  ctx.rect(left - 3 * px, top, right - left + 6 * px, bottom - top);
  ctx.clip();
  ctx.setLineDash([]);
  ctx.fillStyle = colourOf('--grid');
  ctx.globalAlpha = 0.5;
  for (const [from, to] of shades) ctx.fillRect(x(from), top, x(to) - x(from), bottom - top);
  const places = visible(plot, drawn.chart);
  for (const series of shown(drawn)) {
    if (series.draw === 'points') drawWhiskers(canvas, drawn.chart, series, places);
    else if (bands === undefined || !drawn.hidden.has(bands.label))
      drawBand(canvas, drawn.chart, series, places);
  }
  ctx.restore();
}

function drawBand(
  { ctx, x, y }: Canvas,
  { at }: Chart,
  { colour, high, low }: Series,
  places: readonly number[],
): void {
  const known = places.filter((i) => typeof low?.[i] === 'number' && typeof high?.[i] === 'number');
  ctx.fillStyle = colourOf(colour);
  ctx.globalAlpha = 0.15;
  ctx.beginPath();
  for (const i of known) ctx.lineTo(x(at[i]!), y(high![i]!));
  for (const i of known.toReversed()) ctx.lineTo(x(at[i]!), y(low![i]!));
  ctx.fill();
}

/** Charts with more points have no whiskers, because the whiskers would cover everything. */
const mostWhiskers = 1500;

function drawWhiskers(
  { ctx, px, stroke, x, y }: Canvas,
  { at }: Chart,
  { high, inner, low }: Series,
  places: readonly number[],
): void {
  if (at.length > mostWhiskers) return;
  ctx.strokeStyle = colourOf('--spread');
  ctx.globalAlpha = 1;
  for (const [width, from, to] of [[1, low, high] as const, [4, inner?.[0], inner?.[1]] as const]) {
    ctx.lineWidth = width * px;
    stroke(
      places.flatMap((i) => {
        const [least, most] = [from?.[i], to?.[i]];
        if (typeof least !== 'number' || typeof most !== 'number' || least === most) return [];
        const middle = Math.round(x(at[i]!));
        return [[middle, y(least), middle, y(most)] as const];
      }),
    );
  }
}

/** Marks to the right of the plot. */
export const edgeMarks = ({ marks = [] }: Chart) =>
  marks.flatMap((own) => own.marks).filter(({ x }) => x === undefined);

const cross = 3.5;
const diamond = [[0, -6] as const, [6, 0] as const, [0, 6] as const, [-6, 0] as const];
const triangle = [[-5, 8] as const, [5, 8] as const, [0, 0] as const];

/** Draws levels, marks, and a triangle at the upper or lower edge for each outlier beyond it. */
export function drawAbove(plot: uPlot, drawn: Drawn): void {
  const canvas = canvasOf(plot);
  const { bottom, ctx, fill, left, px, right, stroke, top, x, y } = canvas;
  const { levels = [], marks = [] } = drawn.chart;
  ctx.save();
  ctx.setLineDash([6 * px, 5 * px]);
  ctx.strokeStyle = colourOf('--muted');
  ctx.lineWidth = px;
  stroke(levels.map((level) => [left, y(level.y), right, y(level.y)]));
  ctx.setLineDash([]);
  ctx.lineWidth = 1.5 * px;
  const edges = edgeMarks(drawn.chart);
  // The space to the right of the plot, which `padding` in the options leaves free.
  const room = (plot.width - 12) * px - right;
  for (const { colour, draw, label, marks: own } of marks) {
    if (drawn.hidden.has(label)) continue;
    ctx.strokeStyle = ctx.fillStyle = colourOf(colour);
    for (const mark of own) {
      const edge = right + 6 * px + ((edges.indexOf(mark) + 0.5) / edges.length) * room;
      const at = mark.x === undefined ? edge : x(mark.x);
      if (mark.x !== undefined && (at < left - 1 || at > right + 1)) continue;
      if (draw === 'cross') {
        const [size, middle] = [cross * px, bottom - 8 * px];
        stroke([-size, size].map((up) => [at - size, middle - up, at + size, middle + up]));
      } else {
        if (mark.interval) stroke([[at, y(mark.interval[0]), at, y(mark.interval[1])]]);
        fill(at, y(mark.y!), diamond);
      }
    }
  }
  for (const { colour, draw, outliers, values } of shown(drawn)) {
    if (draw !== 'points' || outliers === undefined) continue;
    ctx.fillStyle = colourOf(colour);
    for (const i of visible(plot, drawn.chart)) {
      const value = values[i];
      if (typeof value !== 'number') continue;
      const at = x(drawn.chart.at[i]!);
      if (y(value) < top - 1) fill(at, top, triangle);
      if (y(value) > bottom + 1)
        fill(
          at,
          bottom,
          triangle.map(([across, down]) => [across, -down]),
        );
    }
  }
  ctx.restore();
}
