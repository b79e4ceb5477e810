import { useMemo, useState } from 'preact/hooks';
import type { Chart } from '../chart.js';
import type { Alarm, Row } from '../messages.js';
import { ChartFigure, Toggle } from './chart-figure.js';
import { html } from './html.js';
import { shownNumber } from './words.js';

/** What the server has sent of a training's metrics. */
export interface Metrics {
  readonly step: Row[];
  readonly validation: Row[];
  readonly evaluation: Row[];
  alarms: readonly Alarm[];
}

export const newMetrics = (): Metrics => ({ step: [], validation: [], evaluation: [], alarms: [] });

/** Columns without a chart. */
const aside = new Set([
  ...['step', 'totalSteps', 'seconds', 'episodes', 'rssBytes', 'tokens', 'sampledTokens', 'examples'],
]);

/** Metrics shown first, in this order. */
const foremost = [
  ...['loss', 'reward', 'meanReward', 'meanReturn', 'entropy', 'kl', 'learningRate', 'gradientNorm'],
];

/** Turns `gradientNorm` into `gradient norm`. */
const words = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

interface Props {
  readonly metrics: Metrics;
  /** Changes whenever the metrics have changed. */
  readonly version: number;
}

/** Charts training and validation loss. */
export const LossChart = (props: Props) =>
  html`<${MetricChart} ...${props} name="loss" isSmooth=${true} height=${320} />`;

export function MetricCharts({ metrics, version }: Props) {
  const [isSmooth, setSmooth] = useState(true);
  const [isAll, setAll] = useState(false);
  const names = useMemo(() => {
    const found = new Set(
      [metrics.step, metrics.validation, metrics.evaluation].flatMap((rows) =>
        rows.slice(-50).flatMap(Object.keys),
      ),
    );
    return [...found].filter((name) => !aside.has(name)).sort((a, b) => rank(a) - rank(b));
  }, [version]);
  const first = names.filter((name) => foremost.includes(name));
  const shown = isAll || first.length === 0 ? names : first;
  return html`${metrics.alarms.length > 0 && html`<ul class="warnings">${metrics.alarms.map(({ message, remedy, step }) => html`<li>Step ${step}: ${message}${remedy && html` <span class="muted">${remedy}</span>`}</li>`)}</ul>`}
<ul class="legend toggles">
<${Toggle} label="smoothed" isOn=${isSmooth} onChange=${setSmooth} />
${first.length > 0 && first.length < names.length && html`<${Toggle} label=${`all ${names.length} metrics`} isOn=${isAll} onChange=${setAll} />`}
</ul>
<div class="charts">${shown.map((name) => html`<${MetricChart} key=${name} name=${name} metrics=${metrics} version=${version} isSmooth=${isSmooth} />`)}</div>`;
}

const rank = (name: string) => (foremost.includes(name) ? foremost.indexOf(name) : foremost.length);

interface MetricProps extends Props {
  readonly name: string;
  readonly isSmooth: boolean;
  readonly height?: number;
}

function MetricChart({ height = 190, isSmooth, metrics, name, version }: MetricProps) {
  const chart = useMemo((): Chart => {
    const rows = metrics.step.filter((row) => name in row);
    const measured = [...metrics.validation, ...metrics.evaluation].filter((row) => name in row);
    const raw = new Map(rows.map((row) => [row.step!, row[name]!]));
    const smooth = new Map(smoothed([...raw.values()]).map((value, i) => [[...raw.keys()][i]!, value]));
    const points = new Map(measured.map((row) => [row.step!, row[name]!]));
    const at = [...new Set([...raw.keys(), ...points.keys()])].sort((a, b) => a - b);
    const valuesOf = (map: ReadonlyMap<number, number>) => at.map((step) => map.get(step) ?? null);
    const latest = rows.at(-1)?.[name] ?? measured.at(-1)?.[name];
    return {
      label: `${words(name)} by step; latest ${shownNumber(latest)}`,
      x: { title: 'step', kind: 'whole' },
      y: { title: `${words(name)}: ${shownNumber(latest)}` },
      ...{ height, at },
      series: [
        { label: 'each step', draw: 'line', colour: '--spread', width: 1, values: valuesOf(raw) },
        ...(isSmooth
          ? [
              {
                label: 'smoothed',
                draw: 'line',
                colour: '--accent',
                width: 2,
                values: valuesOf(smooth),
              } as const,
            ]
          : []),
        ...(points.size > 0
          ? [{ label: 'held out', draw: 'points', colour: '--good', values: valuesOf(points) } as const]
          : []),
      ],
    };
  }, [name, version, isSmooth]);
  return html`<figure class="metric"><${ChartFigure} chart=${chart} /></figure>`;
}

/** Centred moving average, without lag. */
function smoothed(values: readonly number[]): readonly number[] {
  const reach = Math.max(2, Math.min(50, Math.round(values.length / 40)));
  const sums = [0];
  for (const value of values) sums.push(sums.at(-1)! + value);
  return values.map((_, i) => {
    const [from, to] = [Math.max(0, i - reach), Math.min(values.length, i + reach + 1)];
    return (sums[to]! - sums[from]!) / (to - from);
  });
}
