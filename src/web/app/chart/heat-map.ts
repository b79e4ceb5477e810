/** Draws a heat map, and shows the value of the cell under the pointer or selected with the arrow keys. */
import { useMemo, useState } from 'preact/hooks';
import { formatParameter } from '../../../base/text/numbers.js';
import { heatMapPicture } from '../../drawing/heat-map.js';
import type { HeatMap } from '../../heat-map.js';
import { html, renderShapes } from '../base/html.js';
import { LegendSample, Readout, useWidth } from './parts.js';

export function HeatMapFigure({ map }: { readonly map: HeatMap }) {
  const { columns, evaluations, label, names, titles } = map;
  const [container, width] = useWidth();
  const [[column, row], setCell] = useState<readonly [number, number]>([-1, 0]);
  const picture = useMemo(() => heatMapPicture(map, width), [map, width]);
  const drawing = useMemo(() => renderShapes(picture.content), [picture]);
  const { bottom, height, left, legend, top, x } = picture;
  const value = columns[column]?.[row];
  const note =
    value === undefined
      ? 'Hover over a cell or use the arrow keys to see its value.'
      : `params[${row}], ${titles[row]} = ${formatParameter(value)} in ${evaluations[column]}`;
  const selectCell = (atColumn: number, atRow: number) => {
    const clamp = (at: number, most: number) => Math.min(most - 1, Math.max(0, Math.floor(at)));
    setCell([clamp(atColumn, columns.length), clamp(atRow, names.length)]);
  };
  const point = ({ clientX, clientY, currentTarget }: PointerEvent & { readonly currentTarget: Element }) => {
    const box = currentTarget.getBoundingClientRect();
    const [px, py] = [clientX - box.left - left, clientY - box.top - top];
    if (px < 0 || py < 0 || py > bottom - top) return;
    selectCell((px / (width - left)) * columns.length, (py / (bottom - top)) * names.length);
  };
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    selectCell(Math.max(0, column) + step[0]!, row + step[1]!);
  };
  const rowHeight = (bottom - top) / names.length;
  return html`<figure><div class="chart" ref=${container}>
<svg class="heat-map" width=${width} height=${height} aria-label=${label} role="slider" tabindex="0" aria-roledescription="heat map" aria-valuemin="1" aria-valuemax=${columns.length} aria-valuenow=${Math.max(0, column) + 1} aria-valuetext=${note} onKeyDown=${onKey} onPointerMove=${point} onPointerDown=${point}>
${drawing}
${column >= 0 && html`<rect fill="none" stroke="var(--text)" stroke-width="1.5" x=${x(column)} width=${x(1) - left} y=${top + rowHeight * row} height=${rowHeight} />`}
</svg></div>
<${Readout} of=${map}>${note}<//>
<figcaption><ul class="legend">${legend.map((entry) => html`<li><${LegendSample} entry=${entry} /></li>`)}</ul></figcaption></figure>`;
}
