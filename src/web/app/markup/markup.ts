/** Makes markup from the server or a file interactive: draws figures, sorts tables, unpacks prompts. Inserts text only as text nodes. */

import { render } from 'preact';
import type { Chart } from '../../chart.js';
import type { HeatMap } from '../../heat-map.js';
import type { Parallel } from '../../parallel.js';
import { html } from '../base/html.js';
import { ChartFigure } from '../chart/chart-figure.js';
import { HeatMapFigure } from '../chart/heat-map.js';
import { ParallelPlot } from '../chart/parallel.js';
import { showPrompt } from './prompts.js';
import { makeSortable } from './sortable.js';

/** Parses a block of JSON in the page; null if there is no block. */
const jsonIn = <T>(block: Element | null | undefined): T | null =>
  JSON.parse(block?.textContent ?? 'null') as T | null;

/** Makes newly inserted markup interactive. `before`: drawings of the markup that it replaces, which keep their state. */
export function activate(root: ParentNode, before: readonly Element[] = []): void {
  for (const [i, figure] of root
    .querySelectorAll('[data-chart], [data-parallel], [data-heat-map]')
    .entries()) {
    const data = jsonIn<Chart | Parallel | HeatMap>(figure.querySelector('script'));
    if (data === null) continue;
    const place = before[i] ?? document.createElement('div');
    place.className = 'drawing';
    figure.querySelector('.note')?.replaceWith(place);
    render(
      'columns' in data
        ? html`<${HeatMapFigure} map=${data} />`
        : 'lines' in data
          ? html`<${ParallelPlot} parallel=${data} />`
          : html`<${ChartFigure} key=${data.y.title} chart=${data} />`,
      place,
    );
  }
  for (const table of root.querySelectorAll('table')) makeSortable(table);
  for (const box of root.querySelectorAll<HTMLDetailsElement>('details.prompt'))
    box.addEventListener('toggle', () => showPrompt(box, document.getElementById('prompts')), { once: true });
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
