import { embedJson, type Html, html } from '../../format/html.js';
import {
  apart,
  formatCount,
  formatNumber,
  formatParameter,
  formatScore,
  plural,
} from '../../format/numbers.js';
import type { ParameterSpec, PolicyDescription } from '../../policies/policy.js';
import { type BufferEntry, bestEntry } from '../../rollout/replay-buffer.js';
import { placeName } from '../../runs/summary.js';
import { quantile } from '../../statistics/descriptive.js';
import {
  categoricalPalette,
  divergingIndex,
  divergingPalette,
  maxCategories,
  pngDataUri,
  type Rgba,
  sequentialIndex,
  sequentialPalette,
} from '../../web/palette.js';
import { percent, tickStep, ticksWithin } from '../../web/ticks.js';
import { matricesOf } from '../data/policy-text.js';
import type { RunData } from '../data/proposals.js';
import { sampled } from '../data/shown-calls.js';
import type { TaskLabels } from '../data/task-labels.js';

const stripHeight = 12;
const gap = 6;
const axisHeight = 20;
const tallest = 640;
const mostColumns = 1500;

/** Draws the parameters (rows) of up to `mostColumns` evaluations (columns) as an image, below a strip of scores. */
export function parameterHeatMap(data: RunData, labels: TaskLabels): Html {
  const { entries: all, parameters: spec } = data;
  const highest = bestEntry(all);
  // More columns would be narrower than a pixel.
  const entries = sampled(all, mostColumns, highest);
  const columns = entries.length;
  if (columns === 0 || spec.count === 0) return html`<p class="empty">No evaluations.</p>`;
  const names = rowNames(spec, data.policy, labels);
  const rowHeight = Math.min(spec.count <= 16 ? 22 : spec.count <= 48 ? 14 : 12, tallest / spec.count);
  const mapHeight = Math.round(rowHeight * spec.count);
  const top = stripHeight + gap;
  const height = top + mapHeight + axisHeight;
  const colours = colouring({ ...data, entries }, labels);
  const warmup = entries.filter((entry) => entry.source !== 'proposal').length;
  const best = entries.indexOf(highest!);
  const labelled = rowHeight >= 11 ? 1 : tickStep(16 / rowHeight);
  const x = (column: number) => percent(column / columns);

  const chart = html`<div class="heat-map${names.every((name) => name.length <= 12) && ' short-names'}">
<svg class="row-names" width="100%" height="${height}" aria-hidden="true">
<text class="wide" x="100%" y="${stripHeight / 2}" dy="0.35em">score</text>
${names.map((name, row) => {
  if (row % labelled !== 0) return undefined;
  const y = Math.round(top + (row + 0.5) * rowHeight);
  return html`<text class="wide" x="100%" y="${y}" dy="0.35em">${name}</text><text class="narrow" x="100%" y="${y}" dy="0.35em">${row}</text>`;
})}
</svg>
<svg class="area" width="100%" height="${height}" id="heat-map" role="img" aria-label="Heat map of ${plural(spec.count, 'parameter')} over ${plural(all.length, 'evaluation')}.">
<image width="100%" height="${stripHeight}" preserveAspectRatio="none" href="${scoreStrip(entries)}"/>
<image y="${top}" width="100%" height="${mapHeight}" preserveAspectRatio="none" href="${mapImage({ ...data, entries }, colours)}"/>
<rect class="frame" y="${top}" width="100%" height="${mapHeight}"/>
${warmup > 0 && warmup < columns && html`<line class="boundary" x1="${x(warmup)}" x2="${x(warmup)}" y1="0" y2="${top + mapHeight}"/>`}
<rect class="best-column" x="${x(best)}" width="${x(1)}" y="0" height="${top + mapHeight}"/>
<g class="x-axis">${[1, ...ticksWithin(2, Math.max(2, all.length), 6)]
    .filter((tick) => Number.isInteger(tick) && tick <= all.length)
    .map(
      (tick) =>
        html`<text x="${percent((tick - 0.5) / all.length)}" y="${top + mapHeight + 16}">${tick}</text>`,
    )}</g>
<rect class="pointer" id="heat-pointer" width="0" height="0"/>
<rect class="target" id="heat-target" y="${top}" width="100%" height="${mapHeight}"/>
</svg>
<p class="x-title">Evaluation</p>
</div>`;
  const scores = entries.map(({ score }) => score);
  const asText = apart(scores, formatScore);
  const places = new Map(all.map((entry, i) => [entry, i]));
  const caption = html`<ul class="legend">${colours.legend}
<li><span class="key outline"></span>best observed (evaluation ${all.indexOf(highest!) + 1})</li>
${columns < all.length && html`<li>${formatCount(columns)} of ${formatCount(all.length)} evaluations shown</li>`}
${warmup > 0 && warmup < columns && html`<li><span class="key boundary"></span>end of the warm-up</li>`}
</ul>
<details class="row-key"><summary>Row names</summary><p>${names.map((name, row) => html`${row > 0 && ', '}<b>${row}</b> ${name}`)}</p></details>`;
  return html`<figure>
${chart}
<p class="readout">Hover over a cell or use the arrow keys to see its value.</p>
<figcaption>${caption}</figcaption>
</figure>
${embedJson('heat-data', {
  names: spec.names?.map((name, row) => (names[row] === name ? name : `${names[row]} (${name})`)) ?? names,
  columns: entries.map((entry) => entry.parameters.map(formatParameter).join(' ')),
  evaluations: entries.map(
    (entry) =>
      `evaluation ${places.get(entry)! + 1} (${placeName(entry, data.config)}): score ${asText(entry.score)}`,
  ),
})}`;
}

interface Colouring {
  readonly palette: readonly Rgba[];
  index(value: number): number;
  readonly legend: Html;
}

function colouring(data: RunData, labels: TaskLabels): Colouring {
  const { choices } = data.parameters;
  if (choices !== undefined && choices.length <= maxCategories) {
    return {
      palette: categoricalPalette,
      index: (value) => Math.max(0, choices.indexOf(value)),
      legend: html`${choices.map((choice, i) => html`<li><span class="swatch choice-${i}"></span>${choiceName(choice, labels.actions[i])}</li>`)}`,
    };
  }
  let scale = 0;
  for (const entry of data.entries)
    for (const value of entry.parameters) scale = Math.max(scale, Math.abs(value));
  return {
    palette: divergingPalette,
    index: (value) => divergingIndex(value, scale),
    legend: html`<li>${formatNumber(-scale)}<svg class="gradient" width="120" height="10" aria-hidden="true"><defs><linearGradient id="diverging"><stop class="neg-end" offset="0"/><stop class="zero-neg" offset=".5"/><stop class="zero" offset=".5"/><stop class="pos-end" offset="1"/></linearGradient></defs><rect width="120" height="10" fill="url(#diverging)"/></svg>${formatNumber(scale)}</li>`,
  };
}

function choiceName(choice: number, label: string | undefined): string {
  const number = formatParameter(choice);
  return label === undefined || label === number ? number : `${number} ${label}`;
}

function mapImage(data: RunData, colours: Colouring): string {
  const columns = data.entries.length;
  const pixels = new Uint8Array(columns * data.parameters.count);
  for (const [column, entry] of data.entries.entries()) {
    for (let row = 0; row < data.parameters.count; row++) {
      pixels[row * columns + column] = colours.index(entry.parameters[row] ?? 0);
    }
  }
  return pngDataUri(pixels, columns, colours.palette);
}

function scoreStrip(entries: readonly BufferEntry[]): string {
  const sorted = entries.map(({ score }) => score).toSorted((a, b) => a - b);
  const [least, high, lower] = [sorted[0]!, sorted.at(-1)!, quantile(sorted, 0.25)];
  const spread = quantile(sorted, 0.75) - lower;
  // Clip low outliers, because they would make all other scores look the same.
  const low = spread > 0 ? Math.max(least, lower - 3 * spread) : least;
  const pixels = Uint8Array.from(entries, (entry) =>
    sequentialIndex(high > low ? (entry.score - low) / (high - low) : 1),
  );
  return pngDataUri(pixels, pixels.length, sequentialPalette);
}

/** Names by input and output, or by state, where possible; otherwise the names of the parameters. */
function rowNames(spec: ParameterSpec, policy: PolicyDescription, labels: TaskLabels): readonly string[] {
  if ((policy.kind === 'linear' || policy.kind === 'mlp') && policy.projection === undefined) {
    const unitName = (layer: number, unit: number) => `${layer}.${unit}`;
    const names = matricesOf(policy, [], labels, unitName).flatMap(({ columns, rows }) =>
      rows.flatMap(({ name }) => columns.map((column) => `${name} → ${column}`)),
    );
    if (names.length === spec.count) return names;
  }
  if (policy.kind === 'q-table') {
    if (policy.form === 'actions') return Array.from({ length: spec.count }, (_, s) => `state ${s}`);
    const actions = labels.actions;
    return Array.from(
      { length: spec.count },
      (_, p) => `state ${Math.floor(p / actions.length)}, ${actions[p % actions.length]}`,
    );
  }
  return Array.from({ length: spec.count }, (_, i) => spec.names?.[i] ?? `params[${i}]`);
}
