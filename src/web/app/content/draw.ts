/** Draws content (base/text/content.ts) that comes as data from the server or a file. Strings are never markup. */
import { type ComponentChildren, type ComponentType, h, type VNode } from 'preact';
import type { ContentJson } from '../../../base/text/content.js';
import type { Chart } from '../../chart.js';
import { html } from '../base/html.js';
import { ChartFigure } from '../chart/chart-figure.js';
import { HeatMapFigure } from '../chart/heat-map.js';
import { ParallelPlot } from '../chart/parallel.js';
import { DataTable } from './data-table.js';
import { Prompt, ProposalLog } from './log.js';
import { Picture } from './picture.js';
import { SourceCode, TextDifference } from './program.js';

interface ChartProps {
  readonly chart: Chart;
  readonly children?: ComponentChildren;
}

const ChartWithCaption = ({ chart, children }: ChartProps) =>
  html`<figure class="chart-figure"><${ChartFigure} key=${chart.y.title} chart=${chart} />${children && html`<figcaption>${children}</figcaption>`}</figure>`;

// biome-ignore lint/suspicious/noExplicitAny: each component gets the properties that the server wrote for it.
const components: Readonly<Record<string, ComponentType<any>>> = {
  'chart-figure': ChartWithCaption,
  'data-table': DataTable,
  'episode-picture': Picture,
  'heat-map': HeatMapFigure,
  'parallel-plot': ParallelPlot,
  'prompt-text': Prompt,
  'proposal-log': ProposalLog,
  'source-code': SourceCode,
  'text-difference': TextDifference,
};

export function drawContent(content: ContentJson): VNode | string | number {
  if (typeof content !== 'object') return content;
  const [tag, props, ...children] = content;
  return h(components[tag] ?? tag, { key: props.id, ...props }, ...children.map(drawContent));
}
