/** Pages of items, by kind. */
import { basename, join } from 'node:path';
import { messageOf } from '../base/errors.js';
import { type Html, html, preformatted } from '../format/html.js';
import { formatCount, plural } from '../format/numbers.js';
import { playPage } from '../play/play-page.js';
import { trainingPageOf } from '../report/training-page.js';
import { repeatsPage } from '../report/write-report.js';
import { collectionFile, planFile } from '../runs/reader.js';
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
import type { Page } from '../web/page.js';
import type { Shown } from '../web/study.js';
import { type Place, savedPage } from './items.js';
import { shownRunPage } from './shown-run.js';

/** Pages of directories that other modules write; undefined if the directory isn't recognised. */
export interface GivenPages {
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
      return trainingPageOf(path);
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
