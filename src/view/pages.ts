/** Chooses the page of an item by its kind. */
import { join } from 'node:path';
import { playPage } from '../agents/play-page.js';
import { messageOf } from '../base/errors.js';
import { readOwnJson } from '../base/files/files.js';
import { readOwnText } from '../base/files/regular-file.js';
import { html, preformatted } from '../base/text/html.js';
import { formatCount, plural } from '../base/text/numbers.js';
import type { Place } from '../runs/listing/scan.js';
import { planFile } from '../runs/reader.js';
import { resultFiles } from '../studies/plan.js';
import { sweepPage } from '../studies/sweep/sweep-page.js';
import type { SweepResult } from '../studies/sweep/sweep-result.js';
import { itemAddress } from '../web/address.js';
import { type Page, sectionsOf } from '../web/page.js';
import { trainingPageOf } from '../web/report/training-page.js';
import { type PageContext, pageHeader } from '../web/study.js';
import { shownRunPage } from './shown-run.js';

/** Pages that other modules build from the recorded result of a study. */
export interface GivenPages {
  readonly evaluation: (recorded: unknown, shown: PageContext) => Page;
}

/** @throws UserError if files are damaged */
export async function pageOf(place: Place, given: GivenPages): Promise<Page> {
  const { path } = place;
  const { kind, name, status } = place.item;
  const shown: PageContext = { linkOf: (run) => itemAddress(`${name}/${run}`), status };
  switch (kind) {
    case 'run':
      return shownRunPage(name, path);
    case 'play':
      return playPage(path);
    case 'training':
      return trainingPageOf(path);
    default:
      return studyPage(place, () => {
        const recorded = readOwnJson(join(path, resultFiles[kind]));
        if (recorded === undefined) return undefined;
        if (kind === 'evaluation') return given.evaluation(recorded, shown);
        return sweepPage(recorded as SweepResult, shown);
      });
  }
}

/** The page of a study's result or, if it has none that can be shown, of its plan. */
function studyPage({ item, path }: Place, recorded: () => Page | undefined): Page {
  const { done, environment, kind, model, name, of, status } = item;
  let state = 'no result yet';
  try {
    const page = recorded();
    if (page !== undefined) return page;
  } catch (error) {
    // The file may contain anything, so any error can occur.
    state = `can't show the recorded result: ${messageOf(error)}`;
  }
  const plan = readOwnText(join(path, planFile));
  return {
    title: `${name}: ${kind}`,
    header: pageHeader({
      kicker: html`${kind} <b>${name}</b>`,
      title: html`${model ?? name}${environment !== null && html` <span class="by">in</span> ${environment}`}`,
      status,
      state: `${formatCount(done)} of ${plural(of, 'run')} complete; ${state}`,
    }),
    sections: sectionsOf(['runs', 'Runs', ''], ['plan', 'Plan', preformatted(plan.slice(0, 200_000))]),
    footer: undefined,
  };
}
