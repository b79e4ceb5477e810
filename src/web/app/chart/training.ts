import { useMemo } from 'preact/hooks';
import type { TrainingRows } from '../../messages.js';
import { type TrainingWords, trainingCharts } from '../../training-charts.js';
import { html } from '../base/html.js';
import { ChartFigure } from './chart-figure.js';

interface Props {
  readonly rows: TrainingRows;
  readonly words: TrainingWords;
  /** Must change whenever `rows` are modified, so that the charts are drawn again. */
  readonly version: number;
}

export function TrainingCharts({ rows, version, words }: Props) {
  const charts = useMemo(() => trainingCharts(rows, words), [version, JSON.stringify(words)]);
  if (charts.length === 0) return html`<p class="empty">No ${words.unit}s yet.</p>`;
  const isLarge = ({ height = 320 }: { readonly height?: number }) => height > 200;
  const figure = (chart: (typeof charts)[number]) =>
    html`<figure class="chart-figure" key=${chart.y.title}><${ChartFigure} chart=${chart} /></figure>`;
  return html`<div class="training-charts">${charts.filter(isLarge).map(figure)}<div class="charts">${charts.filter((chart) => !isLarge(chart)).map(figure)}</div></div>`;
}
