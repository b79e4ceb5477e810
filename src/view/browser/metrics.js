import { useMemo, useState } from 'preact/hooks';
import { Chart, colour, Toggle } from './chart.js';
import { html, shownNumber } from './words.js';

/** @typedef {import('../messages.js').Row} Row */
/** @typedef {{ step: Row[], validation: Row[], evaluation: Row[], alarms: readonly { step: number, message: string, remedy: string | null }[] }} Metrics */

/** @returns {Metrics} */
export const newMetrics = () => ({ step: [], validation: [], evaluation: [], alarms: [] });

/** Columns without a chart. */
const aside = new Set([
  'step',
  'totalSteps',
  'seconds',
  'episodes',
  'rssBytes',
  'tokens',
  'sampledTokens',
  'examples',
]);

/** Metrics shown first, in this order. */
const foremost = [
  'loss',
  'reward',
  'meanReward',
  'meanReturn',
  'entropy',
  'kl',
  'learningRate',
  'gradientNorm',
];

/** Turns `gradientNorm` into `gradient norm`. @param {string} name */
const words = (name) => name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

/** Charts training and validation loss. @param {{ metrics: Metrics, version: number }} props */
export function LossChart({ metrics, version }) {
  return html`<${MetricChart} name="loss" metrics=${metrics} version=${version} isSmooth=${true} height=${320} />
<ul class="legend"><li><span class="key thin"></span>training loss per step</li><li><span class="key step"></span>smoothed</li>${
    metrics.validation.length > 0 && html`<li><span class="key dot measured"></span>validation loss</li>`
  }</ul>`;
}

/** @param {{ metrics: Metrics, version: number }} props */
export function MetricCharts({ metrics, version }) {
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
<${Toggle} label="smoothed" mark="" isOn=${isSmooth} onChange=${setSmooth} />
${first.length > 0 && first.length < names.length && html`<${Toggle} label=${`all ${names.length} metrics`} mark="" isOn=${isAll} onChange=${setAll} />`}
<li><span class="key step"></span>steps</li>
${metrics.validation.length + metrics.evaluation.length > 0 && html`<li><span class="key dot measured"></span>validations and evaluations</li>`}
</ul>
<div class="charts">${shown.map((name) => html`<${MetricChart} key=${name} name=${name} metrics=${metrics} version=${version} isSmooth=${isSmooth} />`)}</div>`;
}

/** @param {string} name */
const rank = (name) => (foremost.includes(name) ? foremost.indexOf(name) : foremost.length);

/** @param {{ name: string, metrics: Metrics, version: number, isSmooth: boolean, height?: number }} props */
function MetricChart({ name, metrics, version, isSmooth, height = 190 }) {
  const data = useMemo(() => {
    const rows = metrics.step.filter((row) => name in row);
    const measured = [...metrics.validation, ...metrics.evaluation].filter((row) => name in row);
    const smooth = isSmooth
      ? smoothed(rows.map((row) => Number(row[name])))
      : rows.map((row) => Number(row[name]));
    const points = new Map(measured.map((row) => [Number(row.step), Number(row[name])]));
    const steps = new Set(rows.map((row) => Number(row.step)));
    // One entry for each x: uPlot scales only to the first of several.
    const all = [
      ...rows.map((row, i) => ({
        x: Number(row.step),
        raw: Number(row[name]),
        line: smooth[i] ?? null,
        point: points.get(Number(row.step)) ?? null,
      })),
      ...[...points]
        .filter(([x]) => !steps.has(x))
        .map(([x, point]) => ({ x, raw: null, line: null, point })),
    ].sort((a, b) => a.x - b.x);
    return [
      all.map(({ x }) => x),
      all.map(({ raw }) => raw),
      all.map(({ line }) => line),
      all.map(({ point }) => point),
    ];
  }, [name, version, isSmooth]);
  const last = data[1]?.findLast((value) => value !== null) ?? data[3]?.findLast((value) => value !== null);
  const lines = () => [
    { label: 'each step', kind: /** @type {const} */ ('line'), stroke: colour('--spread'), width: 1 },
    { label: 'smoothed', kind: /** @type {const} */ ('line'), stroke: colour('--accent'), width: 2 },
    { label: 'measured', kind: /** @type {const} */ ('points'), stroke: colour('--good'), size: 8 },
  ];
  return html`<figure class="metric"><h3>${words(name)} <span class="muted">${shownNumber(last)}</span></h3>
<${Chart} label=${`${words(name)} by step; latest ${shownNumber(last)}`} height=${height} xTitle="step" lines=${lines} data=${data} /></figure>`;
}

/** Centred moving average, without lag. @param {readonly number[]} values */
function smoothed(values) {
  const reach = Math.max(2, Math.min(50, Math.round(values.length / 40)));
  const sums = [0];
  for (const value of values) sums.push(Number(sums.at(-1)) + value);
  return values.map((_, i) => {
    const [from, to] = [Math.max(0, i - reach), Math.min(values.length, i + reach + 1)];
    return (Number(sums[to]) - Number(sums[from])) / (to - from);
  });
}
