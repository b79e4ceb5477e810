/**
 * What markup from the server or a file does in the browser: draws charts, sorts tables, unpacks prompts, shows the values
 * of heat maps. Text is inserted only as text nodes.
 */
import { render } from 'preact';
import type { Chart } from '../chart.js';
import { type TrainingInFile, unpacked } from '../training-charts.js';
import { ChartFigure } from './chart-figure.js';
import { activateHeatMap } from './heat-map.js';
import { html } from './html.js';
import { showPrompt } from './prompts.js';
import { makeSortable } from './sortable.js';
import { TrainingCharts } from './training.js';

/** Parses a block of JSON in the page. */
export const jsonIn = <T>(block: Element | null | undefined): T | null =>
  JSON.parse(block?.textContent ?? 'null') as T | null;

/** Brings newly inserted markup to life. */
export function activate(root: ParentNode): void {
  for (const figure of root.querySelectorAll<HTMLElement>('[data-chart]')) {
    const chart = jsonIn<Chart>(figure.querySelector('script'));
    if (chart === null) continue;
    const place = document.createElement('div');
    figure.querySelector('.note')?.replaceWith(place);
    render(html`<${ChartFigure} chart=${chart} />`, place);
  }
  for (const figure of root.querySelectorAll<HTMLElement>('[data-training]')) {
    const { words, ...rows } = jsonIn<TrainingInFile>(figure.querySelector('script'))!;
    const all = { step: unpacked(rows.step), validation: unpacked(rows.validation) };
    const evaluation = unpacked(rows.evaluation);
    const place = document.createElement('div');
    figure.querySelector('.note')?.replaceWith(place);
    render(html`<${TrainingCharts} rows=${{ ...all, evaluation }} words=${words} version=${0} />`, place);
  }
  for (const figure of root.querySelectorAll<HTMLElement>('figure[data-readout]')) {
    const readout = figure.querySelector<HTMLElement>('.readout');
    if (readout === null) continue;
    readout.textContent = readout.dataset.hint ?? '';
    figure.addEventListener('pointerover', ({ target }) => {
      const title = target instanceof Element ? target.querySelector(':scope > title') : null;
      if (title !== null) readout.textContent = title.textContent;
    });
  }
  for (const table of root.querySelectorAll('table')) makeSortable(table);
  for (const box of root.querySelectorAll<HTMLDetailsElement>('details.prompt'))
    box.addEventListener('toggle', () => {
      if (!box.open || box.dataset.shown !== undefined) return;
      box.dataset.shown = '';
      showPrompt(box, document.getElementById('prompts'));
    });
  activateHeatMap(root);
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
