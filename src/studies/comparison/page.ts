/** The page of a comparison. */

import type { Content } from '../../base/text/content.js';
import { html } from '../../base/text/html.js';
import { formatCompact, formatReturn, plural } from '../../base/text/numbers.js';
import { number, pageTable, text } from '../../base/text/table.js';
import { largest } from '../../statistics/descriptive.js';
import { type Page, sectionsOf } from '../../web/page.js';
import { armCurves } from '../../web/report/charts/arm-curves.js';
import {
  explanationList,
  howToReadTitle,
  type PageContext,
  pageHeader,
  verdictBox,
  warningList,
  writtenByNote,
} from '../../web/study.js';
import { type ComparedRun, commonRange, shortPath } from './compared-runs.js';
import type { RunComparison, TaskComparison } from './run-comparison.js';
import { type RunGroup, settingOf, settingsOf, type TaskGroups } from './run-groups.js';
import { confirmedColumns, differenceColumns, effortColumns, groupColumn, groupRows } from './table.js';
import { conclude, glossary, verdictRule } from './words.js';

/** Maximum number of points drawn per learning curve. */
const maxPoints = 400;

/** Here, `linkOf` takes a run's name in the comparison. */
interface View extends PageContext {
  /** Maximum number of runs to list per environment; default: all. */
  readonly maxRuns?: number;
  /** True if each group is a single run, so nothing can be tested. */
  readonly isByRun?: boolean;
}

/** @param groups the groups that `comparison` compares, in the same order */
export function comparisonPage(comparison: RunComparison, groups: readonly TaskGroups[], view: View): Page {
  const { tasks, leftOut, policyloop, tested } = comparison;
  const runCount = groups.flatMap((task) => task.groups.flatMap(({ runs }) => runs)).length;
  const names = tasks.map(({ name }) => name).join(', ');
  const differences = tasks.flatMap((task) => task.differences);
  const conclusion = conclude(tasks);
  const verdict = differences.length === 1 ? differences[0]!.verdict : '';
  const groupCount = tasks.reduce((sum, task) => sum + task.groups.length, 0);
  return {
    title: `Comparison: ${names}`,
    header: pageHeader({
      kicker: 'compare',
      title: names,
      state: html`${plural(runCount, 'run')}${view.isByRun !== true && ` in ${plural(groupCount, 'group')}`}${comparison.by !== null && `, grouped by ${comparison.by.join(', ')}`}${leftOut.length > 0 && `; ${plural(leftOut.length, 'other run')} left out`}`,
      verdict: conclusion !== undefined && verdictBox(conclusion, verdict),
    }),
    sections: sectionsOf(
      ...tasks.map(
        (task, i) => [`task-${i + 1}`, task.name, taskSection(task, groups[i]!.groups, view)] as const,
      ),
      [
        'runs',
        'Runs',
        tasks.map((task) => html`${tasks.length > 1 && html`<h3>${task.name}</h3>`}${runTable(task, view)}`),
      ],
      ['config', 'Config differences', settingsTable(groups, view.isByRun ? /^name$/ : /^(name|seed)$/)],
      ['left-out', 'Left out', warningList(leftOut.map(({ reason, run }) => `${run}: ${reason}`))],
      [
        'reading',
        howToReadTitle,
        explanationList([glossary.confirmed, glossary.area, glossary.target, ...verdictRule(tested)]),
      ],
    ),
    footer: writtenByNote(policyloop),
  };
}

function taskSection(task: TaskComparison, groups: readonly RunGroup[], view: View): Content {
  const curves = learningCurves(task, groups, view);
  if (view.isByRun)
    return html`${curves}<p class="note">Single runs differ by chance. To test differences, compare groups of runs with different seeds.</p>`;
  return html`${curves}
${pageTable(groupRows(task), [groupColumn, ...confirmedColumns, ...effortColumns(task)])}
<p class="note">The mean of the best so far covers the first ${plural(task.horizon, 'evaluation')}; a complete run that ended early keeps its last value.</p>
${task.differences.length > 0 && html`<h3>Differences in confirmed return</h3>${pageTable(task.differences, differenceColumns)}${task.pairings.map((text) => html`<p class="note">${text}.</p>`)}`}
${warningList(task.cautions.map((text) => `${text}.`))}`;
}

function learningCurves(task: TaskComparison, groups: readonly RunGroup[], { isByRun }: View): Content {
  const longest = largest([0, ...groups.flatMap(({ runs }) => runs.map(({ curve }) => curve.length))]);
  const step = Math.max(1, Math.ceil(longest / maxPoints));
  const sampleCurve = ({ curve }: ComparedRun) => curve.filter((_, i) => (i + 1) % step === 0);
  const arms = groups.map(({ name, runs }, i) => {
    const confirmed = task.groups[i]!.confirmed;
    const interval = isByRun ? runs[0]!.confirmed?.ci95 : confirmed?.meanInterval;
    return {
      name,
      curves: runs.map(sampleCurve).filter((curve) => curve.length > 0),
      range: commonRange(runs),
      confirmed: confirmed ? { mean: confirmed.mean, interval: interval ?? null } : undefined,
    };
  });
  return armCurves(arms, { step, areMeans: !isByRun });
}

/** Maximum number of values listed in a cell of the table of config differences. */
const maxValues = 4;

/**
 * Lists the config keys whose values differ between groups; undefined if there are none.
 * @param ignored pattern of keys to leave out, such as the seed
 */
function settingsTable(tasks: readonly TaskGroups[], ignored: RegExp): Content | undefined {
  const groups = tasks.flatMap((task) =>
    task.groups.map(({ name, runs }) => ({
      title: tasks.length > 1 ? `${task.name}: ${name}` : name,
      settings: runs.map(settingsOf),
    })),
  );
  const keys = [...new Set(groups.flatMap(({ settings }) => settings.flatMap((own) => [...own.keys()])))];
  const rows = keys
    .filter((key) => !ignored.test(key))
    .map((key) => ({
      key,
      values: groups.map(({ settings }) =>
        [...new Set(settings.map((own) => settingOf(own, key)))].toSorted(),
      ),
    }))
    .filter(({ values }) => new Set(values.map((own) => own.join('\n'))).size > 1)
    .toSorted((a, b) => (a.key < b.key ? -1 : 1));
  if (groups.length < 2 || rows.length === 0) return undefined;
  const textOf = (values: readonly string[]) =>
    values.length > maxValues ? `${values.length} values` : values.map(shortPath).join(', ');
  return pageTable(
    rows,
    [
      text('key', ({ key }) => key),
      ...groups.map(({ title }, i) => text<(typeof rows)[number]>(title, ({ values }) => textOf(values[i]!))),
    ],
    { tall: true },
  );
}

function runTable(task: TaskComparison, { isByRun, linkOf, maxRuns = Infinity }: View): Content {
  const rows = task.groups.flatMap(({ name, runs }) => runs.map((run) => ({ ...run, group: name })));
  const table = pageTable(
    rows.slice(0, maxRuns),
    [
      ...(isByRun ? [] : [text<(typeof rows)[number]>('group', ({ group }) => group, { grouped: true })]),
      text('run', ({ run }) => ({ text: run, href: linkOf(run) })),
      number('seed', ({ seed }) => String(seed)),
      text('ended', ({ ended }) => ended),
      number('confirmed', ({ confirmed }) => confirmed, { strong: true, format: formatReturn }),
      number('observed', ({ observed }) => observed, { format: formatReturn }),
      number('best so far, mean', ({ area }) => area, { format: formatReturn }),
      number('evaluations', ({ evaluations }) => evaluations),
      number('tokens', ({ tokens }) => tokens, { format: formatCompact }),
    ],
    { tall: true },
  );
  return rows.length <= maxRuns
    ? table
    : html`${table}<p class="note">The first ${maxRuns} of ${plural(rows.length, 'run')}.</p>`;
}
