/** A comparison as a self-contained HTML page. */

import { type Html, html } from '../format/html.js';
import { formatCompact, formatReturn, plural } from '../format/numbers.js';
import { htmlTable, number, text } from '../format/table.js';
import { armCurves, evaluationAxis } from '../report/charts/arm-curves.js';
import { runFiles } from '../runs/reader.js';
import { largest } from '../statistics/descriptive.js';
import { page } from '../web/page.js';
import { relativeLink } from '../web/study.js';
import { type ComparedRun, commonRange } from './compared-runs.js';
import type { RunComparison, TaskComparison } from './run-comparison.js';
import type { RunGroup, TaskGroups } from './run-groups.js';
import { confirmedColumns, differenceColumns, effortColumns, groupColumn, groupsOf } from './table.js';
import { conclusionOf, reading, verdictRule } from './words.js';

/** Maximum number of points drawn per learning curve. */
const mostPoints = 400;

/**
 * @param groups the groups that `comparison` compares, in the same order
 * @param link converts a path to a link from the page
 */
export function renderComparisonPage(
  comparison: RunComparison,
  groups: readonly TaskGroups[],
  link: (path: string) => string,
): string {
  const { tasks, leftOut, policyloop, tested } = comparison;
  const runs = groups.reduce(
    (sum, task) => sum + task.groups.reduce((own, { runs }) => own + runs.length, 0),
    0,
  );
  const names = tasks.map(({ name }) => name).join(', ');
  const differences = tasks.flatMap((task) => task.differences);
  const conclusion = conclusionOf(tasks);
  const verdict = differences.length === 1 ? differences[0]!.verdict : '';
  return page({
    title: `Comparison: ${names}`,
    header: html`<header>
<p class="kicker">policyloop compare</p>
<h1>${names}</h1>
<p class="state">${plural(runs, 'run')} in ${plural(
      tasks.reduce((sum, task) => sum + task.groups.length, 0),
      'group',
    )}${leftOut.length > 0 && `, ${leftOut.length} left out`}${comparison.by !== null && `; grouped by ${comparison.by.join(', ')}`}</p>
${conclusion !== undefined && html`<p class="verdict ${verdict}">${conclusion}</p>`}
</header>`,
    sections: [
      ...tasks.map((task, i) => ({
        id: `task-${i + 1}`,
        title: task.name,
        content: taskSection(task, groups[i]!.groups),
      })),
      {
        id: 'runs',
        title: 'Runs',
        content: tasks.map((task, i) => runTable(task, groups[i]!.groups, link)),
      },
      ...(leftOut.length === 0
        ? []
        : [
            {
              id: 'left-out',
              title: 'Left out',
              content: html`<ul class="warnings">${leftOut.map(({ run, reason }) => html`<li>${run}: ${reason}</li>`)}</ul>`,
            },
          ]),
      {
        id: 'reading',
        title: 'How to read this',
        content: html`<ul>${[reading.confirmed, reading.area, reading.target, ...verdictRule(tested)].map((text) => html`<li>${text}.</li>`)}</ul>`,
      },
    ],
    footer: html`<p>Written by policyloop ${policyloop}.</p>`,
  });
}

function taskSection(task: TaskComparison, groups: readonly RunGroup[]): Html {
  return html`${learningCurves(task, groups)}
${htmlTable(groupsOf(task), [groupColumn, ...confirmedColumns, ...effortColumns(task)])}
<p class="note">Areas are over ${plural(task.horizon, 'evaluation')}; a complete run that ended early keeps its last value.</p>
${task.differences.length > 0 && html`<h3>Differences in confirmed return</h3>${htmlTable(task.differences, differenceColumns)}`}
${task.cautions.length > 0 && html`<ul class="warnings">${task.cautions.map((text) => html`<li>${text}.</li>`)}</ul>`}`;
}

function learningCurves(task: TaskComparison, groups: readonly RunGroup[]): Html {
  const longest = largest([0, ...groups.flatMap(({ runs }) => runs.map(({ curve }) => curve.length))]);
  const step = Math.max(1, Math.ceil(longest / mostPoints));
  const sampled = ({ curve }: ComparedRun) => curve.filter((_, i) => (i + 1) % step === 0);
  const arms = groups.map(({ name, runs }, i) => {
    const confirmed = task.groups[i]!.confirmed;
    return {
      name,
      curves: runs.map(sampled).filter((curve) => curve.length > 0),
      range: commonRange(runs),
      confirmed: confirmed
        ? {
            mean: confirmed.mean,
            interval: confirmed.meanInterval ?? ([confirmed.mean, confirmed.mean] as const),
          }
        : undefined,
    };
  });
  return armCurves(arms, evaluationAxis(step));
}

function runTable(task: TaskComparison, groups: readonly RunGroup[], link: (path: string) => string): Html {
  const rows = task.groups.flatMap(({ name, runs }, g) =>
    runs.map((facts, i) => ({ ...facts, group: name, compared: groups[g]!.runs[i]! })),
  );
  return htmlTable(
    rows,
    [
      text(task.name, ({ group }) => group, { grouped: true }),
      text('run', ({ run, compared }) => ({
        text: run,
        href: relativeLink(link(`${compared.path}/${runFiles.report}`)),
      })),
      number('seed', ({ seed }) => String(seed)),
      text('ended', ({ compared }) => compared.ended),
      number('confirmed', ({ confirmed }) => confirmed, { strong: true, format: formatReturn }),
      number('observed', ({ observed }) => observed, { format: formatReturn }),
      number('area', ({ area }) => area, { format: formatReturn }),
      number('evaluations', ({ evaluations }) => evaluations),
      number('tokens', ({ tokens }) => tokens, { format: formatCompact }),
    ],
    { tall: true },
  );
}
