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
import { baselinesPage } from '../studies/baselines-page.js';
import type { BaselinesResult } from '../studies/baselines-result.js';
import { type CollectionRecord, collectionPage } from '../studies/collection/collection-page.js';
import { modelsPage } from '../studies/models/models-page.js';
import type { ModelsResult } from '../studies/models/models-result.js';
import { resultFiles } from '../studies/plan.js';
import { sweepPage } from '../studies/sweep/sweep-page.js';
import type { SweepResult } from '../studies/sweep/sweep-result.js';
import type { Item } from '../web/messages.js';
import type { Page, Section } from '../web/page.js';
import type { Shown } from '../web/study.js';
import { type Place, savedPage } from './items.js';
import { shownRunPage } from './shown-run.js';

/** Pages of directories that other modules write; undefined if the directory isn't recognised. */
export interface GivenPages {
  readonly training: (path: string) => Page | undefined;
  readonly evaluation: (path: string, shown: Shown) => Page | undefined;
}

/** @param inside the items in a directory of several runs @throws UserError if files are damaged */
export async function pageOf(place: Place, inside: readonly Item[], given: GivenPages): Promise<Page> {
  const { item, path } = place;
  const shown: Shown = { linkOf: (run) => addressOf('of', `${item.name}/${run}`), status: item.status };
  const recorded = (page: (recorded: unknown) => Page, file: string) => () => {
    const written = readOwnJson(join(path, file));
    return written === undefined ? undefined : page(written);
  };
  switch (item.kind) {
    case 'run':
      return shownRunPage(item.name, path);
    case 'play':
      return playPage(path);
    case 'training':
      return trainingPageOf(item, path, given.training);
    case 'repeats':
      return repeatsPage(path, (name) => `${basename(path)}/${name}`);
    case 'collection':
      return studyPage(
        place,
        recorded((record) => collectionPage(record as CollectionRecord, item, inside), collectionFile),
      );
    case 'controls':
      return studyPage(
        place,
        recorded((result) => baselinesPage(result as BaselinesResult, shown), resultFiles.controls),
      );
    case 'evaluation':
      return studyPage(place, () => given.evaluation(path, shown));
    case 'sweep':
      return studyPage(
        place,
        recorded((result) => sweepPage(result as SweepResult, shown), resultFiles.sweep),
      );
    case 'models':
      return studyPage(
        place,
        recorded((result) => modelsPage(result as ModelsResult, shown), resultFiles.models),
      );
  }
}

const addressOf = (page: 'of' | 'saved', name: string): string =>
  `/${page}/${name.split('/').map(encodeURIComponent).join('/')}`;

/** A page that an earlier version wrote. */
const saved = ({ name }: Item, path: string): Html | undefined =>
  savedPage(path) === undefined
    ? undefined
    : html`<a href="${addressOf('saved', name)}" target="_blank">Open the saved page</a> (scripts are disabled)`;

function trainingPageOf(item: Item, path: string, trainingPage: GivenPages['training']): Page {
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
    footer: saved(item, path),
  };
}

/** The page of a study's recorded result; without one, its plan. */
function studyPage({ item, path }: Place, recorded: () => Page | undefined): Page {
  let state = 'no result yet';
  try {
    const page = recorded();
    if (page !== undefined) return page;
  } catch (error) {
    // The file may contain anything.
    state = `can't show the recorded result: ${messageOf(error)}`;
  }
  const plan = item.kind === 'collection' ? collectionFile : planFile;
  const content = preformatted(readOwnText(join(path, plan)).slice(0, 200_000));
  return {
    title: `${item.name}: ${item.kind}`,
    header: header(
      item.kind,
      item,
      html`${formatCount(item.done)} of ${plural(item.of, 'run')} complete; ${state}`,
      [],
    ),
    sections: [
      { id: 'runs', title: 'Runs', content: undefined },
      { id: 'plan', title: 'Plan', content },
    ],
    footer: saved(item, path),
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
