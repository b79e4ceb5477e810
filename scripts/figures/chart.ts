/** Draws line charts for pages as SVG files. */
import type { Interval } from '../../src/statistics/bootstrap.js';
import { largest, smallest } from '../../src/statistics/descriptive.js';
import { ticksWithin } from '../../src/web/ticks.js';
import { update } from './rows.js';

interface LineChart {
  readonly title: string;
  readonly x: {
    readonly title: string;
    readonly at: readonly number[];
    readonly scale: 'linear' | 'logarithmic';
  };
  /** `intervals` are drawn as whiskers. */
  readonly series: readonly {
    readonly label: string;
    readonly values: readonly number[];
    readonly intervals?: readonly Interval[];
  }[];
}

/** A palette that readers with colour blindness can tell apart (Okabe & Ito 2008). */
const colours = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#666666'];
const [width, height] = [720, 360];
const plot = { left: 64, right: 560, top: 36, bottom: 312 };

/** Draws `docs/pictures/NAME`. */
export function drawChart(name: string, { series, title, x }: LineChart): void {
  const values = series.flatMap(({ intervals, values }) => intervals?.flat() ?? values);
  const [low, high] = [smallest(values), largest(values)];
  const pad = 0.04 * (high - low || 1);
  const isLog = x.scale === 'logarithmic';
  const scaled = (at: number) => (isLog ? Math.log(at) : at);
  const [from, to] = [scaled(x.at[0]!), scaled(x.at.at(-1)!)];
  const left = (at: number) =>
    (plot.left + 12 + ((plot.right - plot.left - 24) * (scaled(at) - from)) / (to - from)).toFixed(1);
  const top = (value: number) =>
    (plot.bottom - ((plot.bottom - plot.top) * (value - low + pad)) / (high - low + 2 * pad)).toFixed(1);
  const text = (at: string, content: string, more = '') => `<text ${at} ${more}>${content}</text>`;
  const marked = x.at.length <= 8 ? x.at : ticksWithin(x.at[0]!, x.at.at(-1)!, 8);
  const lines = [
    ...ticksWithin(low, high, 6).flatMap((value) => [
      `<path d="M${plot.left} ${top(value)}H${plot.right}" stroke="#ddd"/>`,
      text(
        `x="${plot.left - 8}" y="${top(value)}"`,
        String(value).replace('-', '−'),
        'text-anchor="end" dy="4"',
      ),
    ]),
    ...marked.map((at) =>
      text(`x="${left(at)}" y="${plot.bottom + 18}"`, String(at), 'text-anchor="middle"'),
    ),
    text(`x="${(plot.left + plot.right) / 2}" y="${height - 8}"`, x.title, 'text-anchor="middle"'),
    text(`x="${plot.left}" y="20"`, title, 'font-weight="bold"'),
    ...series.flatMap(({ intervals = [], label, values }, i) => {
      const colour = colours[i % colours.length]!;
      // Whiskers of several series would hide each other at the same x.
      const aside = 4 * (i - (series.length - 1) / 2);
      const points = values.map((value, j) => `${left(x.at[j]!)} ${top(value)}`);
      const whiskers = intervals.map(
        ([least, most], j) =>
          `<path d="M${Number(left(x.at[j]!)) + aside} ${top(least)}V${top(most)}" stroke="${colour}" stroke-opacity="0.5" stroke-width="2"/>`,
      );
      const y = plot.top + 12 + 22 * i;
      return [
        ...whiskers,
        `<path d="M${points.join('L')}" fill="none" stroke="${colour}" stroke-width="2"/>`,
        `<path d="M${plot.right + 12} ${y - 4}h18" stroke="${colour}" stroke-width="3"/>`,
        text(`x="${plot.right + 36}" y="${y}"`, label),
      ];
    }),
  ];
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="sans-serif" font-size="12" role="img"><title>${title}</title><rect width="100%" height="100%" fill="#fff"/>\n${lines.join('\n')}\n</svg>\n`;
  update(`docs/pictures/${name}`, () => svg);
}
