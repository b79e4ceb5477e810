import { useMemo, useState } from 'preact/hooks';
import { Chart, colour, paddedRange, Toggle } from './chart.js';
import { go, html, itemAddress, shownNumber } from './words.js';

/** @typedef {import('../messages.js').PointRow} PointRow */
/** @typedef {{ points: PointRow[], lost: (readonly [number, number])[], evaluations: number }} Course */

/** @returns {Course} */
export const newCourse = () => ({ points: [], lost: [], evaluations: 0 });

/** Returns a function that gives a candidate's x position, spread within its iteration. @param {Course} course */
function placesOf({ lost, points }) {
  const widths = { warmup: 1, proposals: 1 };
  for (const [iteration, candidate] of [...points, ...lost]) {
    const key = iteration === 0 ? 'warmup' : 'proposals';
    widths[key] = Math.max(widths[key], candidate + 1);
  }
  /** @param {number} iteration @param {number} candidate */
  return (iteration, candidate) =>
    iteration + candidate / (iteration === 0 ? widths.warmup : widths.proposals);
}

/** Maximum number of evaluations for which ranges over episodes are drawn. */
const mostRanges = 1500;

/**
 * @param {{
 *   name: string, course: Course, version: number, unit?: string,
 *   confirmed: number | null, ci95: readonly [number, number] | null, target: number | undefined,
 * }} props
 */
export function LiveCurve({ name, course, version, confirmed, ci95, target }) {
  const [shown, setShown] = useState({
    evaluations: true,
    ranges: true,
    best: true,
    confirmed: true,
    lost: true,
  });
  const [at, setAt] = useState(/** @type {number | null} */ (null));
  const { data, order, x } = useMemo(() => {
    const place = placesOf(course);
    const order = course.points
      .map((point) => ({ point, x: place(point[0], point[1]) }))
      .sort((a, b) => a.x - b.x);
    /** @param {number} i */
    const values = (i) => order.map(({ point }) => /** @type {number} */ (point[i]));
    return { order, x: place, data: [order.map((one) => one.x), values(2), values(5)] };
  }, [version]);
  const scores = course.points.map((point) => point[2]);
  const extra = [...(shown.confirmed && ci95 ? ci95 : []), ...(target === undefined ? [] : [target])];
  const lines = () => [
    {
      label: 'evaluation',
      kind: /** @type {const} */ ('points'),
      stroke: colour('--point'),
      size: course.points.length > 600 ? 3 : 5,
    },
    { label: 'best so far', kind: /** @type {const} */ ('steps'), stroke: colour('--accent'), width: 2 },
  ];
  const drawn = [
    data[0],
    shown.evaluations ? data[1] : empty(data[1]),
    shown.best ? data[2] : empty(data[2]),
  ];
  const pointed = at === null ? undefined : order[at]?.point;
  const best = course.points.at(-1)?.[5];
  const words = `Learning curve of ${course.evaluations} evaluations${best === undefined ? '' : `; best so far ${shownNumber(best)}`}.`;
  /** @param {keyof typeof shown} part @param {string} label @param {string} mark */
  const toggle = (part, label, mark) =>
    html`<${Toggle} label=${label} mark=${html`<span class=${`key ${mark}`}></span>`} isOn=${shown[part]} onChange=${(/** @type {boolean} */ isOn) => setShown({ ...shown, [part]: isOn })} />`;
  return html`<div class="live-curve">
<${Chart} label=${words} height=${340} xTitle="Iteration" lines=${lines} data=${drawn}
  range=${(/** @type {number} */ low, /** @type {number} */ high) => {
    const [least, most] = robust(scores, low, high);
    return paddedRange(Math.min(least, ...extra), Math.max(most, ...extra));
  }}
  under=${(/** @type {uPlot} */ plot) => {
    if (shown.ranges && order.length <= mostRanges) drawRanges(plot, order);
    if (shown.confirmed && confirmed !== null && ci95) drawBand(plot, ci95, confirmed);
  }}
  over=${(/** @type {uPlot} */ plot) => {
    if (target !== undefined) drawTarget(plot, target);
    if (shown.lost)
      drawLost(
        plot,
        course.lost.map(([i, c]) => x(i, c)),
      );
  }}
  onPoint=${setAt}
  onClick=${(/** @type {number} */ i) => {
    const point = order[i]?.point;
    if (point) go(itemAddress(name, { iteration: point[0] }));
  }} />
<p class="readout" aria-hidden="true">${pointed ? pointText(pointed) : 'Hover for details, click to open an iteration, drag to zoom, double-click to reset.'}</p>
<ul class="legend toggles">
${toggle('evaluations', 'evaluation', 'dot')}
${toggle('ranges', 'range over episodes', 'range')}
${toggle('best', 'best so far', 'step')}
${confirmed !== null && toggle('confirmed', 'confirmed on unseen episodes, with 95 % interval', 'diamond')}
${course.lost.length > 0 && toggle('lost', 'no usable proposal', 'cross')}
${target !== undefined && html`<li><span class="key dash"></span>target ${shownNumber(target)}</li>`}
</ul>
</div>`;
}

/** @typedef {import('uplot')} uPlot */

/** @param {readonly unknown[] | undefined} values */
const empty = (values) => (values ?? []).map(() => null);

/**
 * Omits the worst outliers, which would flatten the rest. @param {number[]} scores @param {number} low @param {number}
 * high
 */
function robust(scores, low, high) {
  if (scores.length < 20) return [low, high];
  const ascending = scores.toSorted((a, b) => a - b);
  const quarter = /** @type {number} */ (ascending[Math.floor(ascending.length / 4)]);
  const most = /** @type {number} */ (ascending.at(-1));
  const least = quarter - 4 * (most - quarter);
  return [Math.max(low, Math.min(quarter, least)), high];
}

/** @param {PointRow} point */
function pointText([iteration, candidate, score, low, high, best]) {
  const place =
    iteration === 0
      ? `Warm-up policy ${candidate + 1}`
      : `Iteration ${iteration}, candidate ${candidate + 1}`;
  const range = low === high ? '' : `, episodes from ${shownNumber(low)} to ${shownNumber(high)}`;
  return `${place}: ${shownNumber(score)}${range}; best so far ${shownNumber(best)}`;
}

/** @param {uPlot} plot @param {readonly { point: PointRow, x: number }[]} order */
function drawRanges(plot, order) {
  const { ctx } = plot;
  ctx.save();
  ctx.strokeStyle = colour('--spread');
  ctx.lineWidth = devicePixelRatio;
  ctx.beginPath();
  clip(plot);
  for (const { point, x } of order) {
    if (point[3] === point[4]) continue;
    const at = Math.round(plot.valToPos(x, 'x', true));
    ctx.moveTo(at, plot.valToPos(point[3], 'y', true));
    ctx.lineTo(at, plot.valToPos(point[4], 'y', true));
  }
  ctx.stroke();
  ctx.restore();
}

/** @param {uPlot} plot */
function clip({ bbox, ctx }) {
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.beginPath();
}

/** @param {uPlot} plot @param {readonly [number, number]} ends @param {number} mean */
function drawBand(plot, [low, high], mean) {
  const { bbox, ctx } = plot;
  const [top, bottom, middle] = [high, low, mean].map((value) => plot.valToPos(value, 'y', true));
  ctx.save();
  ctx.fillStyle = colour('--good');
  ctx.globalAlpha = 0.14;
  ctx.fillRect(bbox.left, Number(top), bbox.width, Math.max(2, Number(bottom) - Number(top)));
  ctx.globalAlpha = 1;
  const size = 6 * devicePixelRatio;
  const x = bbox.left + bbox.width - size - 2;
  ctx.beginPath();
  ctx.moveTo(x, Number(middle) - size);
  ctx.lineTo(x + size, Number(middle));
  ctx.lineTo(x, Number(middle) + size);
  ctx.lineTo(x - size, Number(middle));
  ctx.fill();
  ctx.restore();
}

/** @param {uPlot} plot @param {number} target */
function drawTarget(plot, target) {
  const { bbox, ctx } = plot;
  const y = plot.valToPos(target, 'y', true);
  ctx.save();
  ctx.strokeStyle = colour('--muted');
  ctx.setLineDash([6, 5]);
  ctx.lineWidth = devicePixelRatio;
  ctx.beginPath();
  ctx.moveTo(bbox.left, y);
  ctx.lineTo(bbox.left + bbox.width, y);
  ctx.stroke();
  ctx.restore();
}

/** @param {uPlot} plot @param {readonly number[]} places */
function drawLost(plot, places) {
  const { bbox, ctx } = plot;
  const size = 3.5 * devicePixelRatio;
  const y = bbox.top + bbox.height - 8 * devicePixelRatio;
  ctx.save();
  ctx.strokeStyle = colour('--bad');
  ctx.lineWidth = 1.5 * devicePixelRatio;
  ctx.beginPath();
  for (const place of places) {
    const x = plot.valToPos(place, 'x', true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.moveTo(x - size, y - size);
    ctx.lineTo(x + size, y + size);
    ctx.moveTo(x + size, y - size);
    ctx.lineTo(x - size, y + size);
  }
  ctx.stroke();
  ctx.restore();
}
