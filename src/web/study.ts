/** Parts of the pages of studies: header, forest plots, failures, explanations. */
import { type Content, type Html, html } from '../format/html.js';
import { apart, formatInterval, formatNumber, formatReturn, type NumberFormat } from '../format/numbers.js';
import { runFiles } from '../runs/reader.js';
import type { Item } from './messages.js';
import type { Section } from './page.js';
import { roundRange } from './ticks.js';

/** Where a study's page is shown. */
export interface Shown {
  /** Address of a run's page; `run` is its path below the study's directory. */
  readonly linkOf: (run: string) => string;
  /** The current status, if it is known better than what was recorded. */
  readonly status?: Item['status'];
}

/** Turns a path below the page into a relative link; encoding keeps it from being anything else, such as a script. */
export const relativeLink = (path: string): string =>
  `./${path.split('/').map(encodeURIComponent).join('/')}`;

/** In a file in the study's directory. */
export const inFile: Shown = { linkOf: (run) => relativeLink(`${run}/${runFiles.report}`) };

export function studyHeader({
  facts = [],
  kicker,
  state,
  status,
  title,
}: {
  readonly kicker: Content;
  readonly title: Content;
  readonly status?: string;
  readonly state: Content;
  readonly facts?: readonly (readonly [title: string, value: Content])[];
}): Html {
  const known = status === 'incomplete' ? 'interrupted' : status;
  return html`<header>
<p class="kicker">policyloop ${kicker}</p>
<h1>${title}</h1>
<p class="state">${known !== undefined && html`<span class="status ${known}">${known}</span> `}${state}</p>
${facts.length > 0 && html`<dl class="facts">${facts.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`}
</header>`;
}

export interface ForestRow {
  readonly name: Content;
  /** Null: nothing is known yet. */
  readonly value: number | null;
  readonly interval?: readonly [number, number] | null | undefined;
  /** Colour of the mark, as in charts of several arms (default: 1). */
  readonly arm?: number;
  /** Text after the interval. */
  readonly note?: Content;
}

/** One row per value, with its interval, on an axis that all rows share. */
export function forest(
  rows: readonly ForestRow[],
  {
    ends,
    format = formatReturn,
    line,
    note,
    ticksAs = formatNumber,
  }: {
    /** Ends of the axis (default: those of the rows). */
    readonly ends?: readonly [number, number];
    readonly format?: NumberFormat;
    /** Position of a dashed vertical line, such as 0. */
    readonly line?: number | undefined;
    readonly note?: Content;
    /** Format of the axis. */
    readonly ticksAs?: NumberFormat;
  } = {},
): Html {
  const all = rows.flatMap(({ interval, value }) => (value === null ? [] : [value, ...(interval ?? [])]));
  const { high, low, ticks } = roundRange(ends ?? [...all, ...(line === undefined ? [] : [line])], 5);
  const x = (value: number) => `${Math.round((1e5 * (value - low)) / (high - low)) / 1000}%`;
  const tickText = apart(ticks, ticksAs);
  const mark = ({ arm = 1, interval, value }: ForestRow) =>
    value !== null &&
    html`<g class="arm-mark arm-${arm % 8}">${interval && html`<line x1="${x(interval[0])}" x2="${x(interval[1])}" y1="12" y2="12"/>`}<circle cx="${x(value)}" cy="12" r="4.5"/></g>`;
  const figures = ({ interval, note: own, value }: ForestRow) =>
    value === null
      ? html`<span class="muted">no result yet</span>`
      : html`<b>${format(value)}</b> <span class="muted">${interval ? formatInterval(interval, format) : 'no interval'}${own && html`, ${own}`}</span>`;
  return html`<figure><ul class="forest" role="list">${rows.map(
    (row) => html`<li><span class="name">${row.name}</span>
<svg width="100%" height="24" aria-hidden="true">${line !== undefined && html`<g class="target"><line x1="${x(line)}" x2="${x(line)}" y1="0" y2="24"/></g>`}${mark(row)}</svg>
<span class="figures">${figures(row)}</span></li>
`,
  )}<li class="axis" aria-hidden="true"><svg width="100%" height="20">${ticks.map((tick) => html`<text x="${x(tick)}" y="14">${tickText(tick)}</text>`)}</svg></li></ul>${note && html`<figcaption>${note}</figcaption>`}</figure>`;
}

/** Nothing if there are no failures. */
export const failuresSection = (
  failures: readonly { readonly run: string; readonly message: string }[],
): readonly Section[] =>
  failures.length === 0
    ? []
    : [
        {
          id: 'failures',
          title: 'Failures',
          content: html`<ul class="warnings">${failures.map(({ message, run }) => html`<li>${run}: ${message}</li>`)}</ul>`,
        },
      ];

/** @param lines sentences without a full stop */
export const readingSection = (lines: readonly Content[]): Section => ({
  id: 'reading',
  title: 'How to read this',
  content: html`<ul>${lines.map((line) => html`<li>${line}.</li>`)}</ul>`,
});

export const writtenBy = (policyloop: string): Html => html`<p>Written by policyloop ${policyloop}.</p>`;

/** A verdict in a box at the start of a page. @param mark `higher`, `lower` or `too-few`: its colour */
export const verdictBox = (text: Content, mark = ''): Html => html`<p class="verdict ${mark}">${text}</p>`;
