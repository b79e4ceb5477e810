/** The results of a sweep by the value of each key. */
import type { Content } from '../../../base/text/content.js';
import { html } from '../../../base/text/html.js';
import { apart, formatNumber, plural } from '../../../base/text/numbers.js';
import { largest, smallest } from '../../../statistics/descriptive.js';
import { type Axis, chartFigure } from '../../chart.js';
import { logTicks } from '../../ticks.js';

interface SweptRun {
  /** The value of each key, as text. */
  readonly values: Readonly<Record<string, string>>;
  readonly result: number;
  readonly note: string;
  readonly href: string;
}

interface Key {
  readonly key: string;
  readonly kind: 'list' | 'uniform' | 'loguniform';
}

/** A chart for each key, with a point for each run. @param result title of the y axis */
export function keyCharts(keys: readonly Key[], runs: readonly SweptRun[], result: string): Content {
  const charts = keys.map((key) => {
    const { at, ...axis } = axisOf(
      key,
      runs.map(({ values }) => values[key.key] ?? ''),
    );
    const placed = runs
      .map((run) => ({ ...run, x: at(run.values[key.key] ?? '') }))
      .toSorted((a, b) => a.x - b.x);
    return chartFigure({
      label: `${plural(runs.length, 'run')} by ${key.key} and ${result}; the table of runs has the same values.`,
      x: { title: key.key, ...axis },
      y: { title: result },
      height: 240,
      at: placed.map(({ x }) => x),
      series: [{ label: 'run', draw: 'points', colour: '--accent', values: placed.map((run) => run.result) }],
      notes: placed.map(({ note }) => note),
      links: placed.map(({ href }) => href),
      hint: 'Hover over a run for its settings; click to open it.',
    });
  });
  return html`<div class="charts">${charts}</div>`;
}

/** Values from a list are equally spaced; others lie on a linear or a logarithmic axis. */
function axisOf(
  { kind }: Key,
  values: readonly string[],
): Omit<Axis, 'title'> & { readonly at: (value: string) => number } {
  const numbers = values.map(Number);
  const isNumeric = numbers.every(Number.isFinite);
  if (kind === 'list' || !isNumeric) {
    const items = [...new Set(values)];
    if (isNumeric) items.sort((a, b) => Number(a) - Number(b));
    const most = Math.max(5, Math.floor(56 / items.length));
    // The end of a long name, such as a path or a model, is its most specific part.
    const short = (item: string) => (item.length > most ? `…${item.slice(1 - most)}` : item);
    return {
      at: (value) => items.indexOf(value),
      ticks: items.map((item, i) => [i, item === 'null' ? '(none)' : short(item)]),
      from: -0.5,
      to: items.length - 0.5,
    };
  }
  if (kind === 'uniform' || smallest(numbers) <= 0) return { at: Number };
  const ticks = logTicks(smallest(numbers), largest(numbers));
  const text = apart(ticks, formatNumber);
  return {
    at: (value) => Math.log10(Number(value)),
    ticks: ticks.map((tick) => [Math.log10(tick), text(tick)]),
  };
}
