/** Draws a chart with uPlot. Adapts it to the container's width and the colour scheme; the legend toggles its parts. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { formatInterval } from '../../../base/text/numbers.js';
import type { Axis, Chart, Colour, Series } from '../../chart.js';
import { html, type InputEvent } from '../base/html.js';
import { go } from '../base/words.js';
import { drawAbove, drawBelow, edgeMarks } from './drawing.js';
import { colourIn, colourOf, type Drawn } from './drawn.js';
import { type Ends, textOf, ticksOf, tickTexts, type Values, xRange, yRange } from './scales.js';

type Hidden = Drawn['hidden'];

/** Parts that the legend can hide: one per label of series and marks, and one for all bands. */
function partsOf({ bands, marks = [], series }: Chart) {
  const parts = [...series, ...marks];
  return [
    ...parts.filter(({ label }, i) => parts.findIndex((one) => one.label === label) === i),
    ...(bands ? [{ ...bands, draw: 'band', colour: series.at(-1)?.colour ?? '--point' } as const] : []),
  ].map((part) => ({ isDashed: false, isHidden: false, ...part }));
}

export function ChartFigure({ chart }: { readonly chart: Chart }) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const [hidden, setHidden] = useState<Hidden>(
    () => new Set(partsOf(chart).flatMap(({ isHidden, label }) => (isHidden ? [label] : []))),
  );
  /** Index of the last point selected with the pointer or keyboard; -1 before the first. */
  const [last, onPoint] = useState(-1);
  const latest = useRef({ chart, hidden, onPoint });
  latest.current = { chart, hidden, onPoint };
  const data = useMemo(() => dataOf(chart, hidden), [chart, hidden]);
  const shape = JSON.stringify([
    chart.height,
    chart.x,
    chart.y,
    [chart.at.length === 0, edgeMarks(chart).length],
    chart.series.map(({ colour, draw, isDashed, label, values, width }) => [
      ...[colour, draw, isDashed, label, width],
      isSingle(values),
    ]),
  ]);
  useEffect(() => {
    const box = place.current;
    if (box === null) return;
    const make = () => {
      plot.current?.destroy();
      plot.current = new uPlot(optionsOf(latest, box.clientWidth), data, box);
    };
    make();
    let width = box.clientWidth;
    const observer = new ResizeObserver(() => {
      if (box.clientWidth === width || box.clientWidth === 0) return;
      width = box.clientWidth;
      plot.current?.setSize({ width, height: latest.current.chart.height ?? 320 });
    });
    observer.observe(box);
    // Dark colours apply only on screens: printed pages are light.
    const scheme = matchMedia('screen and (prefers-color-scheme: dark)');
    scheme.addEventListener('change', make);
    return () => {
      observer.disconnect();
      scheme.removeEventListener('change', make);
      plot.current?.destroy();
    };
  }, [shape]);
  useEffect(() => plot.current?.setData(data), [data]);
  const toggle = (labels: readonly string[], isOn: boolean) => {
    const next = new Set(hidden);
    for (const label of labels) isOn ? next.delete(label) : next.add(label);
    setHidden(next);
  };
  const count = chart.at.length;
  if (count === 0) return html`<p class="y-title">${chart.y.title}</p><p class="empty">No values yet.</p>`;
  const pointed = Math.min(last, count - 1);
  const note = chart.notes?.[Math.max(0, pointed)] ?? valuesAt(chart, hidden, Math.max(0, pointed));
  const link = chart.links?.[pointed];
  const onKeyDown = (event: KeyboardEvent) => {
    const next = nextOf(event.key, pointed, count);
    if (event.key === 'Enter' && link) follow(link);
    if (next === undefined || plot.current === undefined) return;
    event.preventDefault();
    plot.current.setCursor({ left: plot.current.valToPos(chart.at[next]!, 'x'), top: 0 });
    onPoint(next);
  };
  const parts = partsOf(chart);
  const lines = [...new Set(chart.series.map(({ label }) => label))];
  return html`<p class="y-title">${chart.y.title}</p>
<div class="chart" ref=${place} style=${{ minHeight: chart.height ?? 320 }} aria-label=${chart.label} role="slider" tabindex="0" aria-roledescription="chart" aria-valuemin="1" aria-valuemax=${count} aria-valuenow=${Math.max(0, pointed) + 1} aria-valuetext=${note} onKeyDown=${onKeyDown}></div>
<p class="readout">${link ? html`<a href=${link}>${note}</a>` : pointed < 0 ? (chart.hint ?? '') : note}</p>
${
  parts.length + (chart.levels?.length ?? 0) > 1 &&
  html`<ul class=${`legend toggles${lines.length > 5 ? ' column' : ''}`}>
${lines.length > 3 && html`<${Toggle} label="all" isOn=${lines.every((label) => !hidden.has(label))} onChange=${(isOn: boolean) => toggle(lines, isOn)} />`}
${parts.length > 1 && parts.map((part) => html`<${Toggle} key=${part.label} label=${part.label} mark=${part} isOn=${!hidden.has(part.label)} onChange=${(isOn: boolean) => toggle([part.label], isOn)} />`)}
${chart.levels?.map(({ label }) => html`<li><span class="key level"></span>${label}</li>`)}
</ul>`
}`;
}

/** The index that a key moves to; undefined for other keys. */
function nextOf(key: string, from: number, count: number): number | undefined {
  const target = {
    ArrowRight: from + 1,
    ArrowUp: from + 1,
    ArrowLeft: from - 1,
    ArrowDown: from - 1,
    PageUp: from + 10,
    PageDown: from - 10,
    Home: 0,
    End: count - 1,
  }[key];
  return target === undefined ? undefined : Math.min(count - 1, Math.max(0, target));
}

function follow(link: string): void {
  if (link.startsWith('#')) location.hash = link;
  else go(link);
}

interface ToggleProps {
  readonly label: string;
  readonly mark?: { readonly draw: string; readonly colour: Colour; readonly isDashed: boolean };
  readonly isOn: boolean;
  readonly onChange: (isOn: boolean) => void;
}

/** A checkbox that shows or hides parts of a chart. `mark`: sample of the part to show next to it. */
function Toggle({ label, mark, isOn, onChange }: ToggleProps) {
  return html`<li><label><input type="checkbox" checked=${isOn} onChange=${({ currentTarget }: InputEvent) => onChange(currentTarget.checked)} /> ${mark && html`<span class=${`key draw-${mark.draw}${mark.isDashed ? ' dashed' : ''}`} style=${{ '--key': colourIn(mark.colour) }}></span>`}${label}</label></li>`;
}

/** Values by series. Bars are stacked: each includes the later ones, which are drawn over it. */
function dataOf({ at, series }: Chart, hidden: Hidden): uPlot.AlignedData {
  let below = at.map(() => 0);
  const drawn = series.toReversed().map((one): Values => {
    if (hidden.has(one.label)) return at.map(() => null);
    if (one.draw !== 'bars') return one.values;
    below = below.map((sum, i) => sum + (one.values[i] ?? 0));
    return below;
  });
  return [at, ...drawn.toReversed()] as unknown as uPlot.AlignedData;
}

/** The values at an index, such as `Iteration 7: cost 3, tokens 12`. */
function valuesAt({ at, bands, series, x, y }: Chart, hidden: Hidden, index: number): string {
  const own = series.flatMap(({ draw, high, label, low, values }) => {
    const value = hidden.has(label) ? null : values[index];
    if (typeof value !== 'number') return [];
    const ends = [low?.[index], high?.[index]];
    const isShown = draw === 'points' || bands === undefined || !hidden.has(bands.label);
    const interval =
      isShown && typeof ends[0] === 'number' && ends[0] !== ends[1]
        ? ` (${formatInterval(ends as Ends, (end) => textOf(y, end))})`
        : '';
    return [`${label} ${textOf(y, value)}${interval}`];
  });
  return `${x.title} ${textOf(x, at[index]!)}: ${[...new Set(own)].join(', ')}`;
}

interface Latest {
  readonly current: Drawn & { readonly onPoint: (index: number) => void };
}

function optionsOf(latest: Latest, width: number): uPlot.Options {
  const { chart } = latest.current;
  const [muted, grid, card] = (['--muted', '--grid', '--card'] as const).map((name) => colourOf(name));
  const font = '12px system-ui, sans-serif';
  const axisOf = (axis: Axis, room: number): uPlot.Axis => ({
    stroke: muted!,
    font,
    ticks: { show: false },
    grid: { stroke: grid!, width: 1 },
    values: (_, ticks) => tickTexts(axis, ticks),
    // uPlot requires a sufficiently large increment, which `splits` then ignores.
    incrs: [Number.MAX_VALUE],
    splits: ({ height, width }, index, low, high) =>
      ticksOf(axis, [low, high], index === 0 ? width : height, room),
  });
  /** The visible range of x. */
  let view: Ends = [-Infinity, Infinity];
  const edges = edgeMarks(chart).length;
  const lastTick = textOf(chart.x, Math.round(chart.at.at(-1) ?? 0)).length;
  return {
    width,
    height: chart.height ?? 320,
    legend: { show: false },
    padding: [8, Math.max(3.5 * lastTick + 4, 16 + (width > 600 ? 14 : 7) * edges), 0, 0],
    scales: {
      x: {
        time: false,
        range: (_, low, high) => {
          view = xRange(latest.current.chart, low, high);
          return view;
        },
      },
      y: { range: () => yRange(latest.current, view) },
    },
    axes: [
      {
        ...axisOf(chart.x, 60 + 4 * lastTick),
        grid: { show: false },
        size: 28,
        label: chart.x.title,
        labelSize: 18,
        labelFont: font,
      },
      {
        ...axisOf(chart.y, 40),
        size: (_, texts) => 18 + 7 * (texts ?? []).reduce((most, text) => Math.max(most, text.length), 2),
      },
    ],
    cursor: { y: false, drag: { x: true, y: false }, points: { size: 7, fill: card! } },
    series: [{}, ...chart.series.map(seriesOf)],
    hooks: {
      drawClear: [(plot) => drawBelow(plot, latest.current)],
      draw: [(plot) => drawAbove(plot, latest.current)],
      setCursor: [
        (plot) => {
          const { event, idx } = plot.cursor;
          if (event && typeof idx === 'number') latest.current.onPoint(nearest(plot, latest.current, idx));
        },
      ],
      ready: [
        (plot) =>
          plot.over.addEventListener('click', (event) => {
            const { idx } = plot.cursor;
            // A touch only selects a point; the text below the chart then links to it.
            if (typeof idx !== 'number' || (event as PointerEvent).pointerType === 'touch') return;
            const link = latest.current.chart.links?.[nearest(plot, latest.current, idx)];
            if (link) follow(link);
          }),
      ],
    },
  };
}

/** Several points may have the same x: returns the index of the one vertically closest to the pointer. */
function nearest(plot: uPlot, { chart: { at, series }, hidden }: Drawn, index: number): number {
  const values = series.find(({ label }) => !hidden.has(label))?.values ?? [];
  const distance = (i: number) =>
    typeof values[i] === 'number'
      ? Math.abs(plot.valToPos(values[i], 'y') - (plot.cursor.top ?? 0))
      : Infinity;
  let [first, best] = [index, index];
  while (first > 0 && at[first - 1] === at[index]) first--;
  for (let i = first; at[i] === at[index] && i < at.length; i++) if (distance(i) < distance(best)) best = i;
  return best;
}

const isSingle = (values: Values) => values.filter((value) => value !== null).length === 1;

function seriesOf({ colour, draw, isDashed, label, values, width = 1.5 }: Series): uPlot.Series {
  const stroke = colourOf(colour);
  const dots = { show: true, size: values.length > 600 ? 3 : 5, fill: stroke, stroke, width: 0 };
  const common = { label, stroke, spanGaps: true, points: { show: false } };
  switch (draw) {
    case 'points':
      return { ...common, width: 0, paths: () => null, points: dots };
    case 'bars':
      return { ...common, width: 0, fill: stroke, paths: uPlot.paths.bars!({ size: [0.8, 60] }) };
    case 'steps':
    case 'line':
      return {
        ...common,
        width,
        ...(isSingle(values) && { points: dots }),
        ...(isDashed && { dash: [6, 4] }),
        ...(draw === 'steps' && { paths: uPlot.paths.stepped!({ align: 1 }) }),
      };
  }
}
