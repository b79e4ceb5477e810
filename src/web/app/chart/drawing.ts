/** What uPlot doesn't draw itself: bands, whiskers, marks, levels and shades. */
import type uPlot from 'uplot';
import type { Chart, Series } from '../../chart.js';
import { colourOf, type Drawn } from './drawn.js';

const px = () => devicePixelRatio;

/** Draws within the plot's area; what stands at its left or right edge stays whole. */
function within({ bbox, ctx }: uPlot, draw: (ctx: CanvasRenderingContext2D) => void): void {
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left - 3 * px(), bbox.top, bbox.width + 6 * px(), bbox.height);
  ctx.clip();
  ctx.beginPath();
  ctx.setLineDash([]);
  draw(ctx);
  ctx.restore();
}

const shown = ({ chart, hidden }: Drawn): readonly Series[] =>
  chart.series.filter(({ label }) => !hidden.has(label));

/** Indices of the x that are in view, and one more on each side. */
function* visible(plot: uPlot, { at }: Chart): Generator<number> {
  const { max = Infinity, min = -Infinity } = plot.scales.x ?? {};
  for (let i = 0; i < at.length; i++)
    if ((at[i + 1] ?? Infinity) >= min! && (at[i - 1] ?? -Infinity) <= max!) yield i;
}

export function drawShades(plot: uPlot, { chart }: Drawn): void {
  within(plot, (ctx) => {
    ctx.fillStyle = colourOf('--grid');
    ctx.globalAlpha = 0.5;
    for (const [from, to] of chart.shades ?? []) {
      const [left, right] = [from, to].map((x) => plot.valToPos(x, 'x', true));
      ctx.fillRect(left!, plot.bbox.top, right! - left!, plot.bbox.height);
    }
  });
}

export function drawBands(plot: uPlot, drawn: Drawn): void {
  const { bands } = drawn.chart;
  if (bands !== undefined && drawn.hidden.has(bands.label)) return;
  for (const { colour, draw, high, low } of shown(drawn)) {
    if (low === undefined || high === undefined || draw === 'points' || draw === 'bars') continue;
    within(plot, (ctx) => {
      ctx.fillStyle = colourOf(colour);
      ctx.globalAlpha = 0.15;
      const places = [...visible(plot, drawn.chart)].filter(
        (i) => typeof low[i] === 'number' && typeof high[i] === 'number',
      );
      const x = (i: number) => plot.valToPos(drawn.chart.at[i]!, 'x', true);
      for (const i of places) ctx.lineTo(x(i), plot.valToPos(high[i]!, 'y', true));
      for (const i of places.toReversed()) ctx.lineTo(x(i), plot.valToPos(low[i]!, 'y', true));
      ctx.fill();
    });
  }
}

/** Whiskers of more points would cover everything. */
const mostWhiskers = 1500;

export function drawWhiskers(plot: uPlot, drawn: Drawn): void {
  const { chart } = drawn;
  if (chart.at.length > mostWhiskers) return;
  for (const { draw, high, inner, low } of shown(drawn)) {
    if (draw !== 'points') continue;
    const whiskers = [
      { ends: [low, high] as const, width: 1 },
      { ends: inner ?? ([] as const), width: 4 },
    ];
    for (const {
      ends: [from, to],
      width,
    } of whiskers) {
      if (from === undefined || to === undefined) continue;
      within(plot, (ctx) => {
        ctx.strokeStyle = colourOf('--spread');
        ctx.lineWidth = width * px();
        for (const i of visible(plot, chart)) {
          if (typeof from[i] !== 'number' || typeof to[i] !== 'number' || from[i] === to[i]) continue;
          const x = Math.round(plot.valToPos(chart.at[i]!, 'x', true));
          ctx.moveTo(x, plot.valToPos(from[i]!, 'y', true));
          ctx.lineTo(x, plot.valToPos(to[i]!, 'y', true));
        }
        ctx.stroke();
      });
    }
  }
}

export function drawLevels(plot: uPlot, { chart }: Drawn): void {
  within(plot, (ctx) => {
    ctx.strokeStyle = colourOf('--muted');
    ctx.setLineDash([6 * px(), 5 * px()]);
    ctx.lineWidth = px();
    for (const { y } of chart.levels ?? []) {
      const at = plot.valToPos(y, 'y', true);
      ctx.moveTo(plot.bbox.left, at);
      ctx.lineTo(plot.bbox.left + plot.bbox.width, at);
    }
    ctx.stroke();
  });
}

/** Marks right of the plot. */
export const edgeMarks = ({ marks = [] }: Chart) =>
  marks.flatMap((own) => own.marks).filter(({ x }) => x === undefined);

export function drawMarks(plot: uPlot, { chart, hidden }: Drawn): void {
  const { bbox, ctx, scales } = plot;
  const edges = edgeMarks(chart);
  // The space that the options leave right of the plot.
  const room = plot.width * px() - bbox.left - bbox.width - 12 * px();
  const { max = Infinity, min = -Infinity } = scales.x ?? {};
  for (const { colour, draw, label, marks } of chart.marks ?? []) {
    if (hidden.has(label)) continue;
    ctx.save();
    ctx.beginPath();
    ctx.setLineDash([]);
    ctx.strokeStyle = ctx.fillStyle = colourOf(colour);
    ctx.lineWidth = 1.5 * px();
    for (const mark of marks) {
      const { interval, x, y } = mark;
      if (x !== undefined && (x < min! || x > max!)) continue;
      const at =
        x === undefined
          ? bbox.left + bbox.width + 6 * px() + ((edges.indexOf(mark) + 0.5) / edges.length) * room
          : plot.valToPos(x, 'x', true);
      if (draw === 'cross') {
        const [size, middle] = [3.5 * px(), bbox.top + bbox.height - 8 * px()];
        ctx.moveTo(at - size, middle - size);
        ctx.lineTo(at + size, middle + size);
        ctx.moveTo(at + size, middle - size);
        ctx.lineTo(at - size, middle + size);
        continue;
      }
      const [size, middle] = [6 * px(), plot.valToPos(y!, 'y', true)];
      if (interval !== undefined) {
        ctx.moveTo(at, plot.valToPos(interval[0], 'y', true));
        ctx.lineTo(at, plot.valToPos(interval[1], 'y', true));
      }
      const diamond = new Path2D();
      diamond.moveTo(at, middle - size);
      diamond.lineTo(at + size, middle);
      diamond.lineTo(at, middle + size);
      diamond.lineTo(at - size, middle);
      ctx.fill(diamond);
    }
    ctx.stroke();
    ctx.restore();
  }
}

/** Triangles at the edge, for points beyond it. */
export function drawOutliers(plot: uPlot, drawn: Drawn): void {
  const { bbox, ctx, scales } = plot;
  const { max = Infinity, min = -Infinity } = scales.y ?? {};
  for (const { colour, draw, outliers, values } of shown(drawn)) {
    if (draw !== 'points' || outliers === undefined) continue;
    ctx.fillStyle = colourOf(colour);
    for (const i of visible(plot, drawn.chart)) {
      const value = values[i];
      if (typeof value !== 'number' || (value >= min! && value <= max!)) continue;
      const [x, size] = [plot.valToPos(drawn.chart.at[i]!, 'x', true), (value > max! ? -5 : 5) * px()];
      const edge = value > max! ? bbox.top : bbox.top + bbox.height;
      const triangle = new Path2D();
      triangle.moveTo(x - size, edge - 1.6 * size);
      triangle.lineTo(x + size, edge - 1.6 * size);
      triangle.lineTo(x, edge);
      ctx.fill(triangle);
    }
  }
}
