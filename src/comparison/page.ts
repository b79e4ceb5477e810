/** A comparison to look at: one file that loads nothing. */

import { type Content, type Html, html } from '../format/html.js';
import { formatCompact, formatCost, formatReturn, plural } from '../format/numbers.js';
import { armCurves, evaluationAxis } from '../report/charts/arm-curves.js';
import { relativeLink } from '../report/group-report.js';
import { page } from '../report/page/page.js';
import { runFiles } from '../runs/reader.js';
import type { ComparedRun } from './compared-runs.js';
import type { GroupDifference } from './differences.js';
import type { GroupFigures, RunComparison, TaskComparison } from './run-comparison.js';
import type { RunGroup, TaskGroups } from './run-groups.js';
import {
  conclusion,
  countText,
  ends,
  pText,
  reachedText,
  reading,
  signed,
  timeText,
  verdictChips,
  verdictRule,
  verdictText,
} from './words.js';

/** Points of a learning curve that are drawn. */
const mostPoints = 400;

/**
 * @param groups what `comparison` is of, in its order
 * @param link from the page to a path
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
  return page({
    title: `Comparison: ${names}`,
    header: html`<header>
<p class="kicker">policyloop compare</p>
<h1>${names}</h1>
<p class="state">${plural(runs, 'run')} in ${plural(
      tasks.reduce((sum, task) => sum + task.groups.length, 0),
      'group',
    )}${leftOut.length > 0 && `, ${leftOut.length} left out`}${comparison.by !== null && `; grouped by ${comparison.by.join(', ')}`}</p>
${differences.length === 1 && html`<p class="verdict ${differences[0]!.verdict}">${conclusion(differences[0]!)}</p>`}
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
${groupTable(task)}
${task.differences.length > 0 && differenceTable(task.differences)}
${task.cautions.length > 0 && html`<ul class="warnings">${task.cautions.map((text) => html`<li>${text}.</li>`)}</ul>`}`;
}

function learningCurves(task: TaskComparison, groups: readonly RunGroup[]): Html {
  const longest = Math.max(0, ...groups.flatMap(({ runs }) => runs.map(({ curve }) => curve.length)));
  const step = Math.max(1, Math.ceil(longest / mostPoints));
  const sampled = ({ curve }: ComparedRun) => curve.filter((_, i) => (i + 1) % step === 0);
  const arms = groups.map(({ name, runs }, i) => {
    const confirmed = task.groups[i]!.confirmed;
    return {
      name,
      curves: runs.map(sampled).filter((curve) => curve.length > 0),
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

function groupTable({ groups, horizon }: TaskComparison): Html {
  const timed = groups.some(({ target }) => target !== null);
  const paid = groups.some(({ tokens }) => tokens > 0);
  const raced = groups.some(({ racing }) => racing !== null);
  return html`<div class="scroll" tabindex="0"><table>
<thead><tr><th scope="col">group</th><th scope="col" class="number">runs</th><th scope="col" class="number">confirmed</th><th scope="col" class="number">median</th><th scope="col" class="number">IQM</th><th scope="col" class="number">area, observed</th>${timed && html`<th scope="col" class="number">target reached</th><th scope="col" class="number">iterations to it</th><th scope="col" class="number">evaluations to it</th>`}${raced && html`<th scope="col" class="number">episodes saved</th>`}${paid && html`<th scope="col" class="number">tokens a run</th><th scope="col" class="number">cost a run</th>`}</tr></thead>
<tbody>${groups.map((group) => groupRow(group, { timed, raced, paid }))}</tbody></table></div>
<p class="note">Areas are over ${plural(horizon, 'evaluation')}; a complete run that ended early keeps the best it had.</p>`;
}

function groupRow(
  { name, runs, confirmed, area, target, tokens, cost, racing }: GroupFigures,
  { timed, raced, paid }: { readonly timed: boolean; readonly raced: boolean; readonly paid: boolean },
): Html {
  return html`<tr><th scope="row">${name}</th><td class="number">${runs.length}</td>${figureCell(confirmed?.mean, confirmed?.meanInterval)}${figureCell(confirmed?.median, confirmed?.medianInterval)}${figureCell(confirmed?.iqm, confirmed?.iqmInterval)}${figureCell(area?.mean, area?.meanInterval)}${timed && html`<td class="number">${reachedText(target)}${target !== null && html`<br><span class="muted">of ${formatReturn(target.return)}</span>`}</td><td class="number">${timeText(target, 'medianIterations')}</td><td class="number">${timeText(target, 'medianEvaluations')}</td>`}${raced && html`<td class="number">${racing === null ? '–' : html`${formatCompact(racing.saved)} of ${formatCompact(racing.episodes)}`}</td>`}${paid && html`<td class="number">${formatCompact(tokens)}</td><td class="number">${cost === null ? '–' : formatCost(cost)}</td>`}</tr>
`;
}

function figureCell(
  value: number | undefined,
  interval: readonly [number, number] | null | undefined,
): Content {
  if (value === undefined) return html`<td class="number">–</td>`;
  return html`<td class="number"><b>${formatReturn(value)}</b><br><span class="muted">${interval ? ends(interval) : 'no interval'}</span></td>`;
}

function differenceTable(differences: readonly GroupDifference[]): Html {
  return html`<h5>Differences in confirmed return</h5>
<div class="scroll" tabindex="0"><table>
<thead><tr><th scope="col">difference</th><th scope="col" class="number">over</th><th scope="col" class="number">return</th><th scope="col" class="number">wins</th><th scope="col">test</th><th scope="col" class="number">p (Holm)</th><th></th></tr></thead>
<tbody>${differences.map(
    (
      difference,
    ) => html`<tr><th scope="row">${difference.of} − ${difference.against}</th><td class="number">${countText(difference)}</td><td class="number">${
      difference.difference === null
        ? '–'
        : html`<b>${signed(difference.difference)}</b><br><span class="muted">${ends(difference.interval, signed)}</span>`
    }</td><td class="number">${difference.winRate === null ? '–' : `${Math.round(100 * difference.winRate)} %`}</td><td>${{ paired: 'paired t', welch: 'Welch', none: '–' }[difference.test]}</td><td class="number">${pText(difference.adjusted)}</td><td><span class="chip ${verdictChips[difference.verdict]}">${verdictText(difference)}</span></td></tr>
`,
  )}</tbody></table></div>`;
}

function runTable(task: TaskComparison, groups: readonly RunGroup[], link: (path: string) => string): Html {
  return html`<div class="scroll tall" tabindex="0"><table>
<thead><tr><th scope="col">${task.name}</th><th scope="col">run</th><th scope="col" class="number">seed</th><th scope="col">ended</th><th scope="col" class="number">confirmed</th><th scope="col" class="number">observed</th><th scope="col" class="number">area</th><th scope="col" class="number">evaluations</th><th scope="col" class="number">tokens</th></tr></thead>
<tbody>${task.groups.flatMap(({ name, runs }, g) =>
    runs.map((facts, i) => {
      const { path, ended } = groups[g]!.runs[i]!;
      return html`<tr><th scope="row">${i === 0 && name}</th><td><a href="${relativeLink(link(`${path}/${runFiles.report}`))}">${facts.run}</a></td><td class="number">${facts.seed}</td><td>${ended}</td><td class="number"><b>${formatReturn(facts.confirmed ?? undefined)}</b></td><td class="number">${formatReturn(facts.observed ?? undefined)}</td><td class="number">${formatReturn(facts.area ?? undefined)}</td><td class="number">${facts.evaluations}</td><td class="number">${formatCompact(facts.tokens)}</td></tr>
`;
    }),
  )}</tbody></table></div>`;
}
