/** A chart that follows its container's size and the page's colours. */

import { formatNumber } from 'numbers';
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { html } from './words.js';

/** A colour from the style sheet, such as `--point`. @param {string} name */
export function colour(name) {
  const value = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  return /^\d/.test(value) ? `rgb(${value})` : value;
}

/**
 * @typedef {{
 *   readonly label: string,
 *   readonly stroke: string,
 *   readonly width?: number,
 *   readonly dash?: number[],
 *   readonly kind: 'line' | 'steps' | 'points',
 *   readonly size?: number,
 * }} Line
 */

/**
 * @typedef {{
 *   readonly label: string,
 *   readonly height: number,
 *   readonly xTitle: string,
 *   readonly lines: () => readonly Line[],
 *   readonly data: readonly (readonly (number | null)[])[],
 *   readonly under?: (plot: uPlot) => void,
 *   readonly over?: (plot: uPlot) => void,
 *   readonly onClick?: (index: number) => void,
 *   readonly onPoint?: (index: number | null) => void,
 *   readonly range?: (low: number, high: number) => [number, number],
 * }} ChartProps
 */

/** Draws `data`: x, then the values of each line. Redraws when data, size or colours change. @param {ChartProps} props */
export function Chart(props) {
  const place = useRef(/** @type {HTMLDivElement | null} */ (null));
  const plot = useRef(/** @type {uPlot | undefined} */ (undefined));
  const latest = useRef(props);
  latest.current = props;
  const shape = props
    .lines()
    .map(({ dash, kind, label }) => `${label} ${kind} ${dash}`)
    .join('\n');
  useEffect(() => {
    const box = /** @type {HTMLDivElement} */ (place.current);
    const make = () => {
      plot.current?.destroy();
      plot.current = new uPlot(optionsOf(latest, box.clientWidth), dataOf(latest.current), box);
    };
    make();
    let width = box.clientWidth;
    const observer = new ResizeObserver(() => {
      if (box.clientWidth === width || box.clientWidth === 0) return;
      width = box.clientWidth;
      plot.current?.setSize({ width, height: latest.current.height });
    });
    observer.observe(box);
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', make);
    return () => {
      observer.disconnect();
      scheme.removeEventListener('change', make);
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [shape]);
  useEffect(() => {
    plot.current?.setData(dataOf(props));
  });
  return html`<div class="chart" role="img" aria-label=${props.label} ref=${place}></div>`;
}

/** @param {ChartProps} props */
const dataOf = ({ data }) => /** @type {uPlot.AlignedData} */ (/** @type {unknown} */ (data));

/** Distances between the ticks of steps and iterations, which are whole numbers. */
const wholeIncrements = Array.from({ length: 12 }, (_, i) =>
  [1, 2, 5].map((digit) => digit * 10 ** i),
).flat();

/** @param {{ current: ChartProps }} latest @param {number} width @returns {uPlot.Options} */
function optionsOf(latest, width) {
  const { height, lines } = latest.current;
  const [muted, grid, card] = [colour('--muted'), colour('--grid'), colour('--card')];
  const stepped = uPlot.paths.stepped?.({ align: 1 });
  const font = '12px system-ui, sans-serif';
  /** @param {uPlot} _ @param {number[]} ticks */
  const values = (_, ticks) => ticks.map((tick) => formatNumber(tick, 6));
  const axis = { stroke: muted, font, values, grid: { stroke: grid, width: 1 }, ticks: { show: false } };
  return {
    width,
    height,
    legend: { show: false },
    padding: [8, 22, 0, 0],
    scales: {
      x: { time: false },
      y: {
        range: (_, low, high) => latest.current.range?.(low, high) ?? paddedRange(low, high),
      },
    },
    axes: [
      {
        ...axis,
        incrs: wholeIncrements,
        grid: { show: false },
        size: 28,
        label: latest.current.xTitle,
        labelSize: 18,
        labelFont: font,
      },
      { ...axis, size: 58 },
    ],
    cursor: {
      y: false,
      drag: { x: true, y: false },
      points: { size: 7, fill: card },
    },
    series: [
      {},
      ...lines().map(({ dash, kind, label, size = 4, stroke, width: thick = 1.5 }) => ({
        ...{ label, stroke, spanGaps: true },
        width: kind === 'points' ? 0 : thick,
        ...(dash && { dash }),
        ...(kind === 'steps' && stepped !== undefined && { paths: stepped }),
        ...(kind === 'points' && { paths: () => null }),
        points: kind === 'points' ? { show: true, size, fill: stroke, stroke, width: 0 } : { show: false },
      })),
    ],
    hooks: {
      drawClear: [(plot) => latest.current.under?.(plot)],
      draw: [(plot) => latest.current.over?.(plot)],
      setCursor: [(plot) => latest.current.onPoint?.(plot.cursor.idx ?? null)],
      ready: [
        (plot) =>
          plot.over.addEventListener('click', () => {
            const { idx } = plot.cursor;
            if (typeof idx === 'number') latest.current.onClick?.(idx);
          }),
      ],
    },
  };
}

/** @param {number} low @param {number} high @returns {[number, number]} */
export function paddedRange(low, high) {
  if (!Number.isFinite(low) || !Number.isFinite(high)) return [0, 1];
  const room = high > low ? 0.06 * (high - low) : Math.abs(high) * 0.1 || 1;
  return [low - room, high + room];
}

/** A checkbox that shows or hides part of a chart, labelled with the mark used there. */
/** @param {{ label: string, mark: import('preact').ComponentChildren, isOn: boolean, onChange: (isOn: boolean) => void }} props */
export function Toggle({ label, mark, isOn, onChange }) {
  return html`<li><label><input type="checkbox" checked=${isOn} onChange=${(/** @type {{ currentTarget: HTMLInputElement }} */ { currentTarget }) => onChange(currentTarget.checked)} /> ${mark}${label}</label></li>`;
}
