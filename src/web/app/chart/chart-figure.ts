/** Draws a chart as wide as its container. The legend toggles its parts; a pointer or the arrow keys select a point. */
import { useMemo, useState } from 'preact/hooks';
import { formatInterval } from '../../../base/text/numbers.js';
import type { Chart } from '../../chart.js';
import type { LegendEntry } from '../../drawing/picture.js';
import { chartPicture, defaultHidden, legendEntries, nearestPoint } from '../../drawing/plot.js';
import { axisText, type DrawnChart, type Extent } from '../../drawing/scales.js';
import { html, type InputElementEvent, renderShapes } from '../base/html.js';
import { visit } from '../base/words.js';
import { LegendSample, Readout, useWidth } from './parts.js';

type HiddenLabels = DrawnChart['hidden'];

/** Minimum length of a selection that zooms, in pixels. */
const minDrag = 8;

export function ChartFigure({ chart }: { readonly chart: Chart }) {
  const [container, width] = useWidth();
  const [hidden, setHidden] = useState<HiddenLabels>(() => defaultHidden(chart));
  const [zoom, setZoom] = useState<Extent | undefined>(undefined);
  /** Horizontal positions, in pixels, where the pointer was pressed and where it is now. */
  const [drag, setDrag] = useState<Extent | undefined>(undefined);
  /** Index of the last point selected with the pointer or keyboard; -1 before the first. */
  const [lastIndex, setLastIndex] = useState(-1);
  const plot = useMemo(() => chartPicture(chart, hidden, width, zoom), [chart, hidden, width, zoom]);
  const drawing = useMemo(() => renderShapes(plot.content), [plot]);
  const toggle = (labels: readonly string[], isOn: boolean) => {
    const next = new Set(hidden);
    for (const label of labels) isOn ? next.delete(label) : next.add(label);
    setHidden(next);
  };
  const { at, series } = chart;
  const count = at.length;
  if (count === 0) return html`<p class="note">${chart.y.title}</p><p class="empty">No values yet.</p>`;
  const pointIndex = Math.min(lastIndex, count - 1);
  const note = chart.notes?.[Math.max(0, pointIndex)] ?? noteAt(chart, hidden, Math.max(0, pointIndex));
  const link = chart.links?.[pointIndex];
  const onKeyDown = (event: KeyboardEvent) => {
    const next = nextIndex(event.key, pointIndex, count);
    if (event.key === 'Enter' && link) followLink(link);
    if (next === undefined) return;
    event.preventDefault();
    setLastIndex(next);
  };
  const point = ({ clientX, clientY, currentTarget }: PointerEvent & { readonly currentTarget: Element }) => {
    const box = currentTarget.getBoundingClientRect();
    const [px, py] = [clientX - box.left, clientY - box.top];
    const index = nearestPoint(plot, px, py);
    setLastIndex(index);
    return { px, index };
  };
  const onPointerDown = (event: PointerEvent & { readonly currentTarget: Element }) => {
    const { px } = point(event);
    // A touch only selects a point; the text below the chart then links to it.
    if (event.pointerType !== 'mouse' || event.button !== 0) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    setDrag([px, px]);
  };
  const onPointerMove = (event: PointerEvent & { readonly currentTarget: Element }) => {
    const { px } = point(event);
    if (drag) setDrag([drag[0], px]);
  };
  const onPointerUp = (event: PointerEvent & { readonly currentTarget: Element }) => {
    if (drag === undefined) return;
    const { index, px } = point(event);
    setDrag(undefined);
    const [from, to] = [Math.min(drag[0], px), Math.max(drag[0], px)];
    const target = chart.links?.[index];
    if (to - from >= minDrag)
      setZoom([plot.xAt(Math.max(plot.left, from)), plot.xAt(Math.min(plot.right, to))]);
    else if (target) followLink(target);
  };
  const parts = legendEntries(chart);
  const levels = plot.legend.filter(({ label }) => !parts.some((part) => part.label === label));
  const seriesLabels = [...new Set(series.map(({ label }) => label))];
  const isInView =
    pointIndex >= 0 && plot.x(at[pointIndex]!) >= plot.left - 1 && plot.x(at[pointIndex]!) <= plot.right + 1;
  return html`<div class="chart" ref=${container} aria-label=${chart.label} role="slider" tabindex="0" aria-roledescription="chart" aria-valuemin="1" aria-valuemax=${count} aria-valuenow=${Math.max(0, pointIndex) + 1} aria-valuetext=${note} onKeyDown=${onKeyDown} onPointerDown=${onPointerDown} onPointerMove=${onPointerMove} onPointerUp=${onPointerUp} onPointerCancel=${() => setDrag(undefined)} onDblClick=${() => setZoom(undefined)}><svg width=${width} height=${plot.height} viewBox=${`0 0 ${width} ${plot.height}`} aria-hidden="true">${drawing}</svg><svg class="cursor" width=${width} height=${plot.height} aria-hidden="true">
${drag && html`<rect fill="var(--accent)" opacity="0.12" x=${Math.min(drag[0], drag[1])} y=${plot.top} width=${Math.abs(drag[1] - drag[0])} height=${plot.bottom - plot.top} />`}
${isInView && html`<path stroke="var(--muted)" stroke-dasharray="3 3" d=${`M${plot.x(at[pointIndex]!)} ${plot.top}V${plot.bottom}`} />`}
${isInView && series.map(({ color, draw, label, values }) => draw !== 'bars' && !hidden.has(label) && typeof values[pointIndex] === 'number' && html`<circle cx=${plot.x(at[pointIndex]!)} cy=${plot.y(values[pointIndex])} r="3.5" fill="var(--card)" stroke=${`var(${color})`} stroke-width="2" />`)}
</svg></div>
<${Readout} of=${chart} picture=${() => chartPicture(chart, hidden, undefined, zoom)}>${link ? html`<a href=${link}>${note}</a>` : pointIndex < 0 ? (chart.hint ?? '') : note}<//>
${
  parts.length + levels.length > 1 &&
  html`<ul class=${`legend toggles${seriesLabels.length > 5 ? ' column' : ''}`}>
${seriesLabels.length > 3 && html`<${Toggle} label="all" isOn=${seriesLabels.every((label) => !hidden.has(label))} onChange=${(isOn: boolean) => toggle(seriesLabels, isOn)} />`}
${parts.length > 1 && parts.map((part) => html`<${Toggle} key=${part.label} label=${part.label} entry=${part} isOn=${!hidden.has(part.label)} onChange=${(isOn: boolean) => toggle([part.label], isOn)} />`)}
${levels.map((entry) => html`<li><${LegendSample} entry=${entry} /></li>`)}
</ul>`
}`;
}

/** Returns the index that a navigation key moves to; undefined for other keys. */
function nextIndex(key: string, from: number, count: number): number | undefined {
  const arrows = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 };
  const by = { ...arrows, PageUp: 10, PageDown: -10, Home: -Infinity, End: Infinity }[key];
  return by === undefined ? undefined : Math.min(count - 1, Math.max(0, from + by));
}

function followLink(link: string): void {
  if (link.startsWith('#')) location.hash = link;
  else visit(link);
}

interface ToggleProps {
  readonly label: string;
  readonly entry?: LegendEntry;
  readonly isOn: boolean;
  readonly onChange: (isOn: boolean) => void;
}

/** A checkbox that shows or hides parts of a chart. `entry`: legend entry to show instead of the plain `label`. */
const Toggle = ({ label, entry, isOn, onChange }: ToggleProps) =>
  html`<li><label><input type="checkbox" checked=${isOn} onChange=${({ currentTarget }: InputElementEvent) => onChange(currentTarget.checked)} /> ${entry ? html`<${LegendSample} entry=${entry} />` : label}</label></li>`;

/** Formats the values at an index, such as `Iteration 7: cost 3, tokens 12`. */
function noteAt({ at, bands, series, x, y }: Chart, hidden: HiddenLabels, index: number): string {
  const texts = series.flatMap(({ draw, high, label, low, values }) => {
    const value = hidden.has(label) ? null : values[index];
    if (typeof value !== 'number') return [];
    const ends = [low?.[index], high?.[index]];
    const isShown = draw === 'points' || bands === undefined || !hidden.has(bands.label);
    const interval =
      isShown && typeof ends[0] === 'number' && ends[0] !== ends[1]
        ? ` (${formatInterval(ends as unknown as Extent, (end) => axisText(y, end))})`
        : '';
    return [`${label} ${axisText(y, value)}${interval}`];
  });
  return `${x.title} ${axisText(x, at[index]!)}: ${[...new Set(texts)].join(', ')}`;
}
