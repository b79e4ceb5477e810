/**
 * What markup from the server or a file does in the browser: draws charts, sorts tables, unpacks prompts, shows the values
 * of heat maps. Inserts text only as text nodes.
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

/** Parses a block of JSON in the page. */
export const jsonIn = <T>(block: Element | null | undefined): T | null =>
  JSON.parse(block?.textContent ?? 'null') as T | null;

/** Brings newly inserted markup to life. */
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

/** Draws the data in figures in place of their description in words. */
function draw<Data>(root: ParentNode, selector: string, drawn: (data: Data) => ComponentChild): void {
  for (const figure of root.querySelectorAll<HTMLElement>(selector)) {
    const data = jsonIn<Data>(figure.querySelector('script'));
    if (data === null) continue;
    const place = document.createElement('div');
    figure.querySelector('.note')?.replaceWith(place);
    render(drawn(data), place);
  }
}

/** Opens the log entry that the address names, and scrolls to its section. */
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
