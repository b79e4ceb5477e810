/** Finds the runs to compare, leaves out unusable ones, and writes the requested output. */

import { dirname, relative, resolve } from 'node:path';
import { type CommandContext, shownPath } from '../../base/context.js';
import { UserError } from '../../base/errors.js';
import { replaceFile } from '../../base/files/files.js';
import { groupBy } from '../../base/grouped.js';
import { plural } from '../../base/text/numbers.js';
import type { tableFormats } from '../../base/text/table.js';
import { findRuns } from '../../runs/listing/names.js';
import { headlineOf } from '../../runs/summary.js';
import { pageHtml } from '../../web/page.js';
import { fileContext } from '../../web/study.js';
import { type ConfiguredRun, readComparedRuns } from './compared-runs.js';
import { worstReturn } from './failures.js';
import { comparisonPage } from './page.js';
import { compareGroups, type OmittedRun } from './run-comparison.js';
import { environmentKeyOf, groupRuns, runIdentity } from './run-groups.js';
import { comparisonTables, formatComparison } from './table.js';

export interface ComparisonRequest {
  readonly runs: readonly string[];
  readonly runsDir: string;
  readonly by: readonly string[] | undefined;
  readonly against?: string | undefined;
  readonly target?: number | undefined;
  readonly unfinished: boolean;
  readonly format?: keyof typeof tableFormats | undefined;
  readonly html?: string | undefined;
  readonly json: boolean;
}

/** Compares runs and writes the page, if requested. Returns the text to print: tables or JSON. */
export function compareRuns(
  request: ComparisonRequest,
  { columns, cwd }: Pick<CommandContext, 'columns' | 'cwd'>,
): string {
  const { format, html, json, runs, runsDir } = request;
  const { comparison, tasks } = comparisonOf(findRuns(runs, { cwd, runsDir }), request, cwd);
  const file = html === undefined ? undefined : resolve(cwd, html);
  if (file !== undefined) {
    const linkOf = (run: string) => fileContext.linkOf(relative(dirname(file), resolve(cwd, run)));
    replaceFile(file, pageHtml(comparisonPage(comparison, tasks, { linkOf })));
  }
  if (json) return JSON.stringify(comparison);
  if (format !== undefined) return formatComparison(format, comparison);
  return (
    comparisonTables(comparison, columns) +
    (file === undefined ? '' : `\n\npage        ${shownPath(file, cwd)}`)
  );
}

/** Groups runs and compares the groups. @throws UserError if no run can be compared, or a key or group is unknown */
export function comparisonOf(
  paths: readonly string[],
  { against, by, target, unfinished }: Pick<ComparisonRequest, 'against' | 'by' | 'target' | 'unfinished'>,
  cwd: string,
) {
  const nameOf = (path: string) => shownPath(path, cwd);
  const results = readComparedRuns(paths);
  const { kept, leftOut: unusable } = selectUsable(results.runs, unfinished, nameOf);
  const leftOut = [
    ...results.unreadable.map(({ path, message }) => ({ run: nameOf(path), reason: message })),
    ...unusable,
  ];
  if (kept.length === 0) throw noRunsLeftError(leftOut, results.runs.length === 0);
  const tasks = groupRuns(kept, by);
  return { tasks, comparison: compareGroups(tasks, { against, by, target, leftOut, nameOf }) };
}

/** Keeps one run per config and seed, because copies aren't independent. Omits unfinished runs unless `unfinished`. */
export function selectUsable<T extends ConfiguredRun>(
  runs: readonly T[],
  unfinished: boolean,
  nameOf: (path: string) => string,
): { readonly kept: readonly T[]; readonly leftOut: readonly OmittedRun[] } {
  const keptRuns = new Map<string, T>();
  const leftOut: OmittedRun[] = [];
  for (const run of runs) {
    const { failed, manifest, path, status } = run;
    if (status !== 'completed' && !failed && !unfinished) {
      leftOut.push({
        run: nameOf(path),
        reason: `${headlineOf({ ...manifest, status })} after ${plural(manifest.iterations.done, 'iteration')}`,
      });
      continue;
    }
    const keptRun = keptRuns.get(runIdentity(run));
    if (keptRun === undefined) keptRuns.set(runIdentity(run), run);
    else leftOut.push({ run: nameOf(path), reason: `same config and seed as ${nameOf(keptRun.path)}` });
  }
  return { kept: imputeFailures([...keptRuns.values()]), leftOut };
}

/** Gives failed runs without a confirmed return the lowest confirmed return of their environment. */
function imputeFailures<T extends ConfiguredRun>(runs: readonly T[]): readonly T[] {
  return [...groupBy(runs, environmentKeyOf).values()].flatMap((taskRuns) => {
    const imputedReturn = worstReturn(taskRuns.map(({ confirmed }) => confirmed?.mean ?? null));
    return taskRuns.map((run) => (run.failed && run.confirmed === null ? { ...run, imputedReturn } : run));
  });
}

/** Returns the error for a comparison without runs. @param areUnreadable true if none of the runs could be read */
export function noRunsLeftError(leftOut: readonly OmittedRun[], areUnreadable: boolean): UserError {
  if (leftOut.length === 0) return new UserError({ field: 'runs', message: 'there are no runs to compare' });
  const examples = leftOut.slice(0, 5).map(({ run, reason }) => `${run}: ${reason}`);
  return new UserError({
    field: 'runs',
    message: areUnreadable ? 'none of these runs can be read' : 'none of these runs is complete',
    value: examples.join('; '),
    hint: areUnreadable
      ? 'check each run with policyloop show'
      : 'finish them with policyloop resume, or include unfinished runs (--unfinished)',
  });
}
