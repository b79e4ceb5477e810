/** Pages of items, by kind. */
import { basename, join } from 'node:path';
import { stringify } from 'yaml';
import { messageOf } from '../base/errors.js';
import { type Html, html, preformatted } from '../format/html.js';
import {
  formatCompact,
  formatCount,
  formatDuration,
  formatNumber,
  formatTime,
  plural,
} from '../format/numbers.js';
import { playPage } from '../play/play-page.js';
import { tile } from '../report/views/overview.js';
import { repeatsPage } from '../report/write-report.js';
import { collectionFile, planFile } from '../runs/reader.js';
import { readTraining } from '../runs/training/trainings.js';
import { trainingFiles } from '../runs/training-files.js';
import { readOwnJson } from '../storage/files.js';
import { readOwnText } from '../storage/regular-file.js';
import type { Item } from '../web/messages.js';
import type { Page, Section } from '../web/page.js';
import { type Place, savedPage } from './items.js';
import { shownRunPage } from './shown-run.js';

/** The fine-tuner's page for a training run; undefined if it doesn't recognise the directory. */
export type TrainingPage = (path: string) => Page | undefined;

/** @throws UserError if files are damaged */
export async function pageOf({ item, path }: Place, trainingPage: TrainingPage): Promise<Page> {
  switch (item.kind) {
    case 'run':
      return shownRunPage(item.name, path);
    case 'play':
      return playPage(path);
    case 'training':
      return trainingPageOf(item, path, trainingPage);
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

function trainingPageOf(item: Item, path: string, trainingPage: TrainingPage): Page {
  let fault: string;
  try {
    const page = trainingPage(path);
    if (page !== undefined) return page;
    fault = '';
  } catch (error) {
    // The file may contain anything, so show the summary without charts.
    fault = `Can't draw the curves: ${messageOf(error)}`;
  }
  return plainTrainingPage(item, path, fault);
}

function plainTrainingPage(item: Item, path: string, fault: string): Page {
  const facts = readTraining(path);
  const { best, episodes, first, method, note, objective, on, seconds, started, steps, tokens, unit } = facts;
  const about = readOwnJson(join(path, trainingFiles.about)) as { readonly config?: object } | undefined;
  const sections: (Section | undefined)[] = [
    {
      id: 'result',
      title: 'Result',
      content: html`<dl class="headline main">
${best === null ? tile('Best evaluation', '–', 'not evaluated yet') : tile(best.kind === 'loss' ? 'Lowest validation loss' : 'Best held-out mean return', formatNumber(best.value, 4), html`after ${unit} ${formatCount(best.step)}${first !== null && first.step !== best.step && html`; <b>${formatNumber(first.value, 4)}</b> after ${unit} ${formatCount(first.step)}`}`, 'confirmed')}
</dl>
<dl class="headline">
${tile(unit === 'step' ? 'Steps' : 'Updates', formatCount(steps.done), `of ${formatCount(steps.of)}`)}
${tokens !== null && tile('Tokens', formatCompact(tokens), 'in training steps')}
${episodes !== null && tile('Episodes', formatCompact(episodes), 'used for training')}
${tile('Time', formatDuration(1000 * seconds), `${objective ?? 'training'}`)}
</dl>`,
    },
    saved(item, path),
    about?.config && { id: 'config', title: 'Config', content: preformatted(stringify(about.config)) },
  ];
  return {
    title: `${item.name}: ${item.model ?? 'training'}`,
    header: header('training', item, html`${[note, fault].filter(Boolean).join('. ')}`, [
      ['method', method],
      ['objective', objective],
      ['on', on],
      ['started', started && formatTime(started)],
    ]),
    sections: sections.filter((section) => section !== undefined),
    footer: undefined,
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
