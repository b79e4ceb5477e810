/** Chooses the page of an item by its kind, and writes the charts of pages. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { playPage } from '../agents/play-page.js';
import { messageOf, UserError, unlessRejected } from '../base/errors.js';
import { makeDirectory, readOwnJson, replaceFile } from '../base/files/files.js';
import { readOwnText } from '../base/files/regular-file.js';
import { html, preformatted } from '../base/text/html.js';
import { formatCount, plural } from '../base/text/numbers.js';
import { runsBelow } from '../runs/finder.js';
import type { RunFolders } from '../runs/listing/listing.js';
import { findRuns, type NameMatch } from '../runs/listing/names.js';
import { type LocatedItem, scanItems } from '../runs/listing/scan.js';
import { planFile } from '../runs/reader.js';
import { comparisonOf } from '../studies/comparison/compare.js';
import { comparisonPage } from '../studies/comparison/page.js';
import { resultFiles } from '../studies/plan.js';
import { sweepPage } from '../studies/sweep/sweep-page.js';
import type { SweepResult } from '../studies/sweep/sweep-result.js';
import { itemAddress } from '../web/address.js';
import { chartFiles } from '../web/drawing/chart-files.js';
import { type Page, pageData, sectionsOf } from '../web/page.js';
import { readTrainingPage } from '../web/report/training-page.js';
import { fileContext, type PageContext, pageHeader } from '../web/study.js';
import { liveRunPage } from './shown-run.js';

/** Functions of other modules that build pages from the recorded result of a study. */
export interface StudyPageBuilders {
  readonly evaluation: (recorded: unknown, context: PageContext) => Page;
}

/** @throws UserError if files are damaged */
export async function pageOf(place: LocatedItem, builders: StudyPageBuilders): Promise<Page> {
  const { path } = place;
  const { kind, name, status } = place.item;
  const context: PageContext = { linkOf: (run) => itemAddress(`${name}/${run}`), status };
  switch (kind) {
    case 'run':
      return liveRunPage(name, path);
    case 'play':
      return playPage(path);
    case 'training':
      return readTrainingPage(path);
    default:
      return studyPage(place, () => {
        const result = readOwnJson(join(path, resultFiles[kind]));
        if (result === undefined) return undefined;
        if (kind === 'evaluation') return builders.evaluation(result, context);
        return sweepPage(result as SweepResult, context);
      });
  }
}

/** Returns the page of a study's result or, if there is none that can be shown, of its plan. */
function studyPage({ item, path }: LocatedItem, resultPage: () => Page | undefined): Page {
  const { done, environment, kind, model, name, of, status } = item;
  let state = 'no result yet';
  try {
    const page = resultPage();
    if (page !== undefined) return page;
  } catch (error) {
    // The file may contain anything, so any error can occur.
    state = `can't show the recorded result: ${messageOf(error)}`;
  }
  const planText = readOwnText(join(path, planFile));
  return {
    title: `${name}: ${kind}`,
    header: pageHeader({
      kicker: html`${kind} <b>${name}</b>`,
      title: html`${model ?? name}${environment !== null && html` <span class="by">in</span> ${environment}`}`,
      status,
      state: `${formatCount(done)} of ${plural(of, 'run')} complete; ${state}`,
    }),
    sections: sectionsOf(['runs', 'Runs', ''], ['plan', 'Plan', preformatted(planText.slice(0, 200_000))]),
    footer: undefined,
  };
}

/**
 * Writes the charts of each run, training run and study, and of the comparison of several runs; overwrites files.
 * @throws UserError if a name matches nothing, a run is damaged, or there are no charts
 */
export async function exportCharts(
  names: readonly string[],
  folders: RunFolders,
  directory: string,
  builders: StudyPageBuilders,
) {
  const isWhole = ({ kind, path }: NameMatch) => kind === 'training' || existsSync(join(path, planFile));
  const paths = findRuns(names, folders, isWhole);
  const itemAt = (path: string) =>
    [...scanItems([{ path, prefix: '' }]).values()].find((one) => one.path === path)!;
  const pages = await Promise.all(paths.map((path) => pageOf(itemAt(path), builders)));
  const runs = paths.flatMap(runsBelow);
  const options = { by: undefined, unfinished: false };
  const compared = runs.length > 1 && unlessRejected(() => comparisonOf(runs, options, folders.cwd));
  if (compared) pages.push(comparisonPage(compared.comparison, compared.tasks, fileContext));
  const taken = new Set<string>();
  const files = pages.flatMap((page) => [
    ...chartFiles(JSON.parse(JSON.stringify(pageData(page))), taken).values(),
  ]);
  const hint = 'charts appear after the first evaluation';
  if (files.length === 0)
    throw new UserError({ field: 'runs', value: names.join(' '), message: 'there are no charts yet', hint });
  makeDirectory(directory, '--charts');
  return files.map(({ name, svg, title }) => {
    replaceFile(join(directory, name), svg());
    return { chart: title, file: join(directory, name) };
  });
}
