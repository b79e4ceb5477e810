/** Draws a heat map, and shows the value of the cell under the pointer or selected with the arrow keys. */
import { useMemo, useRef, useState } from 'preact/hooks';
import { formatCount, formatNumber, formatParameter } from '../../../base/text/numbers.js';
import type { HeatMap } from '../../heat-map.js';
import { categorical, negative, positive, type Rgb, sequential } from '../../palette.js';
import { percent, tickStep, ticksWithin } from '../../ticks.js';
import { html } from '../base/html.js';

const stripHeight = 12;
const top = stripHeight + 6;
const axisHeight = 20;
const tallest = 640;

export function HeatMapFigure({ map }: { readonly map: HeatMap }) {
  const { best, choices, columns, evaluations, label, names, scale, titles, total, warmup } = map;
  const [[column, row], setCell] = useState<readonly [number, number]>([-1, 0]);
  const target = useRef<SVGRectElement>(null);
  const images = useMemo(() => imagesOf(map), [map]);
  const [width, count] = [columns.length, names.length];
  const rowHeight = Math.min(count <= 16 ? 22 : count <= 48 ? 14 : 12, tallest / count);
  const mapHeight = Math.round(rowHeight * count);
  const height = top + mapHeight + axisHeight;
  const labeled = rowHeight >= 11 ? 1 : tickStep(16 / rowHeight);
  const x = (at: number) => percent(at / width);
  const value = columns[column]?.[row];
  const note =
    value === undefined
      ? 'Hover over a cell or use the arrow keys to see its value.'
      : `params[${row}], ${titles[row]} = ${formatParameter(value)} in ${evaluations[column]}`;
  const show = (atColumn: number, atRow: number) => {
    const within = (at: number, most: number) => Math.min(most - 1, Math.max(0, Math.floor(at)));
    setCell([within(atColumn, width), within(atRow, count)]);
  };
  const point = ({ clientX, clientY }: PointerEvent) => {
    const box = target.current!.getBoundingClientRect();
    show(((clientX - box.left) / box.width) * width, ((clientY - box.top) / box.height) * count);
  };
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    show(Math.max(0, column) + step[0]!, row + step[1]!);
  };
  const ticks = [1, ...ticksWithin(2, Math.max(2, total), 6)].filter(
    (tick) => Number.isInteger(tick) && tick <= total,
  );
  const isShort = names.every((name) => name.length <= 12);
  return html`<figure><div class=${`heat-map${isShort ? ' short-names' : ''}`}>
<svg class="row-names" width="100%" height=${height} aria-hidden="true">
<text class="wide" x="100%" y=${stripHeight / 2} dy="0.35em">score</text>
${names.map((name, i) => {
  const y = Math.round(top + (i + 0.5) * rowHeight);
  return (
    i % labeled === 0 &&
    html`<text class="wide" x="100%" y=${y} dy="0.35em">${name}</text><text class="narrow" x="100%" y=${y} dy="0.35em">${i}</text>`
  );
})}
</svg>
<svg class="area" width="100%" height=${height} aria-label=${label} role="slider" tabindex="0" aria-roledescription="heat map" aria-valuemin="1" aria-valuemax=${width} aria-valuenow=${Math.max(0, column) + 1} aria-valuetext=${note} onKeyDown=${onKey}>
<image width="100%" height=${stripHeight} preserveAspectRatio="none" href=${images.scores} />
<image y=${top} width="100%" height=${mapHeight} preserveAspectRatio="none" href=${images.values} />
<rect class="frame" y=${top} width="100%" height=${mapHeight} />
${warmup > 0 && warmup < width && html`<line class="boundary" x1=${x(warmup)} x2=${x(warmup)} y1="0" y2=${top + mapHeight} />`}
<rect class="best-column" x=${x(best.column)} width=${x(1)} y="0" height=${top + mapHeight} />
<g class="x-axis">${ticks.map((tick) => html`<text x=${percent((tick - 0.5) / total)} y=${top + mapHeight + 16}>${tick}</text>`)}</g>
${column >= 0 && html`<rect class="pointer" x=${x(column)} width=${x(1)} y=${top + (mapHeight * row) / count} height=${mapHeight / count} />`}
<rect class="target" ref=${target} y=${top} width="100%" height=${mapHeight} onPointerMove=${point} onPointerDown=${point} />
</svg>
<p class="x-title">Evaluation</p>
</div>
<p class="readout">${note}</p>
<figcaption><ul class="legend">${choices?.map(({ name }, i) => html`<li><span class=${`swatch choice-${i}`}></span>${name}</li>`) ?? html`<li>${formatNumber(-scale)} <span class="gradient"></span> ${formatNumber(scale)}</li>`}
<li><span class="key outline"></span>best observed (evaluation ${best.number})</li>
${width < total && html`<li>${formatCount(width)} of ${formatCount(total)} evaluations shown</li>`}
${warmup > 0 && warmup < width && html`<li><span class="key boundary"></span>end of the warm-up</li>`}
</ul></figcaption></figure>`;
}

/** Numbers and scores have varying opacity, so that 0 has the colour of the page, light or dark. */
function imagesOf({ choices, columns, names, scale, scores }: HeatMap) {
  const numberColor = (value: number) =>
    shade(value < 0 ? negative : positive, scale > 0 ? Math.abs(value) / scale : 0);
  const choiceColor = (value: number) =>
    shade(categorical[choices!.findIndex((choice) => choice.value === value)] ?? categorical[0]!, 1);
  const colorOf = choices === undefined ? numberColor : choiceColor;
  return {
    values: imageOf(columns.length, names.length, (column, row) => colorOf(columns[column]![row] ?? 0)),
    scores: imageOf(scores.length, 1, (column) => shade(sequential, scores[column]!)),
  };
}

const shade = (color: Rgb, opacity: number) => [...color, Math.round(255 * Math.min(1, opacity))];

function imageOf(
  width: number,
  height: number,
  colorOf: (column: number, row: number) => readonly number[],
): string {
  const canvas = document.createElement('canvas');
  Object.assign(canvas, { width, height });
  const context = canvas.getContext('2d')!;
  const image = context.createImageData(width, height);
  for (let i = 0; i < width * height; i++) image.data.set(colorOf(i % width, Math.floor(i / width)), 4 * i);
  context.putImageData(image, 0, 0);
  return canvas.toDataURL();
}
