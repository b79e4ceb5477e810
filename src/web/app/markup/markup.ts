/**
 * Makes markup from the server or a file interactive: draws charts, sorts tables, unpacks prompts, shows the values of
 * heat maps. Inserts text only as text nodes.
 */

import { type ComponentChild, render } from 'preact';
import type { Chart } from '../../chart.js';
import type { Parallel } from '../../parallel.js';
import { type TrainingInFile, unpacked } from '../../training-charts.js';
import { html } from '../base/html.js';
import { ChartFigure } from '../chart/chart-figure.js';
import { activateHeatMap } from '../chart/heat-map.js';
import { ParallelPlot } from '../chart/parallel.js';
import { TrainingCharts } from '../chart/training.js';
import { showPrompt } from './prompts.js';
import { makeSortable } from './sortable.js';

/** Parses a block of JSON in the page; null if there is no block. */
export const jsonIn = <T>(block: Element | null | undefined): T | null =>
  JSON.parse(block?.textContent ?? 'null') as T | null;

/** Makes newly inserted markup interactive. */
export function activate(root: ParentNode): void {
  draw<Chart>(root, '[data-chart]', (chart) => html`<${ChartFigure} chart=${chart} />`);
  draw<Parallel>(root, '[data-parallel]', (parallel) => html`<${ParallelPlot} parallel=${parallel} />`);
  draw<TrainingInFile>(root, '[data-training]', ({ words, ...rows }) => {
    const all = { step: unpacked(rows.step), validation: unpacked(rows.validation) };
    const evaluation = unpacked(rows.evaluation);
    return html`<${TrainingCharts} rows=${{ ...all, evaluation }} words=${words} version=${0} />`;
  });
  for (const table of root.querySelectorAll('table')) makeSortable(table);
  for (const box of root.querySelectorAll<HTMLDetailsElement>('details.prompt'))
    box.addEventListener('toggle', () => showPrompt(box, document.getElementById('prompts')), { once: true });
  activateHeatMap(root);
}

/** Replaces the descriptions of figures with drawings of their data. */
function draw<Data>(root: ParentNode, selector: string, drawn: (data: Data) => ComponentChild): void {
  for (const figure of root.querySelectorAll<HTMLElement>(selector)) {
    const data = jsonIn<Data>(figure.querySelector('script'));
    if (data === null) continue;
    const place = document.createElement('div');
    figure.querySelector('.note')?.replaceWith(place);
    render(drawn(data), place);
  }
}

/** Scrolls to the element that the URL's fragment names, and opens it if it is a log entry. */
export function openTarget(): void {
  const entry = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (entry === null) return;
  if (entry instanceof HTMLDetailsElement) {
    const all = document.querySelector<HTMLInputElement>('#show-all');
    if (all !== null) all.checked = true;
    entry.open = true;
  }
  entry.scrollIntoView();
}
