/** Draws a heat map as SVG: the parameters of evaluations below a strip of scores. */
import { html } from '../../base/text/html.js';
import { formatCount, formatNumber } from '../../base/text/numbers.js';
import type { Color } from '../chart.js';
import type { HeatMap } from '../heat-map.js';
import { tickStep, ticksWithin } from '../ticks.js';
import { type LegendEntry, savedWidth, shortenText } from './picture.js';

const [stripHeight, top] = [12, 18];

/** A colour and its opacity; at opacity 0, the page shows through, light or dark. */
type Cell = readonly [Color, opacity: number];

/** Draws cells of width and height 1, with one path for each colour. */
function pathsOf(rows: readonly (readonly Cell[])[]) {
  const paths = new Map<string, string>();
  for (const [y, row] of rows.entries())
    for (const [x, [color, opacity]] of row.entries()) {
      const key = `${color} ${Math.round(64 * opacity) / 64}`;
      paths.set(key, `${paths.get(key) ?? ''}M${x} ${y}h1v1h-1z`);
    }
  return Array.from(paths, ([key, d]) => {
    const [color, opacity] = key.split(' ');
    return html`<path fill=${`var(${color})`} fill-opacity=${opacity} shape-rendering="crispEdges" d=${d} />`;
  });
}

export function heatMapPicture(map: HeatMap, width = savedWidth) {
  const { best, choices, columns, label, names, scale, scores, total, warmup } = map;
  // A narrow picture has numbers instead of names.
  const left = width < 440 ? 42 : names.every((name) => name.length <= 12) ? 84 : 218;
  const rowHeight = Math.min(names.length <= 16 ? 22 : names.length <= 48 ? 14 : 12, 640 / names.length);
  const [bottom, plotWidth] = [top + Math.round(rowHeight * names.length), width - left];
  const labelStep = rowHeight >= 11 ? 1 : tickStep(16 / rowHeight);
  const x = (column: number) => left + (plotWidth * column) / columns.length;
  const ticks = [1, ...ticksWithin(2, Math.max(2, total), Math.min(6, plotWidth / 50))].filter(
    (tick) => Number.isInteger(tick) && tick <= total,
  );
  const indexOf = (value: number) => choices!.findIndex((choice) => choice.value === value);
  const cells = names.map((_, row) =>
    columns.map((parameters): Cell => {
      const value = parameters[row] ?? 0;
      if (choices) return [`--choice-${Math.max(0, indexOf(value))}`, 1];
      return [value < 0 ? '--negative' : '--positive', scale > 0 ? Math.abs(value) / scale : 0];
    }),
  );
  const barEntry = (text: string, color: Color): LegendEntry => ({ label: text, color, draw: 'bars' });
  const legend: LegendEntry[] = choices?.map(({ name }, i) => barEntry(name, `--choice-${i}`)) ?? [
    barEntry(`down to ${formatNumber(-scale)}`, '--negative'),
    barEntry(`up to ${formatNumber(scale)}`, '--positive'),
  ];
  legend.push({ label: `best observed (evaluation ${best.number})`, draw: 'outline', color: '--text' });
  const hasWarmup = warmup > 0 && warmup < columns.length;
  if (hasWarmup)
    legend.push({ label: 'end of the warm-up', draw: 'boundary', color: '--muted', isDashed: true });
  const scoreCells = scores.map((score): Cell => ['--sequential', score]);
  const scaleText = (height: number, rows: number) => `scale(${plotWidth / columns.length} ${height / rows})`;
  const content = html`<g transform=${`translate(${left} 0) ${scaleText(stripHeight, 1)}`}>${pathsOf([scoreCells])}</g>
<g transform=${`translate(${left} ${top}) ${scaleText(bottom - top, names.length)}`}>${pathsOf(cells)}</g>
<rect fill="none" stroke="var(--rule)" x=${left} y=${top} width=${plotWidth} height=${bottom - top} />
${hasWarmup && html`<path stroke="var(--muted)" stroke-dasharray="6 4" d=${`M${x(warmup)} 0V${bottom}`} />`}
<rect fill="none" stroke="var(--text)" x=${x(best.column)} width=${x(1) - left} y="0" height=${bottom} />
<g fill="var(--muted)" font-size="12" text-anchor="middle"><g text-anchor="end">
${names.map((name, i) => i % labelStep === 0 && html`<text x=${left - 8} y=${top + Math.round((i + 0.5) * rowHeight)} dy="0.35em">${width < 440 ? i : shortenText(name, left - 8)}</text>`)}</g>
<g class="x-axis">${ticks.map((tick) => html`<text x=${left + (plotWidth * (tick - 0.5)) / total} y=${bottom + 16}>${tick}</text>`)}</g>
<text x=${left + plotWidth / 2} y=${bottom + 34}>${`Evaluation${columns.length < total ? ` (${formatCount(columns.length)} of ${formatCount(total)} shown)` : ''}`}</text></g>`;
  return { label, width, height: bottom + 40, content, legend, left, top, bottom, x };
}
