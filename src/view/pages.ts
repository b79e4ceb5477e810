/** Pages of items, by kind. */
import { basename, join } from 'node:path';
import { type Html, html, preformatted } from '../format/html.js';
import { formatCount, plural } from '../format/numbers.js';
import { playPage } from '../play/play-page.js';
import { trainingPageOf } from '../report/training-page.js';
import { repeatsPage } from '../report/write-report.js';
import { collectionFile, planFile } from '../runs/reader.js';
import { readOwnText } from '../storage/regular-file.js';
import type { Item } from '../web/messages.js';
import type { Page, Section } from '../web/page.js';
import { type Place, savedPage } from './items.js';
import { shownRunPage } from './shown-run.js';

/** @throws UserError if files are damaged */
export async function pageOf({ item, path }: Place): Promise<Page> {
  switch (item.kind) {
    case 'run':
      return shownRunPage(item.name, path);
    case 'play':
      return playPage(path);
    case 'training':
      return trainingPageOf(path);
    case 'repeats':
      return repeatsPage(path, (name) => `${basename(path)}/${name}`);
    case 'collection':
      return studyPage(item, path, collectionFile);
    case 'controls':
    case 'evaluation':
    case 'sweep':
    case 'models':
      return studyPage(item, path, planFile);
  }
}

const savedAddress = (name: string): string => `/saved/${name.split('/').map(encodeURIComponent).join('/')}`;

function saved({ name }: Item, path: string): Section | undefined {
  if (savedPage(path) === undefined) return undefined;
  return {
    id: 'saved',
    title: 'Results',
    content: html`<p class="note">Saved page, with scripts disabled. <a href="${savedAddress(name)}" target="_blank">Open in a new tab</a></p>
<iframe class="saved" title="Saved page of ${name}" src="${savedAddress(name)}"></iframe>`,
  };
}

function studyPage(item: Item, path: string, file: string): Page {
  const sections: (Section | undefined)[] = [
    saved(item, path),
    {
      id: 'plan',
      title: 'Plan',
      content: preformatted(readOwnText(join(path, file)).slice(0, 200_000)),
    },
  ];
  return {
    title: `${item.name}: ${item.kind}`,
    header: header(
      item.kind,
      item,
      html`${formatCount(item.done)} of ${plural(item.of, 'run')} complete`,
      [],
    ),
    sections: sections.filter((section) => section !== undefined),
    footer: undefined,
  };
}

function header(
  what: string,
  { environment, model, name, status }: Item,
  state: Html,
  facts: readonly (readonly [string, string | null])[],
): Html {
  return html`<header>
<p class="kicker">policyloop ${what} <b>${name}</b></p>
<h1>${model ?? name}${environment !== null && html` <span class="by">in</span> ${environment}`}</h1>
<p class="state"><span class="status ${status}">${status}</span> ${state}</p>
<dl class="facts">${facts.map(([title, value]) => value !== null && html`<div><dt>${title}</dt><dd>${value}</dd></div>`)}</dl>
</header>`;
}
