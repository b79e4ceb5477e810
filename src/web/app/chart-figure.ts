/** Draws a chart with uPlot: follows its container's width and the page's colours; its legend hides and shows series. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { formatCompact, formatCost, formatDuration, formatNumber } from '../../format/numbers.js';
import type { Axis, Chart, Colour, Series } from '../chart.js';
import { drawBands, drawLevels, drawMarks, drawShades, drawWhiskers } from './drawing.js';
import { html } from './html.js';
import { go } from './words.js';

/** Value of a style sheet's colour. */
export function colourOf(colour: Colour | `--${string}`): string {
  const name = colour.startsWith('arm-') ? `--${colour}` : colour;
  const value = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  return /^\d/.test(value) ? `rgb(${value})` : value;
}

/** The labels of hidden series and marks. */
type Hidden = ReadonlySet<string>;

/** What the drawing needs of the latest props. */
export interface Drawn {
  readonly chart: Chart;
  readonly hidden: Hidden;
}

export function ChartFigure({ chart }: { readonly chart: Chart }) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const [hidden, setHidden] = useState<Hidden>(
    () => new Set(chart.series.flatMap(({ isHidden, label }) => (isHidden ? [label] : []))),
  );
  const [pointed, setPointed] = useState<number | null>(null);
  const latest = useRef({ chart, hidden, onPoint: setPointed });
  latest.current = { chart, hidden, onPoint: setPointed };
  const data = useMemo(() => dataOf(chart, hidden), [chart, hidden]);
  const shape = JSON.stringify([
    chart.height,
    chart.x,
    chart.y,
    chart.series.map(({ values: _, ...one }) => ({
      ...one,
      low: one.low?.length,
      high: one.high?.length,
      inner: undefined,
    })),
  ]);
  useEffect(() => {
    const box = place.current!;
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
    const scheme = matchMedia('(prefers-color-scheme: dark)');
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
  const note = pointed === null ? chart.hint : (chart.notes?.[pointed] ?? valuesAt(chart, hidden, pointed));
  const parts = [...chart.series, ...(chart.marks ?? [])];
  return html`<p class="y-title">${chart.y.title}</p>
<div class="chart" role="img" aria-label=${chart.label} ref=${place}></div>
<p class="readout" aria-hidden="true">${note ?? ''}</p>
${
  parts.length + (chart.levels?.length ?? 0) > 1 &&
  html`<ul class="legend toggles">
${
  parts.length > 3 &&
  chart.series.length > 3 &&
  html`<${Toggle} label="all" isOn=${hidden.size === 0} onChange=${(isOn: boolean) =>
    toggle(
      parts.map(({ label }) => label),
      isOn,
    )} />`
}
${parts.map((part) => html`<${Toggle} key=${part.label} label=${part.label} mark=${{ draw: part.draw, colour: part.colour }} isOn=${!hidden.has(part.label)} onChange=${(isOn: boolean) => toggle([part.label], isOn)} />`)}
${chart.levels?.map(({ label }) => html`<li><span class="key dash"></span>${label}</li>`)}
</ul>`
}`;
}

interface ToggleProps {
  readonly label: string;
  readonly mark?: { readonly draw: string; readonly colour: Colour };
  readonly isOn: boolean;
  readonly onChange: (isOn: boolean) => void;
}

/** A box that shows or hides part of a chart, labelled with the mark used there. */
export function Toggle({ label, mark, isOn, onChange }: ToggleProps) {
  return html`<li><label><input type="checkbox" checked=${isOn} onChange=${({ currentTarget }: { currentTarget: HTMLInputElement }) => onChange(currentTarget.checked)} /> ${mark && html`<span class=${`key draw-${mark.draw}`} style=${{ '--key': `var(${mark.colour.startsWith('arm-') ? '--' : ''}${mark.colour})` }}></span>`}${label}</label></li>`;
}

type Values = readonly (number | null)[];

/** Values by series, with bars stacked. */
function dataOf({ at, series }: Chart, hidden: Hidden): uPlot.AlignedData {
  let below: Values = at.map(() => 0);
  const drawn = series.map((one): Values => {
    if (hidden.has(one.label)) return at.map(() => null);
    if (one.draw !== 'bars') return one.values;
    below = below.map((sum, i) => sum! + (one.values[i] ?? 0));
    return below;
  });
  return [at, ...drawn] as unknown as uPlot.AlignedData;
}

/** Like `cost 3, tokens 12 at 7`. */
function valuesAt({ at, series, x }: Chart, hidden: Hidden, index: number): string {
  const own = series.flatMap(({ label, values }) => {
    const value = hidden.has(label) ? null : values[index];
    return typeof value === 'number' ? [`${label} ${formatNumber(value)}`] : [];
  });
  return `${x.title} ${tickText(x, at[index]!)}: ${own.join(', ')}`;
}

const tickTexts: Readonly<Record<NonNullable<Axis['kind']>, (value: number) => string>> = {
  number: (value) => formatNumber(value, 6),
  whole: (value) => formatNumber(value, 9),
  compact: formatCompact,
  cost: formatCost,
  duration: formatDuration,
  time: (value) => new Date(value).toISOString().slice(0, 16).replace('T', ' '),
};

const tickText = ({ kind = 'number' }: Axis, value: number) => tickTexts[kind](value);

/** Distances between ticks at whole numbers. */
const wholeIncrements = Array.from({ length: 12 }, (_, i) =>
  [1, 2, 5].map((digit) => digit * 10 ** i),
).flat();

interface Latest {
  readonly current: Drawn & { readonly onPoint: (index: number | null) => void };
}

function optionsOf(latest: Latest, width: number): uPlot.Options {
  const { chart } = latest.current;
  const [muted, grid, card] = (['--muted', '--grid', '--card'] as const).map((name) => colourOf(name));
  const font = '12px system-ui, sans-serif';
  const axisOf = (axis: Axis): uPlot.Axis => ({
    ...{ stroke: muted!, font, ticks: { show: false } },
    grid: { stroke: grid!, width: 1 },
    values: (_, ticks) =>
      axis.ticks
        ? ticks.map((at) => axis.ticks!.find(([tick]) => tick === at)?.[1] ?? '')
        : ticks.map((tick) => (tick === null ? '' : tickText(axis, tick))),
    ...(axis.ticks && { splits: () => axis.ticks!.map(([at]) => at) }),
    ...(axis.kind === 'whole' && { incrs: wholeIncrements }),
  });
  return {
    width,
    height: chart.height ?? 320,
    legend: { show: false },
    padding: [8, 22, 0, 0],
    scales: {
      x: {
        time: false,
        ...(chart.x.scale === 'log' && { distr: 3 as const }),
        range: (_, low, high) => xRange(latest.current.chart, low, high),
      },
      y: {
        ...(chart.y.scale === 'log' && { distr: 3 as const }),
        range: (_, low, high) => yRange(latest.current, low, high),
      },
    },
    axes: [
      {
        ...axisOf(chart.x),
        grid: { show: false },
        size: 28,
        label: chart.x.title,
        labelSize: 18,
        labelFont: font,
      },
      { ...axisOf(chart.y), size: 62 },
    ],
    cursor: { y: false, drag: { x: true, y: false }, points: { size: 7, fill: card! } },
    series: [{}, ...chart.series.map(seriesOf)],
    hooks: {
      drawClear: [
        (plot) => {
          drawShades(plot, latest.current);
          drawBands(plot, latest.current);
          drawWhiskers(plot, latest.current);
        },
      ],
      draw: [
        (plot) => {
          drawLevels(plot, latest.current);
          drawMarks(plot, latest.current);
        },
      ],
      setCursor: [({ cursor }) => latest.current.onPoint(cursor.idx ?? null)],
      ready: [
        (plot) =>
          plot.over.addEventListener('click', () => {
            const { idx } = plot.cursor;
            if (typeof idx !== 'number') return;
            const link = latest.current.chart.links?.[idx];
            if (link?.startsWith('#')) location.hash = link;
            else if (link) go(link);
          }),
      ],
    },
  };
}

function seriesOf({ colour, draw, isDashed, label, values, width = 1.5 }: Series): uPlot.Series {
  const stroke = colourOf(colour);
  const common = { label, stroke, spanGaps: true, points: { show: false } };
  switch (draw) {
    case 'points':
      return {
        ...common,
        width: 0,
        paths: () => null,
        points: { show: true, size: values.length > 600 ? 3 : 5, fill: stroke, stroke, width: 0 },
      };
    case 'bars':
      return { ...common, width: 0, fill: stroke, paths: uPlot.paths.bars!({ size: [0.8, 60] }) };
    case 'steps':
    case 'line':
      return {
        ...common,
        width,
        ...(isDashed && { dash: [6, 4] }),
        ...(draw === 'steps' && { paths: uPlot.paths.stepped!({ align: 1 }) }),
      };
  }
}

function xRange({ at, series, x }: Chart, low: number, high: number): [number, number] {
  const [first = 0, last = 1] = [at[0], at.at(-1)];
  if (low > first || high < last) return [low, high];
  // A bar is as wide as the distance between two.
  const half = series.some(({ draw }) => draw === 'bars')
    ? 0.5 * ((last - first) / Math.max(1, at.length - 1) || 1)
    : 0;
  const [from, to] = [x.from ?? first - half, x.to ?? last + half];
  return to > from ? [from, to] : [from - 1, to + 1];
}

const numbersOf = (values: Values = []) => values.filter((value) => value !== null);

/** The range of what is shown, with intervals, levels and marks. */
function yRange({ chart, hidden }: Drawn, low: number, high: number): [number, number] {
  const shown = chart.series.filter(({ label }) => !hidden.has(label));
  const extra = [
    ...(chart.levels ?? []).map(({ y }) => y),
    ...(chart.marks ?? []).flatMap(({ label, marks }) =>
      hidden.has(label)
        ? []
        : marks.flatMap(({ interval = [], y }) => [...interval, ...(y === undefined ? [] : [y])]),
    ),
  ];
  const all = shown.flatMap(({ draw, high: tops, low: ends, values }) =>
    draw === 'bars' ? [0] : [...numbersOf(values), ...numbersOf(ends), ...numbersOf(tops)],
  );
  const own = [...(Number.isFinite(low) ? [low, high] : []), ...all];
  if (own.length + extra.length === 0) return [0, 1];
  const ends = (values: readonly number[]) =>
    values.reduce(
      ([least, most], value) => [Math.min(least, value), Math.max(most, value)] as [number, number],
      [Infinity, -Infinity] as [number, number],
    );
  const [least, most] = chart.isRobust
    ? robust(
        shown.flatMap(({ values }) => numbersOf(values)),
        ends(own),
      )
    : ends(own);
  const [from, to] = ends([least, most, ...extra]);
  if (chart.y.scale === 'log') return [chart.y.from ?? from / 1.2, chart.y.to ?? to * 1.2];
  const room = to > from ? 0.06 * (to - from) : Math.abs(to) * 0.1 || 1;
  return [chart.y.from ?? (from === 0 ? 0 : from - room), chart.y.to ?? to + room];
}

/** Omits low outliers, which would flatten the rest: more than three interquartile ranges below (Tukey's outer fence). */
function robust(values: readonly number[], [low, high]: [number, number]): [number, number] {
  if (values.length < 20) return [low, high];
  const ascending = values.toSorted((a, b) => a - b);
  const at = (share: number) => ascending[Math.floor(share * (ascending.length - 1))]!;
  const spread = at(0.75) - at(0.25) || high - at(0.25);
  return [Math.max(low, Math.min(at(0.25), at(0.25) - 3 * spread)), high];
}
