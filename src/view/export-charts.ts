/** Writes the charts of pages as SVG files. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { shownPath } from '../base/context.js';
import { UserError, unlessRefused } from '../base/errors.js';
import { makeDirectory, replaceFile } from '../base/files/files.js';
import type { Shown } from '../base/text/content.js';
import { runsBelow } from '../runs/finder.js';
import type { RunPlaces } from '../runs/listing/listing.js';
import { findRuns } from '../runs/listing/names.js';
import { scan } from '../runs/listing/scan.js';
import { planFile } from '../runs/reader.js';
import { comparisonOf } from '../studies/comparison/compare.js';
import { comparisonPage } from '../studies/comparison/page.js';
import { chartFiles } from '../web/drawing/chart-files.js';
import type { PageOf } from '../web/messages.js';
import { pageData } from '../web/page.js';
import { inFile } from '../web/study.js';
import { type GivenPages, pageOf } from './pages.js';

/**
 * Writes the charts of each run, training run or study, and of the comparison of all runs, into `directory`, replacing
 * files with the same names.
 * @throws UserError if a name matches nothing, or there are no charts
 */
export async function exportCharts(
  names: readonly string[],
  places: RunPlaces,
  directory: string,
  given: GivenPages,
) {
  const { cwd } = places;
  const found = findRuns(
    names,
    places,
    ({ kind, path }) => kind === 'training' || existsSync(join(path, planFile)),
  );
  const items = found.flatMap((path) =>
    [...scan([{ path, prefix: '' }]).values()].filter((one) => one.path === path),
  );
  const pages = await Promise.all(items.map((place) => pageOf(place, given)));
  const runs = found.flatMap(runsBelow);
  const all = { by: undefined, unfinished: false };
  const compared = runs.length > 1 ? unlessRefused(() => comparisonOf(runs, all, cwd)) : undefined;
  if (compared) pages.push(comparisonPage(compared.comparison, compared.tasks, inFile));
  const taken = new Set<string>();
  const files = pages.flatMap((page) => [
    ...chartFiles(JSON.parse(JSON.stringify(pageData(page))) as PageOf<readonly Shown[]>, taken).values(),
  ]);
  if (files.length === 0)
    throw new UserError({
      field: 'runs',
      value: names.join(' '),
      message: 'there are no charts yet',
      hint: 'charts appear after the first evaluation',
    });
  const folder = resolve(cwd, directory);
  makeDirectory(folder, '--charts');
  return files.map(({ name, svg, title }) => {
    const file = join(folder, name);
    replaceFile(file, svg());
    return { chart: title, file: shownPath(file, cwd) };
  });
}
